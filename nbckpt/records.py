"""The records of a session's journal, beside those of checkpoints."""

from __future__ import annotations

import getpass
import os
import socket
import sys
import time

from nbckpt.model import Checkpoint, Record
from nbckpt.version import __version__


def head_record(branch: str, checkpoint: Checkpoint, previous: str | None) -> Record:
    """The record that moves a branch."""
    return {
        "kind": "head",
        "branch": branch,
        "checkpoint": checkpoint.id,
        "previous": previous,
        "at": time.time(),
    }


def session_record(session: str, notebook: str) -> Record:
    """The record that a session begins its journal with."""
    return {
        "kind": "session",
        "session": session,
        "notebook": notebook,
        "at": time.time(),
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "user": getpass.getuser(),
        "nbckpt": __version__,
        "python": sys.version.split()[0],
    }
