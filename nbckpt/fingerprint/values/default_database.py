"""DuckDB's default connection, which ``duckdb.sql(…)`` asks: a database that is in no variable."""

from __future__ import annotations

import secrets
import sys
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.digests import Digest, digest_of
from nbckpt.runtime.user_code_errors import user_code_errors

NAME = "DuckDB's default database"
"""Stands for it among the variables that a cell reads."""

MOST_ROWS = 100_000
"""Rows that are read to tell one state from another; of more, nothing is told."""

_FUNCTIONS = """
    sql query execute executemany table view from_query query_df table_function values
    fetchone fetchmany fetchall fetchdf df arrow pl register unregister append begin commit
    rollback create_function read_csv read_json read_parquet from_df from_arrow install_extension
    load_extension description rowcount
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Functions of the module that ask its default connection."""


_EMPTY = digest_of(repr(([], [], [], [])))

_SETTINGS = "select name, value from duckdb_settings() order by all"
_SAYS_WHEN_IN_USE = 2
"""From this version on a connection refuses what would drop a result that is not yet read."""


def is_asked_by(value: Any) -> bool:
    """True if `value` is DuckDB's module, or one of those functions of it."""
    module = sys.modules.get("duckdb")
    if module is None:
        return False
    kind = type(value)  # an object's own code is not asked, and a dead proxy answers nothing
    if issubclass(kind, ModuleType):
        return value is module
    if not issubclass(kind, FunctionType | BuiltinFunctionType | MethodType):
        return False
    name = value.__name__
    return name in FUNCTIONS and value is getattr(module, name, None)


def digest_of_default() -> Digest:
    """The digest of all that it holds, and of its settings; random if these cannot be told."""
    duckdb: Any = sys.modules.get("duckdb")
    if duckdb is None:
        return _EMPTY
    try:
        connection = duckdb.default_connection()
        with connection.cursor() as cursor:
            return _digest(cursor, _changed_settings(duckdb, connection, cursor))
    except user_code_errors():  # closed, or in a transaction of another thread
        return digest_of(secrets.token_bytes(16))


def _changed_settings(duckdb: Any, connection: Any, cursor: Any) -> list[tuple[Any, ...]]:
    """Settings made for the database, and for this connection alone, where it can be asked."""
    version = str(duckdb.__version__).partition(".")[0]
    says = version.isdigit() and int(version) >= _SAYS_WHEN_IN_USE
    defaults = _settings_of_new(duckdb)
    rows = connection.sql(_SETTINGS) if says else cursor.execute(_SETTINGS)
    found = [(n, v) for n, v in rows.fetchall() if n in defaults and defaults[n] != v]
    if says:
        found += connection.sql("from duckdb_variables() order by all").fetchall()
    return found


@lru_cache(maxsize=1)
def _settings_of_new(duckdb: Any) -> dict[str, Any]:
    with duckdb.connect(":memory:") as connection:
        return dict(connection.execute(_SETTINGS).fetchall())


def _digest(cursor: Any, settings: list[tuple[Any, ...]]) -> Digest:
    def asked(query: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = cursor.execute(query).fetchall()
        return rows

    tables = asked(
        "select database_name, schema_name, table_name, estimated_size, sql from duckdb_tables()"
        " where not internal order by all"
    )
    views = asked("select view_name, sql from duckdb_views() where not internal order by all")
    macros = asked(
        "select function_name, macro_definition from duckdb_functions()"
        " where not internal order by all"
    )
    sequences = asked("select sequence_name, last_value from duckdb_sequences() order by all")
    is_told = sum(size for *_, size, _ in tables) <= MOST_ROWS
    is_told = is_told and all("arrow_scan" not in str(sql).lower() for _, sql in views)
    if not is_told:
        return digest_of(secrets.token_bytes(16))
    parts = [repr((views, macros, sequences, settings))]
    for database, schema, table, _, sql in tables:
        place = ".".join('"' + part.replace('"', '""') + '"' for part in (database, schema, table))
        parts.append(repr((sql, asked(f"from {place}"))))
    return digest_of(*parts)
