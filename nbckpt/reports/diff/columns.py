"""Two tables of pandas, polars or Arrow side by side, column by column and in ranges of rows."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any, Protocol, TypeAlias

from nbckpt.reports.diff.nested_values import are_equal
from nbckpt.reports.diff.parts import keyed
from nbckpt.reports.diff.value_texts import is_equal, is_scalar, told

Key: TypeAlias = tuple[Hashable, int]
"""A column's name, and which of those of this name it is."""


class Pair(Protocol):
    """Two tables whose rows have been matched.

    Attributes
    ----------
    old_dtypes, new_dtypes
        Column → its type, in the order in which they stand.
    n_common
        Rows that both have.
    facts
        What differs beside the cells: rows that were added, labels.
    """

    old_dtypes: dict[Key, str]
    new_dtypes: dict[Key, str]
    n_common: int
    facts: list[str]

    def is_slow(self, key: Key) -> bool:
        """True if Python has to compare this column's values one by one."""

    def differing(self, key: Key, start: int, stop: int, wanted: int) -> tuple[int, list[int]]:
        """Number of these rows that differ, and the first of them, counted from `start`."""

    def cells(self, key: Key, row: int) -> tuple[object, object]:
        """The two values at one place."""

    def place(self, key: Key, row: int) -> str:
        """The way to a cell, as one would write it."""

    @property
    def common(self) -> list[Key]:
        """Columns that both have."""

    @property
    def added(self) -> list[Key]:
        """Columns of the second table alone."""

    @property
    def removed(self) -> list[Key]:
        """Columns of the first table alone."""

    @property
    def is_reordered(self) -> bool:
        """True if the columns that both have stand in another order."""

    def label(self, key: Key) -> Hashable:
        """The name of a column."""


class Columns:
    """Base of all pairs: the columns of both tables, and of one alone."""

    old_dtypes: dict[Key, str]
    new_dtypes: dict[Key, str]

    @property
    def common(self) -> list[Key]:
        """Columns that both have."""
        return [key for key in self.old_dtypes if key in self.new_dtypes]

    @property
    def added(self) -> list[Key]:
        """Columns of the second table alone."""
        return [key for key in self.new_dtypes if key not in self.old_dtypes]

    @property
    def removed(self) -> list[Key]:
        """Columns of the first table alone."""
        return [key for key in self.old_dtypes if key not in self.new_dtypes]

    @property
    def is_reordered(self) -> bool:
        """True if the columns that both have stand in another order."""
        return self.common != [key for key in self.new_dtypes if key in self.old_dtypes]

    def label(self, key: Key) -> Hashable:
        """The name of a column."""
        return key[0]


def numbered(names: Sequence[Hashable]) -> list[Key]:
    """Names, each with how many stand before it that are equal.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    [('a', 0), ('b', 0), ('a', 1)]
    """
    seen: dict[Hashable, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        found.append((name, seen[name]))
    return found


def rows_text(before: int, after: int) -> list[str]:
    """Number of rows added or removed, in words; an empty list if there are none.

    Examples
    --------
    >>> rows_text(1000, 1200), rows_text(3, 2), rows_text(1, 1)
    (['200 rows added (1,000 → 1,200)'], ['1 row removed (3 → 2)'], [])
    """
    if before == after:
        return []
    gap = abs(after - before)
    what = "added" if after > before else "removed"
    return [f"{gap:,} {'row' if gap == 1 else 'rows'} {what} ({before:,} → {after:,})"]


def differing_objects(
    before: Sequence[Any], after: Sequence[Any], wanted: int
) -> tuple[int, list[int]]:
    """Number of values that differ, and places of the first of them; compared one by one."""

    def is_same(one: Any, other: Any) -> bool:
        if one is other or (is_missing(one) and is_missing(other)):
            return True
        if is_scalar(one) or is_scalar(other):
            return is_equal(one, other)
        keys = keyed(one)[0], keyed(other)[0]
        return keys[0] == keys[1] is not None or are_equal(one, other)

    pairs = enumerate(zip(before, after, strict=True))
    found = [i for i, (one, other) in pairs if not is_same(one, other)]
    return len(found), found[:wanted]


def is_missing(value: object) -> bool:
    """True if a cell is empty: None, not-a-number, pandas' NA or NaT."""
    if value is None:
        return True
    if isinstance(value, float):
        return value != value  # not-a-number
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def place_text(name: object, row: object) -> str:
    """The way to a cell by position: ``['price'][3]``."""
    return f"[{row}]" if name is None else f"[{told(name, 60)}][{row}]"
