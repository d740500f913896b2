"""Tables that neither Parquet nor Arrow holds, made into some that both do: with text columns."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbckpt.errors import CaptureError
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.maintenance.open_formats.table_formats import Table, write_parquet_of


def write_plain_parquet_of(found: Table, path: Path) -> str:
    """Write a table as Parquet, what Parquet cannot hold as text; what a reader would not get back.

    Raises
    ------
    CaptureError
        If Parquet cannot hold it even so.
    StoreError
        If the disk refuses.
    """
    return write_parquet_of(_plain(found), path)


def _plain(found: Table) -> Table:
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(found.table, pandas.DataFrame):
        table, notes = _plain_pandas(found.table)
    elif polars is not None and isinstance(found.table, polars.DataFrame):
        table, notes = _plain_polars(found.table)
    else:
        message = "Parquet cannot hold it, and it has no columns that could be text"
        raise CaptureError(message)
    return Table(table, "; ".join(filter(None, (found.note, *notes))))


def _plain_pandas(frame: Any) -> tuple[Any, list[str]]:
    import pandas as pd

    labels = [str(label) for label in frame.columns]
    names = _numbered(labels)
    columns, filled, texts = [], [], []
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.sparse.to_dense()
            filled.append(name)
        if not _is_held(column):
            column = pd.Series(_texts(column), index=column.index, dtype=object)
            texts.append(name)
        columns.append(column)
    made: Any = pd.DataFrame(dict(enumerate(columns)), index=frame.index)
    made.columns = names
    made.attrs = frame.attrs
    notes = [_told("sparse columns are filled", filled), _told("columns are text", texts)]
    if names != labels:
        notes.append("columns of one name are numbered")
    if made.index.nlevels == 1 and not _is_held(made.index.to_series()):
        made.index = pd.Index(_texts(made.index), name=made.index.name, dtype=object)
        notes.append("its index is text")
    return made, notes


def _plain_polars(frame: Any) -> tuple[Any, list[str]]:
    import polars as pl

    objects = [name for name, dtype in frame.schema.items() if dtype.is_object()]
    as_text = [pl.Series(n, _texts(frame[n].to_list()), dtype=pl.String) for n in objects]
    return frame.with_columns(as_text), [_told("columns are text", objects)]


def _is_held(column: Any) -> bool:
    """True if Arrow has a type for the values of a column of pandas."""
    import pyarrow as pa

    try:
        pa.array(column, from_pandas=True)
    except user_code_errors():  # whatever a third party's column type raises
        return False
    return True


def _texts(values: Iterable[Any]) -> list[str | None]:
    """Values as text, as `str` gives it; None for those that are missing."""
    pandas: Any = sys.modules.get("pandas")
    missing = (None, pandas.NA, pandas.NaT) if pandas is not None else (None,)
    return [
        None if any(value is one for one in missing) or _is_nan(value) else str(value)
        for value in values
    ]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _numbered(labels: Iterable[str]) -> list[str]:
    """Labels of which no two are one: `a`, `a.1`, `a.2`."""
    found: list[str] = []
    taken: set[str] = set()
    for label in labels:
        name, number = label, 0
        while name in taken:
            number += 1
            name = f"{label}.{number}"
        taken.add(name)
        found.append(name)
    return found


def _told(what: str, names: list[str]) -> str:
    return f"{what}: {', '.join(names)}" if names else ""
