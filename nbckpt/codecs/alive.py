"""Running processes and threads, and results that are still to come: refused.

A copy of a running process in another kernel would hold a process id that belongs to nobody, or
to somebody else; a copy of a pending result would never be there.
"""

from __future__ import annotations

import subprocess
import threading
import types
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """How processes, threads and futures of type `kind` are written; None for anything else."""
    if issubclass(kind, subprocess.Popen):
        return _reduce_process
    if issubclass(kind, threading.Thread):
        return _reduce_thread
    if issubclass(kind, Future):
        return _reduce_future
    return _reduce_frame if kind is types.FrameType else None


def _reduce_frame(_: object, __: object) -> Any:
    message = "it is a frame of code that runs or ran"
    raise TypeError(message)


def _reduce_process(_: object, process: subprocess.Popen[Any]) -> Any:
    if process.returncode is None:
        message = "it is a running process"
        raise TypeError(message)
    return NotImplemented


def _reduce_thread(_: object, thread: threading.Thread) -> Any:
    if thread.is_alive():
        message = "it is a running thread"
        raise TypeError(message)
    return NotImplemented


def _reduce_future(_: object, future: Future[Any]) -> Any:
    if not future.done():
        message = "its result is still to come"
        raise TypeError(message)
    return NotImplemented
