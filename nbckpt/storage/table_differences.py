"""Differences between a table and the one that comes back from its Parquet file, to the bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def _difference_pandas(frame: pd.DataFrame, back: pd.DataFrame) -> str:
    if frame.flags.allows_duplicate_labels != back.flags.allows_duplicate_labels:
        return "its flags are lost"
    if frame.attrs and not is_json(frame.attrs):
        return "its attrs are not JSON"
    if frame.attrs != back.attrs:
        return "its attrs change"
    for what, ours, theirs in (
        ("column labels", frame.columns, back.columns),
        ("index", frame.index, back.index),
    ):
        if difference := _difference_index(ours, theirs):
            return f"its {what}: {difference}"
    for i, label in enumerate(frame.columns):
        if difference := _difference_array(frame.iloc[:, i].array, back.iloc[:, i].array):
            return f"column {label!r}: {difference}"
    return ""


def _difference_index(ours: Any, theirs: Any) -> str:
    if type(ours) is not type(theirs):
        return f"{type(ours).__name__} comes back as {type(theirs).__name__}"
    if list(ours.names) != list(theirs.names):
        return "names change"
    if ours.nlevels > 1:
        pairs = zip(ours.levels, theirs.levels, strict=True)
        differences = (_difference_index(a, b) for a, b in pairs)
        same_codes = all(map(_same_bits, ours.codes, theirs.codes))
        return next(filter(None, differences), "" if same_codes else "its codes change")
    for trait in ("start", "step", "freq"):
        if getattr(ours, trait, None) != getattr(theirs, trait, None):
            return f"{trait} is lost"
    return _difference_array(ours.array, theirs.array)


def _difference_array(ours: Any, theirs: Any) -> str:
    if repr(ours.dtype) != repr(theirs.dtype) or type(ours) is not type(theirs):
        return f"{ours.dtype} comes back as {theirs.dtype}"
    if hasattr(ours, "categories"):
        if difference := _difference_index(ours.categories, theirs.categories):
            return f"categories: {difference}"
        return "" if _same_bits(ours.codes, theirs.codes) else "codes change"
    if type(ours).__name__ == "NumpyExtensionArray":
        return _difference_numpy(ours.to_numpy(), theirs.to_numpy())
    return "" if ours.equals(theirs) else "values change"


def _difference_numpy(ours: Any, theirs: Any) -> str:
    if ours.dtype != object:
        return "" if _same_bits(ours, theirs) else "bits change"
    if not all(type(x) is str for x in ours):
        return "holds Python objects"
    return "" if list(ours) == list(theirs) else "values change"


def _same_bits(ours: Any, theirs: Any) -> bool:
    import numpy as np

    a, b = np.ascontiguousarray(ours), np.ascontiguousarray(theirs)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return np.array_equal(a.view(np.uint8), b.view(np.uint8))


def _difference_polars(frame: pl.DataFrame, back: pl.DataFrame) -> str:
    if frame.schema != back.schema:
        changed = [n for n in frame.columns if frame.schema[n] != back.schema.get(n)]
        return f"column {changed[0]!r} changes its type" if changed else "its columns change"
    return "" if frame.equals(back, null_equal=True) else "values change"


def _difference_arrow(table: pa.Table, back: pa.Table) -> str:
    if not table.schema.equals(back.schema, check_metadata=True):
        return "its schema changes"
    for name, ours, theirs in zip(table.column_names, table.columns, back.columns, strict=True):
        if not _same_column(ours, theirs):
            return f"column {name!r}: values change, or NaN inside keeps them from being compared"
    return ""


def _same_column(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    if ours.equals(theirs):
        return True
    if not pa.types.is_floating(ours.type) or ours.type.bit_width < 32:
        return False
    bits = pa.int64() if ours.type.bit_width == 64 else pa.int32()
    a, b = (pa.chunked_array([c.view(bits) for c in x.chunks], bits) for x in (ours, theirs))
    return bool(a.equals(b))  # as bits, because NaN is not equal to itself


def is_json(value: object) -> bool:
    """True if JSON gives a value back as it is."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


DIFFERENCES: dict[str, Callable[[Any, Any], str]] = {
    "pandas": _difference_pandas,
    "polars": _difference_polars,
    "pyarrow": _difference_arrow,
}
"""Kind of table → the first difference between two of that kind; empty if there is none."""
