"""Facts about values that pickle cannot take apart: files, generators, connections.

Notes
-----
The facts must decide all that the value does next; if they cannot be had, none is given, and the
value equals no other: a cell that ran once too often is better than a stale result. The bytes of
a file count, not its times, which a copy of the folder would change.
"""

from __future__ import annotations

import concurrent.futures
import io
import os
import random
import re
import sqlite3
import stat
import struct
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeAlias

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.fingerprint.values import databases, widgets
from nbckpt.fingerprint.values.exceptions import parts_of_exception
from nbckpt.fingerprint.values.generators import parts_of_generator
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.locks import parts_of_lock, parts_of_reentrant_lock
from nbckpt.fingerprint.values.numbers import teller_of

WHOLE_BYTES = 1 << 28
"""Files up to this size count by their bytes; larger ones by size and time of change."""

Told: TypeAlias = "list[object] | None"
"""Parts that decide what a value does; None if these cannot be had."""


_HASHES = ("_blake2", "_hashlib", "_md5", "_sha", "blake3")

_OF_SYSTEM = ("_context", "_handle", "_ident", "_name", "_native_id", "_stderr", "_tstate_lock")
"""Members of a thread that are the system's."""

_KEPT_BY_POOLS = ("_max_workers", "_initializer", "_initargs", "_mp_context")


def teller_for(kind: type) -> Callable[[Any], Told] | None:
    """Function that tells of values of a type, even if pickle believes it can take them apart."""
    for base, teller in _TELLERS:
        if issubclass(kind, base):
            return teller
    if tell := teller_of(kind):
        return tell
    home = module_of_class(kind)
    if widgets.is_widget(kind):
        return widgets.told
    if home.partition(".")[0] in ("duckdb", "_duckdb") and "Relation" in kind.__name__:
        return _nothing
    if kind.__name__ == "SharedMemory" and home == "multiprocessing.shared_memory":
        return _nothing
    if kind.__name__ in ("Future", "Task") and home in ("_asyncio", "asyncio.futures"):
        return _of_future
    if kind.__name__ == "CallbackRegistry" and home == "matplotlib.cbook":
        return _of_callbacks
    if home.startswith(_HASHES) and hasattr(kind, "digest"):
        return _of_hash
    return None


def _nothing(_: object) -> Told:
    return None


def _of_file(file: Any) -> Told:
    """Name, mode, position and content of a file on the disk."""
    if file in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        return ["standard", file.name]
    if file.closed:
        return ["closed", getattr(file, "name", None), getattr(file, "mode", None)]
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        return None
    text = [getattr(file, name, None) for name in ("encoding", "errors")]
    position = file.tell()  # before its content is read: it writes what is not yet written
    if file.writable():
        file.flush()
    path = Path(os.fsdecode(file.name))  # raises for a mere number
    if not os.path.samestat(path.stat(), about):
        return None
    return ["open", str(path), file.mode, *text, position, content_of(path)]


def _of_file_in_memory(file: Any) -> Told:
    if file.closed:
        return ["closed"]
    return [type(file), file.getvalue(), file.tell(), getattr(file, "__dict__", {})]


def content_of(path: Path) -> Digest | str:
    """Digest of the bytes of a file, of a large one its size and time; empty if there is none.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    try:
        about = path.stat()
    except FileNotFoundError:
        return ""
    if about.st_size > WHOLE_BYTES:
        return f"{about.st_size} {about.st_mtime_ns}"
    return blake3(path.read_bytes()).hexdigest()


def _of_view(view: Any) -> Told:
    """The dict behind a view of its keys, values or items."""
    import gc

    behind = gc.get_referents(view)
    return behind if len(behind) == 1 else None


def _of_connection(connection: sqlite3.Connection) -> Told:
    """The files of a connection, or its content in memory; nothing of what is not committed."""
    if connection.in_transaction or databases.callback_of(connection):
        return None
    cursor = sqlite3.Cursor(connection)
    cursor.row_factory = None
    files = [file for _, _, file in cursor.execute("pragma database_list").fetchall()]
    if files[:1] == [""]:
        return _of_database_in_memory(connection)
    if not all(files):
        return None
    contents = [content_of(Path(file + tail)) for file in files for tail in ("", "-wal")]
    how = [connection.isolation_level, connection.row_factory, connection.text_factory]
    return [*map(_relative, files), *contents, *how]


def _of_database_in_memory(connection: sqlite3.Connection) -> Told:
    try:
        content = databases.content_of(connection)
    except databases.UnkeptError:
        return None
    return [*content]


def _relative(path: str) -> str:
    """A path as it is told in another place of the same project."""
    return os.path.relpath(path)


def _of_cursor(cursor: sqlite3.Cursor) -> Told:
    """The connection of a cursor that has no rows to give."""
    if cursor.description is not None:
        return None
    return [cursor.connection, cursor.lastrowid, cursor.rowcount, cursor.row_factory]


def _of_future(future: Any) -> Told:
    """The result of one that is done."""
    state = future._state  # noqa: SLF001  # to ask for `exception()` has an effect
    if state != "FINISHED":
        return None
    return [state, future._result, future._exception]  # noqa: SLF001


def _of_thread(thread: threading.Thread) -> Told:
    """Facts about a thread that has not begun, or has ended; None for one that runs."""
    if thread.is_alive():
        return None
    members = {k: v for k, v in vars(thread).items() if k not in _OF_SYSTEM}
    return [thread.ident is None, members]


def _of_process(process: Any) -> Told:
    if process.returncode is None or process.stdout or process.stderr:
        return None
    return [process.args, process.returncode]


def _of_pool(pool: Any) -> Told:
    return [is_shut_down(pool), *(getattr(pool, name, None) for name in _KEPT_BY_POOLS)]


def is_shut_down(pool: object) -> bool:
    """True for a pool of threads or processes that takes no more work."""
    return any(getattr(pool, name, False) is True for name in ("_shutdown", "_shutdown_thread"))


def _of_reference(reference: Any) -> Told:
    if isinstance(reference, weakref.WeakMethod):  # its callback is a function of its own
        return ["reference", reference()]
    return ["reference", *told_of_reference(reference)[1:]]


def told_of_reference(reference: Any) -> tuple[type, object, object, object]:
    """The class of a weak reference, what it refers to, its callback, and what its class added."""
    callback = _CALLBACK.__get__(reference)
    if type(callback) is Silenced:
        callback = callback.original
    state = object.__getstate__(reference)
    return type(reference), weakref.ref.__call__(reference), callback, state


class Silenced:
    """The callback of a reference in a copy that is only looked at: it calls nothing."""

    def __init__(self, original: object) -> None:
        self.original = original

    def __call__(self, _: object) -> None:
        """The copy is gone."""


_CALLBACK: Any = vars(weakref.ref)["__callback__"]


def _of_finalizer(finalizer: weakref.finalize[Any, Any]) -> Told:
    """The call that it makes, its state, and its `atexit`; it lies in a table of its class."""
    return [finalizer.peek(), finalizer.alive, finalizer.alive and finalizer.atexit]


def _of_proxy(proxy: Any) -> Told:
    try:
        return ["proxy", proxy.__repr__.__self__]
    except ReferenceError:
        return ["dead"]


def _of_callbacks(registry: Any) -> Told:
    """The callbacks of a drawing that go where it goes; their numbers rise with every look."""
    kept = registry._pickled_cids  # noqa: SLF001  # its own way to pickle counts on
    callbacks = {
        signal: [refer() for number, refer in found.items() if number in kept]
        for signal, found in registry.callbacks.items()
    }
    handler = registry.exception_handler
    return [handler, {signal: found for signal, found in callbacks.items() if found}]


def _of_local(local: threading.local) -> Told:
    return [vars(local)]


def _of_context_variable(variable: ContextVar[object]) -> Told:
    return [variable.name, variable.get(None)]


def _of_hash(hasher: Any) -> Told:
    size = hasher.digest_size
    return [hasher.name, size, hasher.digest() if size else hasher.digest(32)]


def _of_weak_mapping(mapping: Any) -> Told:
    return [dict(mapping)]


def _of_weak_set(members: Any) -> Told:
    return [set(members)]


def _of_match(match: re.Match[Any]) -> Told:
    return [match.re, match.string, match.pos, match.endpos, match.regs]


def _of_packer(packer: struct.Struct) -> Told:
    return [packer.format]


def _of_system_random(_: random.SystemRandom) -> Told:
    return []


def _kinds_of_views() -> Iterator[type]:
    from collections import OrderedDict

    kinds: tuple[dict[str, int], ...] = ({}, OrderedDict())
    for empty in kinds:
        yield from (type(empty.keys()), type(empty.values()), type(empty.items()))


_TELLERS: tuple[tuple[Any, Callable[[Any], Told]], ...] = (
    (
        (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO),
        _of_file,
    ),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), parts_of_generator),
    (tuple(_kinds_of_views()), _of_view),
    (sqlite3.Connection, _of_connection),
    (sqlite3.Cursor, _of_cursor),
    (concurrent.futures.Future, _of_future),
    (concurrent.futures.Executor, _of_pool),
    (threading.Thread, _of_thread),
    (threading.local, _of_local),
    (type(threading.Lock()), parts_of_lock),
    (type(threading.RLock()), parts_of_reentrant_lock),
    (subprocess.Popen, _of_process),
    (weakref.ProxyTypes, _of_proxy),
    (weakref.ref, _of_reference),
    (weakref.finalize, _of_finalizer),
    (ContextVar, _of_context_variable),
    ((weakref.WeakValueDictionary, weakref.WeakKeyDictionary), _of_weak_mapping),
    (weakref.WeakSet, _of_weak_set),
    (BaseException, parts_of_exception),
    ((io.StringIO, io.BytesIO), _of_file_in_memory),
    (re.Match, _of_match),
    (struct.Struct, _of_packer),
    (random.SystemRandom, _of_system_random),
)
