"""Does what is asked often no more than now and then, and always once after the last asking."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SOON_S = 0.03
EVERY_S = 0.25
SHARE = 0.05
"""Of the time, at most, that is spent on it: it is taken from the cell that runs.

Counted is the thread's own work: a machine that is busy with something else makes no view late.
"""
LATEST_S = 1.0
"""The next time is never later: the first one imports much, and what it told is soon untrue."""


class Throttle:
    """Calls `work` in a thread of its own, soon after it was asked to.

    The caller never waits and gets no error. What was asked while `work` waits or runs is seen
    to by the call that follows.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._not_before = 0.0

    def ask(self) -> None:
        """Have `work` called, with what is true then."""
        with self._lock:
            if self._timer is not None:
                return
            wait = max(SOON_S, self._not_before - time.monotonic())
            self._timer = threading.Timer(wait, self._run)
            self._timer.daemon = True
            self._timer.start()

    def _run(self) -> None:
        began, worked_s = time.monotonic(), time.thread_time()
        with self._lock:
            self._timer = None
            self._not_before = began + EVERY_S  # if asked meanwhile
        try:
            self._work()
        finally:
            with self._lock:
                worked_s = time.thread_time() - worked_s
                self._not_before = began + min(LATEST_S, max(EVERY_S, worked_s / SHARE))
