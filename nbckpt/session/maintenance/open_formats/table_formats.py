"""Tables as Parquet, or as Arrow IPC where Parquet has no such type."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.errors import CaptureError, line_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.storage.new_folders import new_file
from nbckpt.storage.parquet_files import write_parquet
from nbckpt.text.describe import type_name_of
from nbckpt.types.pyarrow import UNNAMED


class Table(NamedTuple):
    """A data frame of pandas or polars, or an Arrow table.

    Attributes
    ----------
    note
        The differences to the value of which it was made.
    """

    table: Any
    note: str = ""


def table_of(value: Any) -> Table | None:
    """A value as a table; None if it is none."""
    if "pandas" in sys.modules and (found := _of_pandas(value)) is not None:
        return found
    kinds = (getattr(sys.modules.get(package), name, None) for package, name in _TABLES)
    is_table = any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)
    return Table(value) if is_table else None


def _of_pandas(value: Any) -> Table | None:
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        kind = type(value)
        return Table(value, "" if kind is pd.DataFrame else f"it is a {type_name_of(value)}")
    if isinstance(value, pd.Series):
        return Table(value.to_frame(UNNAMED if value.name is None else value.name), _SERIES)
    if isinstance(value, pd.MultiIndex):
        return Table(value.to_frame(index=False, allow_duplicates=True), _LEVELS)
    if isinstance(value, pd.Index):
        name = UNNAMED if value.name is None else value.name
        return Table(value.to_frame(index=False, name=name), _INDEX)
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return Table(pd.Series(value, name=UNNAMED).to_frame(), _ARRAY)
    return None


_SERIES = "it is a series, the one column of this table"
_INDEX = "it is an index, the one column of this table"
_LEVELS = "it is an index, and each column of this table one of its levels"
_ARRAY = "it is an array, the one column of this table"
_TABLES = (("polars", "DataFrame"), ("pyarrow", "Table"))


def write_parquet_of(found: Table, path: Path) -> str:
    """Write a table as Parquet; what a reader would not get back.

    Raises
    ------
    CaptureError
        If Parquet cannot hold it.
    StoreError
        If the disk refuses.
    """
    names = list(getattr(found.table, "column_names", ()))
    if len(set(names)) < len(names):
        message = "Parquet has no two columns of one name"
        raise CaptureError(message)
    changed = write_parquet(path, found.table)
    notes = [found.note] * bool(found.note)
    notes += [f"Parquet changes it: {changed}"] * bool(changed)
    notes += ["Arrow cannot read its types, polars can"] * (not _arrow_reads(path))
    return "; ".join(notes)


def _arrow_reads(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_schema(path)
    except (pa.ArrowException, OSError):
        return False
    return True


def write_arrow_of(found: Table, path: Path) -> str:
    """Write a table as a file of Arrow's IPC format; what a reader would not get back.

    Raises
    ------
    CaptureError
        If Arrow cannot hold it.
    StoreError
        If the disk refuses.
    """
    with new_file(path) as file:
        try:
            _write_arrow(found.table, file)
        except user_code_errors() as error:  # whatever a third party's column type raises
            if file.refusal:
                raise file.refusal from error
            message = f"neither Parquet nor Arrow can hold it: {line_of(error)}"
            raise CaptureError(message) from error
    return found.note


def _write_arrow(table: Any, file: Any) -> None:
    if hasattr(table, "write_ipc"):  # of polars
        import polars as pl

        table.write_ipc(file, compat_level=pl.CompatLevel.oldest())
        return
    import pyarrow as pa

    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    with pa.ipc.new_file(file, arrow.schema) as writer:
        writer.write_table(arrow)
