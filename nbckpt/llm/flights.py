"""Equal requests in flight at once, of which one is sent if that is asked for.

The first leads, and the others wait for its answer. How many did is kept with the answer, so that a
later run, in which nothing is in flight for long, hands it out as often.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.llm.askers import asking_thread, running_task
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.occurrence import Occurrence

if TYPE_CHECKING:
    from nbckpt.timeline.recordings import Recording

HEAD_S = 600.0
"""Seconds to wait for a head: as long as the SDKs themselves wait."""
PAUSE_S = 30.0
"""Seconds to wait for the next piece: the first answer's reader may stop, and wait for a waiter."""


class Landed(NamedTuple):
    """Answer of the call that was sent, and its recording.

    Attributes
    ----------
    recording
        None if the disk refused it.
    """

    kept: RecordedResponse
    recording: Recording | None


class Flight:
    """A request that is in flight, and how many equal ones wait for its answer.

    Attributes
    ----------
    landed
        Its answer; None if it has none, so that another has to be sent.
    """

    def __init__(self, flights: Flights, request: str) -> None:
        self.landed: Future[Landed | None] = Future()
        self.landed.set_running_or_notify_cancel()
        self._flights, self._request = flights, request
        self._waiting = 0
        self._until = time.monotonic() + HEAD_S
        self._thread, self._task = asking_thread(), running_task()

    @property
    def patience_s(self) -> float:
        """Seconds that are still worth waiting from now on; 0 or less if none are."""
        return self._until - time.monotonic()

    def touch(self) -> None:
        """Note that something of the answer came."""
        self._until = time.monotonic() + PAUSE_S

    def would_wait_for_itself(self, *, blocks: bool) -> bool:
        """True if whoever asks now would keep this one from going on.

        Parameters
        ----------
        blocks
            Whether waiting holds up the thread, or the task alone.
        """
        if blocks:
            return self._thread == asking_thread()
        return self._task is not None and self._task is running_task()

    def join(self) -> None:
        """Have one more wait."""
        self._waiting += 1

    def leave(self) -> None:
        """Have one wait no more."""
        with self._flights.lock:
            self._waiting -= 1

    def close(self) -> int:
        """Have nobody join any more; how many wait."""
        with self._flights.lock:
            self._flights.forget(self._request, self)
            return self._waiting

    def land(self, landed: Landed | None = None) -> None:
        """Tell those who wait what came, once."""
        with self._flights.lock:
            self._flights.forget(self._request, self)
            if self.landed.done():
                return
        self.landed.set_result(landed)


class Flights:
    """Requests in flight in one run of a step or item, and places of answers to hand out again."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a call that is collected lands wherever that happens
        self._open: dict[str, Flight] = {}
        self._shares: dict[str, list[Occurrence]] = {}

    def take(self, request: str, *, blocks: bool) -> tuple[Flight | None, bool]:
        """The flight to wait for, or a new one to lead; whether to wait.

        None if the request is to be sent alone.
        """
        with self.lock:
            flight = self._open.get(request)
            if flight is None:
                flight = self._open[request] = Flight(self, request)
                return flight, False
            if flight.would_wait_for_itself(blocks=blocks):
                return None, False
            flight.join()
            return flight, True

    def forget(self, request: str, flight: Flight) -> None:
        """Have the next equal request lead."""
        if self._open.get(request) is flight:
            del self._open[request]

    def share(self, request: str, occurrence: Occurrence, times: int) -> None:
        """Note that an answer was kept which as many equal requests had waited for."""
        if times:
            with self.lock:
                self._shares.setdefault(request, []).extend([occurrence] * times)

    def shared(self, request: str) -> Occurrence | None:
        """The place of an answer to hand out once more."""
        with self.lock:
            shares = self._shares.get(request)
            return shares.pop(0) if shares else None
