"""polars: frames and series, also those that hold Python objects.

polars itself refuses to write these: it has no form for objects outside the process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from nbckpt.types.adapter import TypeAdapter
from nbckpt.types.pyarrow import UNNAMED, digest_of_arrow

# -- pickled


def _reduce_series(series: Any) -> Any:
    polars = sys.modules["polars"]
    if type(series) is not polars.Series or series.dtype != polars.Object:
        return NotImplemented
    return series_from, (series.name, series.to_list())


def _reduce_frame(frame: Any) -> Any:
    polars = sys.modules["polars"]
    if type(frame) is not polars.DataFrame or polars.Object not in frame.dtypes:
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


# -- digested


def _parts_of_frame(frame: Any) -> list[object]:
    return [frame.shape, *(part for column in frame for part in _parts_of_series(column))]


def _parts_of_series(series: Any) -> list[object]:
    if "Object" in repr(series.dtype):
        return [series.name, repr(series.dtype), series.to_list()]
    # Only these are handed over as they lie; the others are converted, into memory of its own.
    is_text = repr(series.dtype) in ("String", "Binary")
    lasts = is_text or series.dtype.is_numeric() or series.dtype.is_temporal()
    level = sys.modules["polars"].CompatLevel.newest() if is_text else None
    column = series.to_arrow(compat_level=level)
    digest = digest_of_arrow(column, lasts=lasts and series.n_chunks() == 1)
    return [series.name, repr(series.dtype), digest]


LEAST_BYTES = 1 << 20
"""Smaller ones are written as quickly as they are looked at."""


def _look_at_frame(frame: Any) -> list[object] | None:
    if type(frame) is not sys.modules["polars"].DataFrame or frame.estimated_size() < LEAST_BYTES:
        return None
    return _looks_at([*frame.get_columns()])


def _look_at_series(series: Any) -> list[object] | None:
    if type(series) is not sys.modules["polars"].Series or series.estimated_size() < LEAST_BYTES:
        return None
    return _looks_at([series])


def _looks_at(columns: list[Any]) -> list[object] | None:
    """All that polars would write of some columns; None if one of them is converted for a look."""
    if not all(map(_lies_as_in_arrow, columns)):
        return None
    return [[s.flags, s.chunk_lengths(), len(s), _parts_of_series(s)] for s in columns]


def _lies_as_in_arrow(series: Any) -> bool:
    kind = series.dtype
    is_text = repr(kind) in ("String", "Binary")
    return bool(series.n_chunks() == 1 and (is_text or kind.is_numeric() or kind.is_temporal()))


# -- where they lie


def _memory_of_frame(frame: Any) -> Iterator[tuple[int, int]]:
    for series in frame.get_columns():
        yield from memory_of_series(series)


def memory_of_series(series: Any) -> Iterator[tuple[int, int]]:
    """Addresses and sizes of the buffers of numbers, as polars hands them over; none of texts."""
    kind = series.dtype
    is_flat = kind.is_numeric() or kind.is_temporal()
    if not is_flat and not kind.is_nested() and repr(kind) != "Boolean":
        return
    if is_flat and series.n_chunks() == 1 and not series.null_count():
        try:  # in half the time
            array = series.to_numpy(allow_copy=False)
        except RuntimeError:  # NumPy has no such type
            pass
        else:
            yield array.__array_interface__["data"][0], array.nbytes
            return
    for chunk in series.get_chunks():
        try:
            buffers = chunk.to_arrow().buffers()
        except sys.modules["pyarrow"].ArrowException:  # Arrow has no such type, either
            continue
        for buffer in buffers:
            if buffer is not None:
                yield buffer.address, buffer.size


def _untold(_: Any) -> None:
    """A plan over frames, which shows none of them."""


# -- exported


def _table_of_series(series: Any) -> tuple[object, str]:
    note = "it is a series, the one column of this table"
    return series.to_frame(series.name or UNNAMED), note


ADAPTERS = (
    TypeAdapter(
        ("polars.dataframe.frame:DataFrame",),
        reduce=_reduce_frame,
        digest=_parts_of_frame,
        look=_look_at_frame,
        memory=_memory_of_frame,
    ),
    TypeAdapter(
        ("polars.series.series:Series",),
        reduce=_reduce_series,
        digest=_parts_of_series,
        look=_look_at_series,
        memory=memory_of_series,
        export=_table_of_series,
    ),
    TypeAdapter(("polars.lazyframe.frame:LazyFrame",), is_immutable=True, memory=_untold),
    TypeAdapter(
        (
            "polars.expr.expr:Expr",
            "polars.datatypes.classes:DataType",
        ),
        is_immutable=True,
    ),
)
