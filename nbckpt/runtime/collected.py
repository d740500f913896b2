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

import os
import sys
import sysconfig
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from queue import Empty, SimpleQueue
from types import CodeType, FrameType

_waiting: SimpleQueue[Callable[[], object]] = SimpleQueue()


def when_outside(action: Callable[[], object], *, but: tuple[str, ...]) -> None:
    """Do something now, or put it aside if a line of nbckpt is being run in this thread.

    Parameters
    ----------
    but
        Beginnings of the names of modules that may be what tells of the end, and hold no lock.
    """
    # The collector is at work below the innermost line of the user's: what called that is not.
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
        if type(module) is str and module.startswith("nbckpt."):
            if not module.startswith(but):
                return True
        elif not _may_be_collected(frame.f_code) and (
            module == "__main__" or not frame.f_code.co_filename.startswith(_LIBRARIES)
        ):
            return False
        frame = frame.f_back
    return False


def _may_be_collected(code: CodeType) -> bool:
    """True for code that the collector itself runs: the end of a generator, or of an object."""
    return bool(code.co_flags & _GENERATORS) or code.co_name == "__del__"


_GENERATORS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_LIBRARIES = tuple(
    {
        "<frozen",
        *(f"{path}{os.sep}" for path in sysconfig.get_paths().values()),
        *(path for path in sys.path if "-packages" in path),
    }
)
"""Beginnings of the names of files that are no code of the user's."""
