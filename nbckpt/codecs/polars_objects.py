"""Series of polars that hold Python objects, and frames with such columns.

polars itself refuses to write these: it has no form for objects outside the process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """The reducer for series and frames of type `kind`; None for anything else."""
    polars = sys.modules.get("polars")
    if polars is None or not hasattr(polars, "DataFrame"):
        return None
    if kind is polars.Series:
        return _reduce_series
    return _reduce_frame if kind is polars.DataFrame else None


def _reduce_series(_: object, series: Any) -> Any:
    if series.dtype != sys.modules["polars"].Object:
        return NotImplemented
    return series_from, (series.name, series.to_list())


def _reduce_frame(_: object, frame: Any) -> Any:
    if sys.modules["polars"].Object not in frame.dtypes:
        return NotImplemented
    return frame_from, (frame.get_columns(),)


def series_from(name: str, values: list[object]) -> Any:
    """A series of objects."""
    import polars

    return polars.Series(name, values, dtype=polars.Object)


def frame_from(columns: list[Any]) -> Any:
    """A frame of these columns."""
    import polars

    return polars.DataFrame(columns)
