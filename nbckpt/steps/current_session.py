"""The session that `nbckpt.rewind(…)` means: one at a time, as there is one namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.errors import UsageError
from nbckpt.llm import current as calls

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_sessions: list[Session] = []


def begin(session: Session) -> Session:
    """Make `session` the one that is meant, and whose steps' model calls are recorded."""
    _sessions[:] = [session]
    calls.begin(session)
    from nbckpt.llm import seams

    seams.install()  # with whatever HTTP libraries come later
    return session


def end() -> None:
    """Mean no session any more."""
    _sessions.clear()
    calls.end()


def opened() -> Session | None:
    """The session that is meant; None if none was opened."""
    return next(iter(_sessions), None)


def session() -> Session:
    """The session that is meant.

    Raises
    ------
    UsageError
        If none was opened.
    """
    if not _sessions:
        message = (
            "no store is open: run `%load_ext nbckpt` in a notebook, "
            "or `nbckpt.open('.nbckpt', namespace=globals())` in a script"
        )
        raise UsageError(message)
    return _sessions[0]
