"""What is to be done as the collector meets an object, which is at any line of any code.

Where it meets it in a line of nbckpt's own, a lock may be held, and what is to be done may need the
same lock, or find a table half changed. It is put aside then, and done when nbckpt is asked next.

Notes
-----
Only a queue that can be entered anew takes what the collector brings [1]_.

References
----------
.. [1] The Python Standard Library, "queue.SimpleQueue": "put() … is reentrant".
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType

_waiting: SimpleQueue[Callable[[], object]] = SimpleQueue()


def when_outside(action: Callable[[], object], *, but: tuple[str, ...]) -> None:
    """Do something now, or put it aside if a line of nbckpt is being run in this thread.

    Parameters
    ----------
    but
        Beginnings of the names of modules that may be what tells of the end, and hold no lock.
    """
    if _is_within(sys._getframe(1), (__name__, "nbckpt.runtime.interrupts", *but)):  # noqa: SLF001
        _waiting.put(action)
    else:
        action()


def do_waiting() -> None:
    """Do what was put aside. Call it where no lock is held."""
    while True:
        try:
            action = _waiting.get_nowait()
        except Empty:
            return
        action()


def _is_within(frame: FrameType | None, but: tuple[str, ...]) -> bool:
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if type(module) is str and module.startswith("nbckpt.") and not module.startswith(but):
            return True
        frame = frame.f_back
    return False
