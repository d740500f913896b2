"""The recorder that all seams of this process ask: that of the session that is open."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbckpt.llm.recorder import Recorder
    from nbckpt.session.session import Session

_open: list[Session] = []
_made: list[Recorder] = []
_making = threading.Lock()


def begin(session: Session) -> None:
    """Record the calls of a session's steps that the seams see, from now on."""
    _open[:] = [session]
    _made.clear()


def end() -> None:
    """Record nothing any more."""
    _open.clear()
    _made.clear()


def is_open() -> bool:
    """True if a session is open."""
    return bool(_open)


def setting(name: str) -> str:
    """A setting of the session that is open; empty if none is."""
    return str(getattr(_open[0].settings, name)) if _open else ""


def recorder() -> Recorder | None:
    """Made by the first request that may be a model call; None if no session is open."""
    if not _made and _open:
        from nbckpt.llm.recorder import Recorder

        with _making:  # threads that ask at once have one
            if not _made and _open:
                _made[:] = [Recorder(_open[0])]
    return _made[0] if _made else None


def made() -> Recorder | None:
    """The recorder, if there is one yet: none is made for this."""
    return _made[0] if _made else None
