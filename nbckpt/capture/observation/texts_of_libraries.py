"""Texts about files in objects of libraries: tables, lazy frames, datasets, connections."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Any

from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.runtime.user_code_errors import user_code_errors


def column_items(value: Any, most: int) -> list[Any]:
    """The first texts and paths in a frame, column or array: of one more than `most` elements."""
    try:
        if hasattr(value, "select_dtypes"):
            value = value.select_dtypes(["object", "string"])
        if not hasattr(value, "dtype") and not hasattr(value, "columns"):
            return []
        if getattr(getattr(value, "dtype", None), "kind", "O") not in "OUT":
            return []
        first = value[: most + 1]
        array: Any = first.to_numpy() if hasattr(first, "to_numpy") else first
        items: list[Any] = array.ravel().tolist()
    except user_code_errors():  # whatever a library raises of its own object
        return []
    return [item for item in items if issubclass(type(item), str | PurePath)]


def _files_of_database(value: Any) -> list[str]:
    """The files of a connection, or of a cursor's, which goes on to give the rows it has."""
    sqlite3: Any = sys.modules["sqlite3"]
    cursor = sqlite3.Cursor(value.connection if isinstance(value, sqlite3.Cursor) else value)
    cursor.row_factory = None
    return [str(row[2]) for row in cursor.execute("PRAGMA database_list") if row[2]]


def texts_of(value: Any, most: int) -> list[str]:
    """Texts of a library's object about the files that it reads, later or again."""
    kind = type(value)
    package = module_of_class(kind).partition(".")[0]
    try:
        if package == "polars" and kind.__name__ == "LazyFrame":
            return [f"from {value.explain(optimized=False)}"]
        if package == "duckdb" and kind.__name__ == "DuckDBPyRelation":
            return [f"from {value.sql_query()}"]
        if package == "pyarrow" and hasattr(kind, "files"):
            return [str(path) for path in value.files[:most]]
        if package == "sqlite3":
            return _files_of_database(value)
        if package in ("numpy", "h5py", "netCDF4", "tables") and hasattr(kind, "filename"):
            return [str(value.filename)]
        np: Any = sys.modules.get("numpy")
        if np is not None and issubclass(type(value), np.memmap):
            return [str(value.filename)]
        if package == "xarray":
            return [str(value.encoding.get("source", ""))]
    except user_code_errors():  # whatever a library raises of its own object
        return []
    return []
