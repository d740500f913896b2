"""Preview of the data that a question is about: enough to decide on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import preview_of
from nbckpt.text.secret_texts import redacted
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import count_text

MOST_ITEMS = 40
MOST_CHARACTERS = 2000
MOST_ROWS = 15
MOST_COLUMNS = 12
WIDTH = 100
_ATOMS = (str, bytes, int, float, complex, bool, type(None))


def shown(data: object) -> str:
    """Texts as they are, one line an item of plain data, the first rows of a table; else one line.

    Examples
    --------
    >>> print(shown(["a.csv", "b.csv"]))
    a.csv
    b.csv
    >>> print(shown({"rows": 40, "table": "users"}))
    rows: 40
    table: users
    """
    text = redacted(_text(data))
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _text(data: object) -> str:
    if type(data) is str:
        return data
    if type(data) in {list, tuple, set, frozenset}:
        return _items(data)  # type: ignore[arg-type]
    if type(data) is dict:
        few = islice(data.items(), MOST_ITEMS)
        lines = [f"{_item(key)}: {_item(value)}" for key, value in few]
        return _lines(lines, len(data))
    if (table := _head_of(data)) is not None:
        return _table(table)
    return preview_of(data)


class _Head(NamedTuple):
    """The beginning of a table.

    Attributes
    ----------
    rows
        Of `names`, each with a text for each of these.
    shape
        Rows and columns of the whole table.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    shape: tuple[int, int]


def _head_of(data: Any) -> _Head | None:
    """The first rows of a table of pandas, polars or Arrow; None of anything else."""
    for package, name, head in _TABLES:
        kind = getattr(sys.modules.get(package), name, None)
        if kind is not None and isinstance(data, kind):
            try:
                return head(data)
            except user_code_errors():  # a column of a type of somebody's own
                return None
    return None


def _head_of_pandas(frame: Any) -> _Head:
    first = frame.iloc[:MOST_ROWS, :MOST_COLUMNS]
    labels = map(str, first.index)
    rows = [
        [label, *map(_cell, row)]
        for label, row in zip(labels, first.itertuples(index=False), strict=True)
    ]
    return _Head(["", *map(str, first.columns)], rows, frame.shape)


def _head_of_series(series: Any) -> _Head:
    return _head_of_pandas(series.to_frame(series.name if series.name is not None else "value"))


def _head_of_polars(frame: Any) -> _Head:
    names = frame.columns[:MOST_COLUMNS]
    rows = frame[:MOST_ROWS, :MOST_COLUMNS].rows()
    return _Head(names, [[*map(_cell, row)] for row in rows], frame.shape)


def _head_of_arrow(table: Any) -> _Head:
    first = table.slice(0, MOST_ROWS)
    columns = [first.column(i).to_pylist() for i in range(min(table.num_columns, MOST_COLUMNS))]
    rows = [[*map(_cell, row)] for row in zip(*columns, strict=True)]
    return _Head(table.column_names[:MOST_COLUMNS], rows, table.shape)


def _cell(value: Any) -> str:
    home, shape = type(value).__module__.partition(".")[0], getattr(value, "shape", None)
    if home == "numpy" and shape == ():
        value = value.item()
    is_scalar = isinstance(value, _PRINTED) or (home == "pandas" and shape is None)
    return str(value) if is_scalar else _item(value)


_PRINTED = (int, float, complex, date, time, timedelta, Decimal, type(None))
_TABLES = (
    ("pandas", "DataFrame", _head_of_pandas),
    ("pandas", "Series", _head_of_series),
    ("polars", "DataFrame", _head_of_polars),
    ("polars", "Series", lambda series: _head_of_polars(series.to_frame())),
    ("pyarrow", "Table", _head_of_arrow),
)


def _table(head: _Head) -> str:
    n_rows, n_columns = head.shape
    lines = [f"{count_text(n_rows, 'row')}, {count_text(n_columns, 'column')}"]
    if head.rows:
        columns = [Column(name, always=True) for name in head.names]
        lines += table_text(columns, head.rows, width=WIDTH).split("\n")
    if n_rows > len(head.rows):
        lines.append(f"… and {n_rows - len(head.rows):,} more")
    return "\n".join(lines)


def _items(data: list[object] | tuple[object, ...] | set[object]) -> str:
    return _lines([_item(value) for value in islice(data, MOST_ITEMS)], len(data))


def _item(value: object) -> str:
    if type(value) is str and value.isprintable():
        return value if len(value) <= MOST_CHARACTERS else f"{value[:MOST_CHARACTERS]}…"
    return preview_of(value)


def _lines(lines: list[str], total: int) -> str:
    more = [f"… and {total - len(lines):,} more"] if total > len(lines) else []
    return "\n".join([*lines, *more]) or "nothing"
