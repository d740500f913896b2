"""SQL over a store: every line of SQL of the project, answered by DuckDB in memory.

The views are Arrow tables made of the records in memory, only those that a query mentions; table
variables are read from their Parquet files, which are made first where the store lacks them. No
other process is waited for.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from nbckpt.errors import FormatError, UsageError, VariableNotFoundError
from nbckpt.model import Manifest, Record, Variable
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.storage.disk import exists, require_plain
from nbckpt.storage.store import Store
from nbckpt.storage.views import COLUMNS, arrow_view
from nbckpt.storage.whole_tables import is_whole
from nbckpt.timeline.references import resolve
from nbckpt.timeline.timeline import Timeline

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

VARIABLE = "variable"
"""The function that gives a table variable."""
TableRecord: TypeAlias = Callable[[Variable, Manifest], Record]
"""Gives the `table` record of a variable of a checkpoint, whose table is made if need be."""
Functions: TypeAlias = "Mapping[str, Callable[[str], pa.Table]]"
"""Name → what it makes of its one argument: further functions that a query may call."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reference in a query is read from; see `references.resolve`."""

    branch: str = "main"
    here: str | None = None
    before: str | None = None


def relation(
    store: Store,
    timeline: Timeline,
    sql: str,
    *,
    place: Place | None = None,
    make: TableRecord | None = None,
    functions: Functions = MappingProxyType({}),
) -> duckdb.DuckDBPyRelation:
    """The answer to `sql`: a DuckDB relation, computed when it is looked at.

    Tables: `checkpoints`, `variables`, `branches`, `events`, `recordings`, `prices`, `steps`,
    `approvals`, and ``variable('df')`` or ``variable('df', 'embed')``, which is a data frame as it
    was at a checkpoint, by default the newest that has it.

    Parameters
    ----------
    place
        Where references in the query are read from; by default the branch `main`.
    make
        Makes the tables that the query reads and the store has not; without it, that is an error.
    functions
        Further functions that give tables, as ``history('df')``.

    Raises
    ------
    UsageError
        If DuckDB does not understand it, or it gives no table, or a variable named in it is no
        table or has none.
    VariableNotFoundError
        If a variable named in it does not exist there.
    CheckpointNotFoundError
        If a reference in it means nothing.
    FormatError
        If a Parquet file that it reads is damaged, and nobody makes it anew.
    """
    import duckdb

    cursor = _connection(store).cursor()  # a cursor for each query: safe in any thread
    variables = _Variables(store, timeline, place or Place(), make, cursor)

    def table(function: str, names: Sequence[str]) -> str:
        if function == VARIABLE:
            return variables.table(names[0], names[1] if len(names) > 1 else None)
        view = f"{function} of {names[0]}".replace('"', "")
        cursor.register(view, functions[function](names[0]))
        return f'"{view}"'

    most = {VARIABLE: 2, **dict.fromkeys(functions, 1)}
    try:
        text = _with_tables(sql.encode(), most, table).decode()
        for view in _mentioned(text):
            with uncollected():
                table = arrow_view(view, store, timeline)
            cursor.register(view, table)
        answer = cast("duckdb.DuckDBPyRelation | None", cursor.sql(text))
    except duckdb.Error as error:
        raise UsageError(_first_line(error)) from None
    if answer is None:
        message = "this SQL gives no table to show; end it with a select"
        raise UsageError(message)
    _CURSORS[answer] = cursor
    return answer


_CURSORS: weakref.WeakKeyDictionary[duckdb.DuckDBPyRelation, duckdb.DuckDBPyConnection] = (
    weakref.WeakKeyDictionary()
)
"""Of each answer that somebody has: before DuckDB 1.4 it is closed with its cursor."""

_CONNECTIONS: weakref.WeakKeyDictionary[Store, tuple[int, duckdb.DuckDBPyConnection]] = (
    weakref.WeakKeyDictionary()
)


def _connection(store: Store) -> duckdb.DuckDBPyConnection:
    """The store's database in memory; a forked child makes its own."""
    import duckdb

    pid, connection = _CONNECTIONS.get(store, (0, None))
    if connection is None or pid != os.getpid():
        connection = duckdb.connect(":memory:")
        if store.cipher is not None:  # what does not fit in memory shall not lie beside the store
            connection.execute("set temp_directory = ''")
        _CONNECTIONS[store] = (os.getpid(), connection)
    return connection


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


# -- tables of variables


_PATTERN_SIGNS = frozenset("*?[]{}")


class _Variables:
    """Finds table variables."""

    def __init__(
        self,
        store: Store,
        timeline: Timeline,
        place: Place,
        make: TableRecord | None,
        cursor: duckdb.DuckDBPyConnection,
    ) -> None:
        self._cursor = cursor
        self._store = store
        self._timeline = timeline
        self._place = place
        self._make = make

    def table(self, name: str, ref: str | None) -> str:
        """The SQL expression for the table of a variable at a reference, or for its newest one."""
        manifest = self._newest(name) if ref is None else self._at(name, ref)
        record = self._record(manifest[name], manifest)
        if record["file"] is None:
            message = f"{name!r} cannot be queried: {record['reason']}"
            raise UsageError(message)
        path = self._store.tables.folder / record["file"]
        try:
            require_plain(path)
        except OSError as error:
            message = f"{name!r} cannot be queried: {path}: {error.strerror}"
            raise UsageError(message) from error
        # DuckDB takes such a path for the pattern of others.
        is_pattern = not _PATTERN_SIGNS.isdisjoint(str(path))
        if self._store.cipher is None and not is_pattern:
            return f"read_parquet({_literal(str(path))})"
        from nbckpt.storage.parquet_files import arrow_table

        view = f"table {path.stem}"
        self._cursor.register(view, arrow_table(path, self._store.cipher))
        return f'"{view}"'

    def _record(self, variable: Variable, manifest: Manifest) -> Record:
        if self._make is not None:
            return self._make(variable, manifest)
        record = self._store.tables.record_of(variable)
        if record is None or not (record["file"] is None or self._is_there(record["file"])):
            message = f"{variable.name!r} has no Parquet file in {self._store.tables.folder}"
            raise UsageError(message)
        if record["file"] is not None and not is_whole(self._store.tables.folder, record):
            message = (
                f"the Parquet file of {variable.name!r} is damaged: table {record['file']};"
                " `nbckpt check` lists what else is"
            )
            raise FormatError(message)
        return record

    def _is_there(self, file: str) -> bool:
        return exists(self._store.tables.folder / file)

    def _at(self, name: str, ref: str) -> Manifest:
        place = self._place
        checkpoint = resolve(
            self._timeline, ref, branch=place.branch, here=place.here, before=place.before
        )
        manifest = self._timeline.manifest(checkpoint.id)
        if name not in manifest:
            message = (
                f"checkpoint {checkpoint.name or checkpoint.id!r} has no variable {name!r};"
                f" `nbckpt show {ref}` lists what it has"
            )
            raise VariableNotFoundError(message)
        return manifest

    def _newest(self, name: str) -> Manifest:
        start = self._place.here or self._timeline.branches.get(self._place.branch)
        if start is not None and name in (manifest := self._timeline.manifest(start)):
            return manifest
        for record in reversed(self._store.records("checkpoint")):
            if any(variable["name"] == name for variable in record.get("changed", ())):
                return self._timeline.manifest(record["id"])
        message = f"no checkpoint has a variable {name!r}; `select name from variables` lists them"
        raise VariableNotFoundError(message)


def _with_tables(
    sql: bytes, functions: Mapping[str, int], table: Callable[[str, Sequence[str]], str]
) -> bytes:
    """The query with each ``variable(…)`` and the like made what `table` calls it.

    DuckDB's own tokens are used, so that strings and comments which only look like it are left
    alone. Their offsets count bytes.

    Parameters
    ----------
    functions
        Name of each function → how many arguments it takes at most.
    """
    tokens = list(_tokens(sql))
    pieces: list[bytes] = []
    done = i = 0
    while i < len(tokens):
        call = _call(tokens, i, functions)
        if call is None:
            i += 1
            continue
        names, after = call
        told = table(tokens[i].text.decode().lower(), names)
        pieces += [sql[done : tokens[i].start], told.encode()]
        done = tokens[after - 1].end
        i = after
    return b"".join([*pieces, sql[done:]])


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    text: bytes
    is_string: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _tokens(sql: bytes) -> Iterator[_Token]:
    import duckdb

    found = duckdb.tokenize(sql.decode())
    ends = [*(start for start, _ in found[1:]), len(sql)] if found else []
    for (start, kind), end in zip(found, ends, strict=True):
        if kind != duckdb.token_type.comment:
            is_string = kind == duckdb.token_type.string_const
            yield _Token(start, sql[start:end].rstrip(), is_string)


def _call(
    tokens: list[_Token], i: int, functions: Mapping[str, int]
) -> tuple[list[str], int] | None:
    """The arguments of a ``variable(…)`` that begins at token `i`, and the token after it."""
    name, *behind = (token.text.lower().decode() for token in tokens[i : i + 2])
    if name not in functions or behind != ["("] or (i and tokens[i - 1].text == b"."):
        return None
    names: list[str] = []
    for j in range(i + 2, len(tokens), 2):
        closing = tokens[j + 1].text if j + 1 < len(tokens) else b""
        if not tokens[j].is_string or closing not in (b",", b")"):
            break
        names.append(tokens[j].text.decode()[1:-1].replace("''", "'"))
        if closing == b")" and len(names) <= functions[name]:
            return names, j + 2
    more = f" or {name}('NAME', 'CHECKPOINT')" if functions[name] > 1 else ""
    message = f"write {name}('NAME'){more}, in single quotes"
    raise UsageError(message)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _mentioned(sql: str) -> list[str]:
    """The views that a query may read; one too many costs time only."""
    words = sql.lower()
    everything = "show" in words or "describe" in words or "information_schema" in words
    return [view for view in COLUMNS if everything or view in words]
