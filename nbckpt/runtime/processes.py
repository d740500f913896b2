"""Processes of this machine."""

from __future__ import annotations

import os


def is_running(pid: int) -> bool:
    """True if a process of this machine seems to run, whoever started it."""
    if os.name != "posix":  # signal 0 would be Ctrl-C there
        return pid == os.getpid()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
