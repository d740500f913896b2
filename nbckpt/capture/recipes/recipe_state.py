"""State of a value that its statement would not bring back, as a reason to refuse it."""

from __future__ import annotations

import io
import socket
import sqlite3
import types
import weakref
from typing import Any

from nbckpt.fingerprint.values import databases
from nbckpt.runtime.user_code_errors import user_code_errors


def lost_state(value: object) -> str | None:
    """The state of `value` that its statement would not bring back, as the end of a sentence."""
    if isinstance(value, sqlite3.Connection):
        if called := databases.callback_of(value):
            return f"and that it calls {called!r} would be lost"
        return None if is_in_memory(value) else _lost_of_sqlite(value)
    if type(value).__name__ == "DuckDBPyConnection" and not _has_duckdb_file(value):
        return "and its tables are in memory only: keep them in a file"
    if isinstance(value, socket.socket) and _is_connected(value):
        return "and it is connected: connect again after going back"
    if isinstance(value, io.IOBase) and not value.closed and not value.seekable():
        return "and what was read from it cannot be read again"
    return _lost_by_kind(value)


def _lost_by_kind(value: object) -> str | None:
    """State of a class's instances, taken in or given out by now, that they cannot be asked for."""
    kind = type(value)
    if kind is weakref.finalize:
        return "and the object whose end it waits for may be another"
    if kind.__module__ == "mmap":
        return "and what it holds would be lost"
    is_file = isinstance(value, io.IOBase | types.GeneratorType)
    if hasattr(kind, "__next__") and not is_file:
        return "and how far it was read would be lost"
    return None


def _lost_of_sqlite(connection: sqlite3.Connection) -> str | None:
    try:
        if connection.in_transaction:
            return "in an open transaction: commit it first"
        cursor = connection.cursor()
        cursor.row_factory = None
        rows = cursor.execute("pragma database_list").fetchall()
    except sqlite3.Error as error:
        return f"and what it is connected to cannot be told ({error})"
    if any(name == "main" and not file for _, name, file in rows):
        return "and its rows are in memory only: keep them in a file"
    return None


def _has_duckdb_file(connection: Any) -> bool:
    try:  # on a cursor, which is a connection of its own: a result that is being read stays
        cursor = connection.cursor()  # held: what it found is gone with it, before DuckDB 1.5
        found = cursor.sql("select path from duckdb_databases() where not internal")
        return all(path for (path,) in found.fetchall())
    except user_code_errors():  # a closed or broken connection raises what it likes
        return False


def _is_connected(sock: socket.socket) -> bool:
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


def is_in_memory(connection: sqlite3.Connection) -> bool:
    """True if the database of a connection is in memory, and can be asked."""
    try:
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None
        found = cursor.execute("pragma database_list").fetchall()
    except sqlite3.Error:
        return False  # closed, or of another thread: who asks next says why
    return any(number == 0 and not file for number, _, file in found)
