"""Two frames, series or indexes of pandas, their rows matched by label where that is possible."""

from __future__ import annotations

import sys
from typing import Any

from nbckpt.reports.diff.array_elements import differing
from nbckpt.reports.diff.columns import (
    Columns,
    Key,
    Pair,
    differing_objects,
    numbered,
    rows_text,
)
from nbckpt.reports.diff.details import Limits
from nbckpt.reports.diff.value_texts import told
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.units import count_text

MATCHED = 3_000_000
"""Rows whose labels are matched; of more, rows are compared by position."""

_ONE_BY_ONE = frozenset({"mixed", "decimal", "complex", "categorical", "interval", "period"})


def pair_of_pandas(before: Any, after: Any, _: Limits) -> Pair | None:
    """Two objects of pandas side by side; None if they are of different kinds, or not pandas'."""
    pandas = sys.modules["pandas"]
    for kind in (getattr(pandas, name, ()) for name in ("DataFrame", "Series", "Index")):
        if isinstance(before, kind) and isinstance(after, kind):
            return PandasPair(before, after)
    return None


class PandasPair(Columns):
    """Two objects of pandas whose rows have been matched."""

    def __init__(self, before: Any, after: Any) -> None:
        pandas = sys.modules["pandas"]
        self._is_frame = isinstance(before, pandas.DataFrame)
        self._is_index = isinstance(before, pandas.Index)
        self._old, self._new = _columns_of(before), _columns_of(after)
        self.old_dtypes = {k: str(s.dtype) for k, s in self._old.items()}
        self.new_dtypes = {k: str(s.dtype) for k, s in self._new.items()}
        self.facts = _names(before, after)
        self._labels: Any = None
        self._at: tuple[Any, Any] | None = None
        self.n_common = min(len(before), len(after))
        if self._is_index:
            self.facts += rows_text(len(before), len(after))
            self._match_values(before, after)
        else:
            self._match(before.index, after.index)

    def _match_values(self, before: Any, after: Any) -> None:
        """Of an index, a label that is in both is no difference, wherever it stands."""
        if len(before) != len(after) and (at := _common_labels(before, after)):
            self._at, self.n_common = at, len(at[0])

    def _match(self, before: Any, after: Any) -> None:
        self._labels = before
        if _are_same_index(before, after) or _is_range_of(before, after):
            self.facts += rows_text(len(before), len(after))
            return
        at = _common_labels(before, after)
        if at is None:
            self.facts += rows_text(len(before), len(after))
            self.facts.append("other row labels: rows are compared by position")
            self._labels = None
            return
        n = len(at[0])
        for gone, what in ((len(after) - n, "added"), (len(before) - n, "removed")):
            if gone:
                self.facts.append(f"{count_text(gone, 'row')} {what}")
        if self.facts and len(before) != len(after):
            self.facts[-1] += f" ({len(before):,} → {len(after):,})"
        if len(before) == len(after) == n:
            self.facts.append("rows in another order")
        self._at, self.n_common = at, n

    def _part(self, side: int, key: Key, start: int, stop: int) -> Any:
        column = (self._old, self._new)[side][key]
        if self._at is None:
            return column[start:stop] if self._is_index else column.iloc[start:stop]
        return column.take(self._at[side][start:stop])

    def is_slow(self, key: Key) -> bool:
        """True if Python has to compare this column's values one by one."""
        dtypes = self._old[key].dtype, self._new[key].dtype
        return any(d.kind == "O" and not hasattr(d, "na_value") for d in dtypes)

    def differing(self, key: Key, start: int, stop: int, wanted: int) -> tuple[int, list[int]]:
        """Number of these rows that differ, and the first of them, counted from `start`."""
        numpy = sys.modules["numpy"]
        one, other = self._part(0, key, start, stop), self._part(1, key, start, stop)
        mask = _mask(one, other)
        if mask is None:
            return differing_objects(list(one), list(other), wanted)
        count = int(numpy.count_nonzero(mask))
        return count, [int(i) for i in numpy.flatnonzero(mask)[:wanted]] if count else []

    def cells(self, key: Key, row: int) -> tuple[object, object]:
        """The two values at one place."""
        one, other = (self._part(side, key, row, row + 1) for side in (0, 1))
        return (one[0], other[0]) if self._is_index else (one.iloc[0], other.iloc[0])

    def place(self, key: Key, row: int) -> str:
        """The way to a cell, as one would write it."""
        if self._is_index:
            return f"[{row}]"
        old_row = row if self._at is None else int(self._at[0][row])
        if self._labels is None or not self._labels.is_unique:
            return f"{f'[{told(key[0], 60)}]' if self._is_frame else ''}.iloc[{old_row}]"
        label = told(self._labels[old_row], 40)
        return f".loc[{label}, {told(key[0], 60)}]" if self._is_frame else f".loc[{label}]"


def _columns_of(value: Any) -> dict[Key, Any]:
    pandas = sys.modules["pandas"]
    if not isinstance(value, pandas.DataFrame):
        return {(None, 0): value}
    keys = numbered(list(value.columns))
    return {key: value.iloc[:, i] for i, key in enumerate(keys)}


def _names(before: Any, after: Any) -> list[str]:
    """Differences between the names of the labels, and of the series itself."""
    facts = []
    pairs = [("name", before, after)]
    if hasattr(before, "index"):
        pairs.append(("index", before.index, after.index))
    for what, *pair in pairs:
        names = [getattr(v, "names", [getattr(v, "name", None)]) for v in pair]
        texts = [", ".join(told(n, 40) for n in n_list) for n_list in names]
        if texts[0] != texts[1]:
            facts.append(f"{what} {texts[0]} → {texts[1]}")
    return facts


def _are_same_index(before: Any, after: Any) -> bool:
    try:
        return len(before) == len(after) and bool(before.equals(after))
    except user_code_errors():  # labels whose comparison raises
        return False


def _is_range_of(before: Any, after: Any) -> bool:
    """True if both count their rows from the same number on."""
    kind = sys.modules["pandas"].RangeIndex
    if not isinstance(before, kind) or not isinstance(after, kind):
        return False
    return bool((before.start, before.step) == (after.start, after.step))


def _common_labels(before: Any, after: Any) -> tuple[Any, Any] | None:
    """The positions of the labels that both have, in each; None if they do not tell rows apart."""
    is_number = all(v.dtype.kind in "iufmM" for v in (before, after))
    if max(len(before), len(after)) > (MATCHED if is_number else MATCHED // 4):
        return None
    try:
        if not before.is_unique or not after.is_unique:
            return None
        found = after.get_indexer(before)
    except user_code_errors():  # labels without a hash or an order
        return None
    numpy = sys.modules["numpy"]
    there = numpy.flatnonzero(found >= 0)
    return (there, found[there]) if len(there) else None


def _mask(one: Any, other: Any) -> Any:
    """Mask of the differing values of two columns; None if they must be compared one by one."""
    numpy, pandas = sys.modules["numpy"], sys.modules["pandas"]
    if isinstance(one.dtype, numpy.dtype) and isinstance(other.dtype, numpy.dtype):
        if one.dtype.kind != "O" and other.dtype.kind != "O":
            return differing(one.to_numpy(), other.to_numpy())
        inferred = {pandas.api.types.infer_dtype(s, skipna=True) for s in (one, other)}
        if len(inferred) > 1 or inferred & _ONE_BY_ONE or "mixed" in next(iter(inferred)):
            return None
    if isinstance(one.dtype, pandas.CategoricalDtype) or isinstance(
        other.dtype, pandas.CategoricalDtype
    ):
        return _mask_of_categories(one, other)
    try:
        empty = numpy.asarray(one.isna()), numpy.asarray(other.isna())
        compared = one.array != other.array
        if hasattr(compared, "to_numpy"):
            compared = compared.to_numpy(bool, na_value=False)
        unequal = numpy.asarray(compared, bool)
    except user_code_errors():  # types that cannot be compared with each other
        return None
    return (empty[0] != empty[1]) | (unequal & ~empty[0] & ~empty[1])


def _mask_of_categories(one: Any, other: Any) -> Any:
    try:
        plain = [_without_categories(column) for column in (one, other)]
    except ValueError:  # empty ones among whole numbers
        return None
    return None if plain[0].dtype != plain[1].dtype else _mask(*plain)


def _without_categories(column: Any) -> Any:
    is_categorical = isinstance(column.dtype, sys.modules["pandas"].CategoricalDtype)
    return column.astype(column.dtype.categories.dtype) if is_categorical else column
