"""Running processes and threads, and results that are still to come: refused.

A copy of a running process in another kernel would hold a process id that belongs to nobody, or
to somebody else; a copy of a pending result would never be there.
"""

from __future__ import annotations

import _thread
import subprocess
import threading
import types
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from nbckpt.types.adapter import RefusalError


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """The reducer for processes, threads, futures and the like of type `kind`; else None."""
    if issubclass(kind, subprocess.Popen):
        return _reduce_process
    if issubclass(kind, threading.Thread):
        return _reduce_thread
    if issubclass(kind, Future):
        return _reduce_future
    if kind is types.GeneratorType:
        return _reduce_generator
    why = reason_against(kind)
    return None if why is None else _refuse(why)


def reason_against(kind: type) -> str | None:
    """Why nothing of type `kind` is ever kept; None of most."""
    for base in kind.__mro__:
        if base.__name__ in _CLASSES and (why := _REASONS.get(full_name(base))):
            return why
    return None


def full_name(kind: type) -> str:
    """Where a class says that it is; a class of C may have no `__module__`."""
    return f"{getattr(kind, '__module__', '')}.{kind.__qualname__}"


def _reduce_generator(_: object, generator: types.GeneratorType[Any, Any, Any]) -> Any:
    if generator.gi_frame is None:
        return ended_generator, (generator.__name__, generator.__qualname__)
    message = "it is a generator that may have begun: keep what it gives, in a list"
    raise RefusalError(message)


def ended_generator(name: str, qualified_name: str) -> types.GeneratorType[Any, Any, Any]:
    """A generator that has nothing more to give."""
    generator: Any = (0 for _ in "")
    next(generator, None)
    generator.__name__, generator.__qualname__ = name, qualified_name
    ended: types.GeneratorType[Any, Any, Any] = generator
    return ended


_OF_ROWS = "it is a query on a connection: keep its rows, as .df() gives them"

_REASONS = {
    "multiprocessing.shared_memory.SharedMemory": "it is memory of the system, which may end",
    "builtins.frame": "it is a frame of code that runs or ran",
    "builtins.traceback": "it is the way of an exception: keep the exception",
    "builtins.async_generator": "it is an asynchronous generator: keep what it gives, in a list",
    "builtins.coroutine": "it is a coroutine that was not awaited: write `await` before it",
    "_contextvars.Context": "it is a context of this process",
    "_csv.writer": "it writes to a file of this process",
    "_socket.socket": "it is a socket of this process",
    "weakref.finalize": "it waits for the end of an object: its cell makes it again",
    "sqlite3.Cursor": "it is a query on a connection: keep its rows, as .fetchall() gives them",
    "zlib.Compress": "what it was fed cannot be read back: keep what it gave",
    "zlib.Decompress": "what it was fed cannot be read back: keep what it gave",
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
"""Reasons against objects of this process alone, by class name, so that no package is imported."""

_CLASSES = frozenset(name.rpartition(".")[2] for name in _REASONS)


def _refuse(why: str) -> Callable[[object, Any], Any]:
    def refuse(_: object, __: object) -> Any:
        raise RefusalError(why)

    return refuse


def _reduce_process(_: object, process: subprocess.Popen[Any]) -> Any:
    if process.returncode is None:
        message = "it is a running process"
        raise RefusalError(message)
    return NotImplemented


def _reduce_thread(_: object, thread: threading.Thread) -> Any:
    if thread.is_alive():
        message = "it is a running thread"
        raise RefusalError(message)
    members = {k: v for k, v in vars(thread).items() if k not in _OF_SYSTEM}
    has_begun = thread.ident is not None
    return make_thread, (type(thread),), (has_begun, members), None, None, set_thread


_OF_SYSTEM = frozenset(
    {"_context", "_handle", "_invoke_excepthook", "_is_stopped", "_native_id", "_os_thread_handle"}
    | {"_started", "_stderr", "_tstate_lock"}
)
"""Attributes of a thread that belong to the system."""


def make_thread(kind: type[threading.Thread]) -> threading.Thread:
    """A thread that has not begun."""
    thread = kind.__new__(kind)
    threading.Thread.__init__(thread, daemon=False)
    return thread


def set_thread(thread: Any, state: tuple[bool, dict[str, object]]) -> None:
    """Give a thread its work, or let it have ended."""
    has_begun, members = state
    for name in {"_target", "_args", "_kwargs"} - members.keys():  # gone when it has run
        delattr(thread, name)
    vars(thread).update(members)
    if not has_begun:
        return
    inside = vars(thread)  # there is no public way to make a thread that has ended
    inside["_started"].set()
    if "_handle" in inside:
        handle = getattr(_thread, "_make_thread_handle")(thread.ident)  # noqa: B009  # 3.13
        getattr(handle, "_set_done")()  # noqa: B009
        inside["_handle"] = handle
    else:
        inside.update(_is_stopped=True, _tstate_lock=None)


def _reduce_future(_: object, future: Future[Any]) -> Any:
    if not future.done():
        message = "its result is still to come"
        raise RefusalError(message)
    return NotImplemented
