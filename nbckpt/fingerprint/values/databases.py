"""SQLite databases in memory: their content and their settings, as values.

What a connection shows of itself decides: functions, collations and callbacks of Python can be
seen to be there, but not be had, so a connection that has any is not kept.
"""

from __future__ import annotations

import gc
import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

MAX_BYTES = 1 << 30

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


class UnkeptError(Exception):
    """A connection cannot be kept; says why, as the end of a sentence."""


class Content(NamedTuple):
    """All that a connection to memory holds.

    Attributes
    ----------
    database
        The serialized database; empty if nothing was ever written.
    settings
        Pragmas that differ from those of a new connection.
    limits
        The same of its limits.
    attributes
        What Python's connection is told: the isolation level, factories.
    """

    database: bytes
    settings: dict[str, object]
    limits: dict[int, int]
    attributes: dict[str, object]


def content_of(connection: sqlite3.Connection) -> Content:
    """Content of `connection`, which is not changed.

    Raises
    ------
    UnkeptError
        If something of it cannot be had.
    sqlite3.Error
        If it is closed, or of another thread.
    """
    _check_transaction(connection)
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
    return Content(connection.serialize() if size else b"", settings, limits, attributes)


def fill(connection: Any, content: Content) -> None:
    """Let a new connection to memory be what `content` tells."""
    attributes = dict(content.attributes)
    if "autocommit" in attributes:
        connection.autocommit = True
    connection.isolation_level = None
    if content.database:
        # A copy, page by page: backups of a connection that is deserialized into wait for ever.
        with closing(sqlite3.connect(":memory:")) as source:
            source.deserialize(content.database)
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


def _check_transaction(connection: sqlite3.Connection) -> None:
    if getattr(connection, "autocommit", True) is False:
        message = "and without autocommit it is always in a transaction: keep its rows in a file"
        raise UnkeptError(message)
    if connection.in_transaction:
        message = "in an open transaction: commit it first"
        raise UnkeptError(message)


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
