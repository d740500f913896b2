"""The recorder that all seams of this process ask: that of the session that is open.

In a process that a step has started, and that has opened no session of its own, it is the one of
the process that started it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbckpt.llm.call_protocols import ParentRecorder, SeamRecorder
    from nbckpt.llm.recorder import Recorder
    from nbckpt.session.session import Session

_open: list[Session] = []
_made: list[Recorder] = []
_making = threading.Lock()
_parents: list[ParentRecorder] = []
_makers: list[Callable[[], ParentRecorder]] = []
_at_end: list[Callable[[], object]] = []


def begin(session: Session) -> None:
    """Record the calls of a session's steps that the seams see, from now on."""
    _open[:] = [session]
    _made.clear()


def end() -> None:
    """Record nothing any more."""
    _open.clear()
    _made.clear()
    while _at_end:
        with suppress(OSError):
            _at_end.pop()()


def when_ended(action: Callable[[], object]) -> None:
    """Call `action` once, when the session that is open has ended."""
    _at_end.append(action)


def follow(made: Callable[[], ParentRecorder]) -> None:
    """Have the process asked that started this one, where no session is open here.

    Parameters
    ----------
    made
        Called by the first request, or other connection.
    """
    _makers[:] = [made]


def parent() -> ParentRecorder | None:
    """The recorder of the process that started this one; None if a session is open here."""
    if _open or not _makers:
        return None
    with _making:
        if not _parents:
            _parents.append(_makers[0]())
        return _parents[0]


def is_open() -> bool:
    """True if a session is open, here or in the process that started this one."""
    return bool(_open or _makers)


def has_session() -> bool:
    """True if a session is open here."""
    return bool(_open)


def setting(name: str) -> str:
    """A setting of the session that is open; empty if none is."""
    if not _open:
        around = parent()
        return "" if around is None else around.setting(name)
    return str(getattr(_open[0].settings, name))


def recorder() -> Recorder | None:
    """Made by the first request that may be a model call; None if no session is open here."""
    if not _made and _open:
        from nbckpt.llm.recorder import Recorder

        with _making:  # threads that ask at once have one
            if not _made and _open:
                _made[:] = [Recorder(_open[0])]
    return _made[0] if _made else None


def asked() -> SeamRecorder | None:
    """The recorder that answers the calls of this process; None if nothing is recorded."""
    return recorder() or parent()


def made() -> Recorder | None:
    """The recorder, if there is one yet: none is made for this."""
    return _made[0] if _made else None


def notify_defect(problem: Exception) -> None:
    """Say that a call was not recorded though it should have been, by a defect in nbckpt."""
    if (own := recorder()) is not None:
        own.outcomes.notify_defect(problem)
    elif (around := parent()) is not None:
        around.notify_defect(problem)


def _begin_again_in_child() -> None:
    global _making  # noqa: PLW0603  # another thread may have held it as this process was forked
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again_in_child)
