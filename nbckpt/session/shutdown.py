"""The end of a session: what is joined is kept first, and the history knows that it ended well."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from nbckpt.errors import NbckptError
from nbckpt.timeline.events import ENDED

if TYPE_CHECKING:
    from nbckpt.session.pending_writes import PendingWrites


class UnkeptCells(Protocol):
    """Cells that are not kept yet."""

    def keep_aside(self) -> object:
        """Keep them before the session ends."""


class EndingSession(Protocol):
    """The parts of a session that matter when it ends."""

    ended: bool
    writes: PendingWrites

    @property
    def pending_cells(self) -> UnkeptCells:
        """Cells that the next checkpoint would hold."""


_EXPECTED: weakref.WeakSet[EndingSession] = weakref.WeakSet()


def end(session: EndingSession) -> None:
    """Keep what is joined and note that the session ends as it should; once."""
    if session.ended:
        return
    session.ended = True
    try:
        session.pending_cells.keep_aside()
    finally:
        if session.writes.has_begun:
            with suppress(NbckptError):  # the store was closed: nobody is the wiser
                session.writes.record_event(ENDED)


def register_atexit(session: EndingSession) -> None:
    """Have the session ended when the interpreter exits, if it is still there."""
    if session in _EXPECTED:
        return
    _EXPECTED.add(session)
    reference, pid = weakref.ref(session), os.getpid()

    def last() -> None:
        if (ending := reference()) is None or os.getpid() != pid:
            return  # a forked child is a session of its own
        try:
            end(ending)
        except NbckptError as problem:
            with suppress(Exception):  # there may be no stderr any more
                sys.stderr.write(f"nbckpt: what ran last was NOT kept: {problem}\n")

    atexit.register(last)
    weakref.finalize(session, atexit.unregister, last).atexit = False
