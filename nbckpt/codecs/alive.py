"""Running processes and threads, and results that are still to come: refused.

A copy of a running process in another kernel would hold a process id that belongs to nobody, or
to somebody else; a copy of a pending result would never be there.
"""

from __future__ import annotations

import subprocess
import threading
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
    why = reason_against(kind)
    return None if why is None else _refuse(why)


def reason_against(kind: type) -> str | None:
    """Why nothing of type `kind` is ever kept; None of most."""
    names = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
    return next((_REASONS[name] for name in names if name in _REASONS), None)


_OF_ROWS = "it is a query on a connection: keep its rows, as .df() gives them"

_REASONS = {
    "builtins.frame": "it is a frame of code that runs or ran",
    "builtins.generator": "it is a generator that may have begun: keep what it gives, in a list",
    "asyncio.events.AbstractEventLoop": "it is an event loop of this process",
    "_asyncio.Future": "it belongs to an event loop: keep its result",
    "_asyncio.Task": "it belongs to an event loop: keep its result",
    "asyncio.futures.Future": "it belongs to an event loop: keep its result",
    "tempfile.TemporaryDirectory": "it is a temporary directory, which goes with this process",
    "mmap.mmap": "it is a mapped file: keep bytes(…) of it",
    "duckdb.DuckDBPyRelation": _OF_ROWS,
    "_duckdb.DuckDBPyRelation": _OF_ROWS,
    "duckdb._relation.DuckDBPyRelation": _OF_ROWS,
}
"""What lives in this process only, by the name of its class, so that no package is imported."""


def _refuse(why: str) -> Callable[[object, Any], Any]:
    def refuse(_: object, __: object) -> Any:
        raise TypeError(why)

    return refuse


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
