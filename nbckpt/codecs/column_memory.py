"""Columns of Arrow and polars over the memory of an array, over which they come back.

Both take the memory of an array as it is: who changes the array in place changes the column. What
lies on memory of its own is written as the libraries say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.types import polars as of_polars

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_Reducer = Callable[["NamespacePickler", Any], Any]


def reducer_for(kind: type) -> _Reducer | None:
    """The reducer for buffers of Arrow, and columns and frames of polars; None for others."""
    pyarrow, polars = sys.modules.get("pyarrow"), sys.modules.get("polars")
    if pyarrow is not None and kind is getattr(pyarrow, "Buffer", None):
        return _reduce_buffer
    if polars is not None and kind is getattr(polars, "Series", None):
        return _reduce_series
    if polars is not None and kind is getattr(polars, "DataFrame", None):
        return _reduce_frame
    return None


def _reduce_buffer(pickler: NamespacePickler, buffer: Any) -> Any:
    array = pickler.scope.bytes_of([(buffer.address, buffer.size)])
    if array is None:
        return NotImplemented
    if not buffer.is_mutable:
        array.flags.writeable = False
    pickler.keep(array)
    return sys.modules["pyarrow"].py_buffer, (array,)


def _reduce_frame(pickler: NamespacePickler, frame: Any) -> Any:
    columns = frame.get_columns()
    if not any(_lies_on_array(pickler, series) for series in columns):
        return NotImplemented
    pickler.keep(columns)
    return of_polars.frame_from, (columns,)


def _reduce_series(pickler: NamespacePickler, series: Any) -> Any:
    if not _lies_on_array(pickler, series):
        return NotImplemented
    chunks = [chunk.to_arrow() for chunk in series.get_chunks()]
    arguments = series.name, chunks, _order_of(series.flags)
    back = column_from(*arguments)
    if back.dtype != series.dtype or not _lies_on_array(pickler, back):  # it was converted
        return NotImplemented
    pickler.keep(chunks)
    return column_from, arguments


def _lies_on_array(pickler: NamespacePickler, series: Any) -> bool:
    return pickler.scope.bytes_of(of_polars.memory_of_series(series)) is not None


def _order_of(flags: dict[str, bool]) -> str:
    return next((name for name in ("SORTED_ASC", "SORTED_DESC") if flags.get(name)), "")


def column_from(name: str, chunks: list[Any], order: str) -> Any:
    """A series over the memory of Arrow's arrays.

    Parameters
    ----------
    order
        The flag of polars that says how it is sorted; empty if it says nothing.
    """
    import polars
    import pyarrow

    series = polars.from_arrow(pyarrow.chunked_array(chunks), rechunk=False).alias(name)
    return series.set_sorted(descending=order == "SORTED_DESC") if order else series
