"""Two tables of polars or Arrow side by side; their rows are matched by position."""

from __future__ import annotations

import sys
from typing import Any

from nbckpt.reports.diff.columns import (
    Columns,
    Key,
    Pair,
    differing_objects,
    numbered,
    place_text,
    rows_text,
)
from nbckpt.reports.diff.details import Limits
from nbckpt.runtime.user_code_errors import user_code_errors


def pair_of_polars(before: Any, after: Any, _: Limits) -> Pair | None:
    """Two frames or series of polars side by side, else None; a lazy frame is no values yet."""
    polars = sys.modules["polars"]
    for kind in (getattr(polars, name, ()) for name in ("DataFrame", "Series")):
        if isinstance(before, kind) and isinstance(after, kind):
            return PolarsPair(before, after)
    return None


def pair_of_arrow(before: Any, after: Any, _: Limits) -> Pair | None:
    """Two tables, batches or arrays of Arrow side by side, else None."""
    arrow = sys.modules["pyarrow"]
    kinds = [getattr(arrow, n, ()) for n in ("Table", "RecordBatch", "ChunkedArray", "Array")]
    for kind in kinds:
        if isinstance(before, kind) and isinstance(after, kind):
            return ArrowPair(before, after)
    return None


class _ByPosition(Columns):
    def __init__(self, before: Any, after: Any, old: dict[Key, Any], new: dict[Key, Any]) -> None:
        self._old, self._new = old, new
        self.n_common = min(len(before), len(after))
        self.facts = rows_text(len(before), len(after))

    def place(self, key: Key, row: int) -> str:
        """The way to a cell, as one would write it."""
        return place_text(key[0], row)


class PolarsPair(_ByPosition):
    """Two frames or series of polars."""

    def __init__(self, before: Any, after: Any) -> None:
        super().__init__(before, after, _polars_columns(before), _polars_columns(after))
        self.old_dtypes = {k: str(s.dtype) for k, s in self._old.items()}
        self.new_dtypes = {k: str(s.dtype) for k, s in self._new.items()}
        names = [getattr(v, "name", None) for v in (before, after)]
        self.facts += [f"name {names[0]!r} → {names[1]!r}"] * (names[0] != names[1])

    def is_slow(self, key: Key) -> bool:
        """True if Python has to compare this column's values one by one."""
        dtypes = self._old[key].dtype, self._new[key].dtype
        return "Object" in map(str, dtypes) or dtypes[0] != dtypes[1]

    def differing(self, key: Key, start: int, stop: int, wanted: int) -> tuple[int, list[int]]:
        """Number of these rows that differ, and the first of them, counted from `start`."""
        one, other = (s[key].slice(start, stop - start) for s in (self._old, self._new))
        if not self.is_slow(key):
            try:
                found = one.ne_missing(other)
                return int(found.sum()), found.arg_true().head(wanted).to_list()
            except user_code_errors():  # types whose values polars does not compare
                pass
        return differing_objects(one.to_list(), other.to_list(), wanted)

    def cells(self, key: Key, row: int) -> tuple[object, object]:
        """The two values at one place."""
        return self._old[key][row], self._new[key][row]


def _polars_columns(value: Any) -> dict[Key, Any]:
    if not hasattr(value, "get_columns"):
        return {(None, 0): value}
    columns = value.get_columns()
    return dict(zip(numbered([c.name for c in columns]), columns, strict=True))


class ArrowPair(_ByPosition):
    """Two tables or arrays of Arrow."""

    def __init__(self, before: Any, after: Any) -> None:
        super().__init__(before, after, _arrow_columns(before), _arrow_columns(after))
        self.old_dtypes = {k: str(c.type) for k, c in self._old.items()}
        self.new_dtypes = {k: str(c.type) for k, c in self._new.items()}
        schemas = [getattr(v, "schema", None) for v in (before, after)]
        notes = [getattr(s, "metadata", None) for s in schemas]
        self.facts += ["other metadata"] * (notes[0] != notes[1])

    def is_slow(self, key: Key) -> bool:
        """True if Python has to compare this column's values one by one."""
        types = sys.modules["pyarrow"].types
        return any(
            types.is_nested(c.type) or types.is_dictionary(c.type)
            for c in (self._old[key], self._new[key])
        )

    def differing(self, key: Key, start: int, stop: int, wanted: int) -> tuple[int, list[int]]:
        """Number of these rows that differ, and the first of them, counted from `start`."""
        one, other = (c[key].slice(start, stop - start) for c in (self._old, self._new))
        if not self.is_slow(key):
            try:
                return _compared(one, other, wanted)
            except user_code_errors():  # types that Arrow does not compare with each other
                pass
        return differing_objects(one.to_pylist(), other.to_pylist(), wanted)

    def cells(self, key: Key, row: int) -> tuple[object, object]:
        """The two values at one place."""
        return self._old[key][row].as_py(), self._new[key][row].as_py()


def _compared(one: Any, other: Any, wanted: int) -> tuple[int, list[int]]:
    import pyarrow.compute as pc

    empty = one.is_null(), other.is_null()
    unequal = pc.fill_null(pc.not_equal(one, other), False)
    if sys.modules["pyarrow"].types.is_floating(one.type):
        both = pc.and_(pc.fill_null(pc.is_nan(one), False), pc.fill_null(pc.is_nan(other), False))
        unequal = pc.and_not(unequal, both)
    found = pc.or_(unequal, pc.xor(*empty))
    count = pc.sum(found).as_py() or 0
    first = pc.indices_nonzero(found).slice(0, wanted).to_pylist() if count else []
    return int(count), first


def _arrow_columns(value: Any) -> dict[Key, Any]:
    if not hasattr(value, "column_names"):
        return {(None, 0): value}
    return dict(zip(numbered(value.column_names), value.columns, strict=True))
