"""The records of a session's journal, beside those of checkpoints."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from nbckpt.model import Checkpoint, Record
from nbckpt.runtime import clock
from nbckpt.text.secret_texts import redacted
from nbckpt.timeline.checkpoint_records import MICROSECONDS
from nbckpt.version import __version__


def head_record(
    branch: str,
    checkpoint: Checkpoint,
    previous: str | None,
    *,
    notebook: str = "",
    at: float = 0,
    look: bool = False,
) -> Record:
    """The record that moves a branch; where it was is left out if that is the parent.

    Parameters
    ----------
    notebook
        Whose session moves it: that is the branch which the notebook is on from then.
    at
        When; by default now. Later than each move that the session has seen, whatever the clock
        says: moves are folded in this order.
    look
        Whether the notebook only goes to look there: its branch stays where it is.
    """
    moved: Record = {"kind": "head", "branch": branch, "checkpoint": checkpoint.id}
    if previous is not None and previous != checkpoint.parent:
        moved = {**moved, "previous": previous}
    moved = {**moved, "look": True} if look else moved
    return {**moved, "notebook": notebook, "at": at or clock.now()}


def tag_record(checkpoint: str, tag: str, *, delete: bool, at: float) -> Record:
    """The record that gives a checkpoint a tag, or takes it away."""
    tagged: Record = {"kind": "tag", "checkpoint": checkpoint, "tag": tag}
    return {**tagged, "delete": True, "at": at} if delete else {**tagged, "at": at}


def note_record(checkpoint: str, note: str, at: float) -> Record:
    """The record that gives a checkpoint another note."""
    return {"kind": "note", "checkpoint": checkpoint, "note": note, "at": at}


def event_record(event: str, session: str, members: Mapping[str, object]) -> Record:
    """The record of something that happened, without what is not known of it."""
    known = {k: _brief(v) for k, v in members.items() if v is not None}
    return {"kind": "event", "event": event, "at": clock.now(), "session": session, **known}


def _brief(value: object) -> object:
    if isinstance(value, str):
        return redacted(value)
    return round(value, MICROSECONDS) if isinstance(value, float) else value


def session_record(session: str, notebook: str) -> Record:
    """The record that a session begins its journal with."""
    from getpass import getuser
    from socket import gethostname

    return {
        "kind": "session",
        "session": session,
        "notebook": notebook,
        "at": clock.now(),
        "pid": os.getpid(),
        "host": gethostname(),
        "user": getuser(),
        "nbckpt": __version__,
        "python": sys.version.split()[0],
    }
