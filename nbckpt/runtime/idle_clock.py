"""Tells when nothing has run for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class IdleClock:
    """Calls `work` in a thread of its own, once for each time that nothing runs for `after_s`.

    A cell's end costs no more than writing down the time: the thread wakes when the time is up,
    and sleeps on if something has run since.

    Parameters
    ----------
    work
        Must not raise.
    """

    def __init__(self, after_s: float, work: Callable[[], None]) -> None:
        self._after_s = after_s
        self._work = work
        self._changed = threading.Condition()
        self._idle_since: float | None = None
        self._sleeps = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Something runs."""
        with self._changed:
            self._idle_since = None

    def end(self) -> None:
        """Nothing runs any more."""
        with self._changed:
            self._idle_since = time.monotonic()
            if self._sleeps:
                self._changed.notify()
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="nbckpt-idle", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop, for good."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while self._wait():
            self._work()

    def _wait(self) -> bool:
        """Wait until it is time to work and return True; False at the end."""
        with self._changed:
            while not self._closed:
                since = self._idle_since
                left_s = None if since is None else since + self._after_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    self._idle_since = None
                    return True
                self._sleeps = left_s is None
                self._changed.wait(left_s)
                self._sleeps = False
        return False
