"""Objects whose state is not in the notebook's memory alone: what runs, and what others are behind.

A thread, a server and a connection go on by themselves. Their cell, run again, makes another one;
a generator's cell gives the same again.
"""

from __future__ import annotations

import io
import re
import socket
import sqlite3
import threading
from collections import deque
from concurrent.futures import Executor, Future
from functools import lru_cache
from typing import Any

from nbckpt.codecs.refused_objects import children_of
from nbckpt.codecs.running_objects import full_name
from nbckpt.fingerprint.values.opaque import is_shut_down

MAX_VISITED = 5_000
"""Objects of one value that are looked at."""

_NAMES = frozenset(
    {
        "_asyncio.Future", "_asyncio.Task", "_multiprocessing.SemLock", "_socket.socket",
        "asyncio.base_events.Server", "asyncio.events.AbstractEventLoop", "asyncio.futures.Future",
        "multiprocessing.connection._ConnectionBase", "multiprocessing.pool.Pool",
        "multiprocessing.process.BaseProcess", "select.epoll", "subprocess.Popen",
        "tempfile.TemporaryDirectory",
    }
)  # fmt: skip
"""Classes, by name, so that no module is imported to ask."""

_SPEAKS = re.compile(r"(Channel|Client|Connection|Engine|Pool|Session|Socket)$")
"""Pattern of the class names that libraries give to what speaks with somebody."""

_IN_MEMORY = frozenset({"duckdb", "_duckdb"})
"""Packages whose connections that cannot be kept hold a database in memory."""


def lives_outside(value: object) -> bool:
    """True if `value` is or holds what runs by itself, or what somebody else is behind."""
    queue, seen = deque([value]), dict[int, object]()  # held: another may lie at its address
    while queue and len(seen) < MAX_VISITED:
        obj = queue.popleft()
        if id(obj) in seen:
            continue
        seen[id(obj)] = obj
        if _is_outside(obj):
            return True
        queue.extend(child for _, child in children_of(obj))
    return False


def _is_outside(obj: Any) -> bool:
    if issubclass(type(obj), sqlite3.Connection):
        return _has_file(obj)
    kind: Any = type(obj)
    return _is_of_outside(kind) and not _is_closed(obj)


def _is_closed(obj: Any) -> bool:
    """True if an object is done with for ever, so that nothing goes on in it."""
    if issubclass(type(obj), socket.socket):
        return bool(obj.fileno() < 0)
    if issubclass(type(obj), Executor):
        return is_shut_down(obj)
    return getattr(obj, "closed", False) is True


@lru_cache(maxsize=4096)
def _is_of_outside(kind: type) -> bool:
    if issubclass(kind, threading.Thread | Executor | Future):
        return True
    if issubclass(kind, io.IOBase):
        return not issubclass(kind, io.StringIO | io.BytesIO)
    module = str(kind.__module__)
    is_librarys = module != "__main__" and module.partition(".")[0] not in _IN_MEMORY
    if is_librarys and _SPEAKS.search(kind.__name__):
        return True
    return any(full_name(base) in _NAMES for base in kind.__mro__)


def _has_file(connection: sqlite3.Connection) -> bool:
    """True if a connection is to a database in a file, as far as this thread may ask."""
    try:
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None
        rows = cursor.execute("pragma database_list").fetchall()
    except sqlite3.Error:  # closed, or of another thread
        return False
    return any(file for _, _, file in rows)
