"""The records of a session's journal, beside those of checkpoints."""

from __future__ import annotations

import os
import sys
import time

from nbckpt.model import Checkpoint, Record
from nbckpt.version import __version__


def head_record(branch: str, checkpoint: Checkpoint, previous: str | None) -> Record:
    """The record that moves a branch; where it was is left out if that is the parent."""
    moved: Record = {"kind": "head", "branch": branch, "checkpoint": checkpoint.id}
    if previous is not None and previous != checkpoint.parent:
        moved = {**moved, "previous": previous}
    return {**moved, "at": time.time()}


def session_record(session: str, notebook: str) -> Record:
    """The record that a session begins its journal with."""
    from getpass import getuser
    from socket import gethostname

    return {
        "kind": "session",
        "session": session,
        "notebook": notebook,
        "at": time.time(),
        "pid": os.getpid(),
        "host": gethostname(),
        "user": getuser(),
        "nbckpt": __version__,
        "python": sys.version.split()[0],
    }
