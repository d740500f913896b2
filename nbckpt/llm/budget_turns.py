"""Turns of calls for which a budget has no room until others have ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

from nbckpt.llm.askers import asking_thread

PATIENCE_S = 600.0
"""Seconds that a call waits for others to cost less than they may: as long as the SDKs wait."""
_POLL_S = 0.25


class Turn:
    """What a call waits for whose turn has not come: that another one ends.

    Parameters
    ----------
    give_up
        Called if it is not to be asked at all.
    task
        The task that waits; None if its thread is held up.

    Attributes
    ----------
    landed
        Done when one has ended.
    until
        When the call is stopped instead, by `time.monotonic`.
    """

    def __init__(self, give_up: Callable[[], object], until: float, task: object = None) -> None:
        self.landed: Future[None] = Future()
        self.landed.set_running_or_notify_cancel()
        self.until = until
        self._give_up = give_up
        self._thread, self._task = asking_thread(), task
        self._has_left = False
        self._looks_again = time.monotonic() + _POLL_S  # another process tells nobody

    @property
    def patience_s(self) -> float:
        """Seconds until it is worth to look again."""
        return min(self.until, self._looks_again) - time.monotonic()

    def holds_up(self, thread: object, task: object) -> bool:
        """True if what a thread, or one of its tasks, has begun cannot end while this waits."""
        if self._has_left:
            return False
        return self._thread == thread if self._task is None else self._task is task

    def leave(self) -> None:
        """Wait no more, and ask nothing."""
        self._has_left = True
        self._give_up()
