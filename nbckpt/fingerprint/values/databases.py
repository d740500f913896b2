"""SQLite databases in memory: their content, their settings and their open transaction, as values.

What a connection shows of itself decides: functions, collations and callbacks of Python can be
seen to be there, but not be had, so a connection that has any is not kept.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sqlite3
import time
import warnings
from collections.abc import Iterable
from contextlib import closing
from typing import Any, NamedTuple

MAX_BYTES = 1 << 30
MAX_IN_TRANSACTION = 1 << 26
"""Rows that are not committed are written one by one."""

PATIENCE_S = 5.0
"""For what was committed of an open transaction."""

_PRAGMAS = """
    page_size encoding auto_vacuum analysis_limit automatic_index busy_timeout cache_size
    cell_size_check foreign_keys full_column_names ignore_check_constraints journal_size_limit
    legacy_alter_table max_page_count read_uncommitted recursive_triggers
    reverse_unordered_selects secure_delete short_column_names synchronous temp_store
    trusted_schema writable_schema query_only
"""
_SETTINGS = tuple(_PRAGMAS.split())
"""Pragmas of a connection, in the order in which they are set again."""

_LIMITS = range(12)

Rows = dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]


class UnkeptError(Exception):
    """A connection cannot be kept; says why, as the end of a sentence."""


class Content(NamedTuple):
    """All that a connection to memory holds.

    Attributes
    ----------
    committed
        The database; empty if nothing was ever written.
    settings
        Pragmas that differ from those of a new connection.
    limits
        The same of its limits.
    attributes
        What Python's connection is told: the isolation level, factories.
    uncommitted
        In an open transaction, its rows, by table, of those that it changed; else None.
    """

    committed: bytes
    settings: dict[str, object]
    limits: dict[int, int]
    attributes: dict[str, object]
    uncommitted: Rows | None


def content_of(connection: sqlite3.Connection) -> Content:
    """Content of `connection`, which is as before afterwards.

    Raises
    ------
    UnkeptError
        If something of it cannot be had.
    sqlite3.Error
        If it is closed, or of another thread.
    """
    _check_what_is_attached(connection)
    with closing(sqlite3.connect(":memory:")) as plain:
        _check_what_is_registered(connection, plain)
        settings = {n: v for n in _SETTINGS if (v := _pragma(connection, n)) != _pragma(plain, n)}
        limits = {
            n: limit for n in _LIMITS if (limit := connection.getlimit(n)) != plain.getlimit(n)
        }
    attributes = {
        name: getattr(connection, name)
        for name in ("isolation_level", "autocommit", "row_factory", "text_factory")
        if hasattr(connection, name)
    }
    size = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    if size > MAX_BYTES:
        message = f"and its {size / 1e9:.1f} GB are in memory only: keep them in a file"
        raise UnkeptError(message)
    if not connection.in_transaction:
        return Content(_serialized(connection), settings, limits, attributes, None)
    committed, uncommitted = _of_transaction(connection, size)
    return Content(committed, settings, limits, attributes, uncommitted)


def fill(connection: Any, content: Content) -> None:
    """Let a new connection to memory be what `content` tells."""
    attributes = dict(content.attributes)
    if "autocommit" in attributes:
        connection.autocommit = True
    connection.isolation_level = None
    if content.committed:
        # A copy, page by page: a connection that is deserialized into shows no open transaction
        # when it is serialized, and makes backups of it wait for ever.
        with closing(sqlite3.connect(":memory:")) as source:
            source.deserialize(content.committed)
            source.backup(connection)
            version = _pragma(source, "schema_version")  # a copy has the next one
            connection.execute(f"pragma schema_version = {version}").close()
    last = {n: v for n, v in content.settings.items() if n == "query_only"}
    for name, value in content.settings.items():
        if name not in last:
            connection.execute(f"pragma {name} = {_literal(value)}").close()
    for number, limit in content.limits.items():
        connection.setlimit(number, limit)
    connection.isolation_level = attributes.pop("isolation_level")
    if attributes.get("autocommit") is False:
        connection.autocommit = False
    elif content.uncommitted is not None:
        connection.execute("begin").close()
    for table, (columns, rows) in (content.uncommitted or {}).items():
        _replace(connection, table, columns, rows)
    for name, value in {**attributes, **last}.items():
        if name in last:
            connection.execute(f"pragma {name} = {_literal(value)}").close()
        else:
            setattr(connection, name, value)


def _rows(connection: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    cursor = sqlite3.Cursor(connection)
    cursor.row_factory = None
    return cursor.execute(query).fetchall()


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    [(value,)] = _rows(connection, f"pragma {name}")
    return _text(value)


def _text(value: object) -> object:
    """A text, whatever the connection's `text_factory` makes of it."""
    return bytes(value).decode() if isinstance(value, bytes | bytearray) else value


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _check_what_is_attached(connection: sqlite3.Connection) -> None:
    for _, name, _ in _rows(connection, "pragma database_list"):
        if _text(name) == "temp" and not _rows(connection, "select 1 from temp.sqlite_master"):
            continue
        if _text(name) != "main":
            what = "temporary tables" if _text(name) == "temp" else "an attached database"
            message = f"and it has {what}: keep them in a file"
            raise UnkeptError(message)


def _check_what_is_registered(connection: sqlite3.Connection, plain: sqlite3.Connection) -> None:
    for what in ("function", "collation"):
        place = 0 if what == "function" else 1
        known = set(_rows(plain, f"pragma {what}_list"))
        own = {_text(r[place]) for r in _own(connection, what) if _as_text(r) not in known} - {None}
        if what == "collation":
            own -= {row[1] for row in known}
        if own:
            message = f"and its {what} {min(map(str, own))!r} would be lost"
            raise UnkeptError(message)


def callback_of(connection: sqlite3.Connection) -> str:
    """The name of something that the connection calls at statements; empty if there is none."""
    known = (type(connection), connection.row_factory, connection.text_factory)
    for obj in gc.get_referents(connection):
        is_cache = type(obj).__name__ == "_lru_cache_wrapper"
        if callable(obj) and not is_cache and not any(obj is one for one in known):
            return str(getattr(obj, "__name__", type(obj).__name__))
    return ""


def _own(connection: sqlite3.Connection, what: str) -> list[tuple[Any, ...]]:
    return _rows(connection, f"pragma {what}_list")


def _as_text(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_text, row))


def _serialized(connection: sqlite3.Connection) -> bytes:
    return connection.serialize() if _pragma(connection, "page_count") else b""


# -- an open transaction


def _of_transaction(connection: sqlite3.Connection, size: int) -> tuple[bytes, Rows]:
    """The committed database, and the rows of the tables that differ from it."""
    if size > MAX_IN_TRANSACTION or _pragma(connection, "encoding") != "UTF-8":
        message = "in an open transaction: commit it first"
        raise UnkeptError(message)
    committed = _as_rolled_back(connection)
    with closing(sqlite3.connect(":memory:")) as before:
        if committed:
            before.deserialize(committed)
        schema = "select type, name, sql from sqlite_master order by 1, 2, 3"
        now = list(map(_as_text, _rows(connection, schema)))
        if now != _rows(before, schema):
            message = "in an open transaction that made tables: commit it first"
            raise UnkeptError(message)
        tables = [name for kind, name, _ in now if kind == "table"]
        changed: Rows = {}
        for table in tables:
            columns = _columns(before, table)
            rows = _all_of(connection, table, columns)
            if rows != _all_of(before, table, columns):
                changed[table] = columns, rows
    is_simple = all(kind in ("table", "index", "view") for kind, _, _ in now)
    is_simple = is_simple and not any("virtual" in str(sql).lower()[:20] for *_, sql in now)
    if changed and (not is_simple or _pragma(connection, "foreign_keys")):
        message = "in an open transaction, with triggers or keys that act: commit it first"
        raise UnkeptError(message)
    return committed, changed


def _columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """The columns of a table that can be written, with the number of each row if it has one."""
    about = _quoted(table, mark="'")
    found = _rows(connection, f"select name, hidden from pragma_table_xinfo({about})")
    names = [str(name) for name, hidden in found if not hidden]
    for rowid in ("rowid", "_rowid_", "oid"):
        if rowid not in map(str.lower, names):
            try:
                _rows(connection, f"select {rowid} from {_quoted(table)} limit 0")
            except sqlite3.OperationalError:  # a table without row numbers
                return tuple(names)
            return (rowid, *names)
    message = "in an open transaction: commit it first"
    raise UnkeptError(message)


def _all_of(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...]
) -> list[tuple[Any, ...]]:
    """All rows, each value as SQL writes it, which holds its type, whatever Python makes of it."""
    # An expression has no declared type that a converter would be found by.
    written = ", ".join(map(_as_written, columns))
    return _rows(connection, f"select {written} from {_quoted(table)}")


def _as_written(column: str) -> str:
    name = _quoted(column)
    text = f"'cast(x''' || hex({name}) || ''' as text)'"  # `quote` ends at the first zero
    number = f"replace(quote({name}), 'Inf', '9e999')"
    kinds = f"when 'text' then {text} when 'real' then {number} else quote({name})"
    return f"cast(case typeof({name}) {kinds} end as blob)"


def _replace(
    connection: sqlite3.Connection,
    table: str,
    columns: tuple[str, ...],
    rows: Iterable[tuple[bytes, ...]],
) -> None:
    names = ", ".join(map(_quoted, columns))
    connection.execute(f"delete from {_quoted(table)}").close()
    for row in rows:
        values = b", ".join(row).decode()
        connection.execute(f"insert into {_quoted(table)} ({names}) values ({values})").close()


def _quoted(name: str, mark: str = '"') -> str:
    return mark + name.replace(mark, mark * 2) + mark


def _as_rolled_back(connection: sqlite3.Connection) -> bytes:
    """The database that a rollback would leave: a child process does it, and ends.

    SQLite tells of an open transaction in memory only what it has done.
    """
    if not hasattr(os, "fork"):
        message = "in an open transaction: commit it first"
        raise UnkeptError(message)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child uses none
        pid = os.fork()
    if pid == 0:
        _write_rolled_back(connection, reader, writer)
    os.close(writer)
    try:
        data = _read_all(reader)
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)  # it has written all, or is stuck
        os.waitpid(pid, 0)
    if not data.endswith(_WHOLE):
        message = "in an open transaction: commit it first"
        raise UnkeptError(message)
    return data.removesuffix(_WHOLE)


_WHOLE = b"all of it"


def _write_rolled_back(connection: sqlite3.Connection, reader: int, writer: int) -> None:
    """In the child: never returns."""
    try:
        gc.disable()
        os.close(reader)
        sqlite3.Connection.rollback(connection)
        data = memoryview(_serialized(connection) + _WHOLE)
        while data:
            data = data[os.write(writer, data) :]
    finally:
        os._exit(0)


def _read_all(reader: int) -> bytes:
    found, until = bytearray(), time.monotonic() + PATIENCE_S
    while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        chunk = os.read(reader, 1 << 20)
        if not chunk:
            break
        found += chunk
    return bytes(found)
