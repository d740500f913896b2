"""Tables and their columns: rows, columns and their types, and which cells differ."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from nbckpt.reports.diff.columns import Pair
from nbckpt.reports.diff.details import (
    Detail,
    Limits,
    Line,
    Row,
    same,
    share_text,
)
from nbckpt.reports.diff.value_texts import cut, told, told_apart
from nbckpt.text.units import count_text

BLOCK = 1 << 19
"""Rows that are compared at once."""
CELLS = 10


def detail(before: Any, after: Any, limits: Limits) -> Detail | None:
    """Differences between two tables or series of one kind; None for other values."""
    pair = pair_of(before, after, limits)
    if pair is None:
        return None
    lines = list(_of_columns(pair))
    n_facts = len(lines) + len(pair.facts)
    counts, cells, is_all = _of_cells(pair, limits)
    looked_at = _looked_at(pair, limits)
    for name, (n_differing, n_rows) in counts.items():
        if n_differing:
            share = share_text(n_differing, n_rows)
            of = count_text(n_rows, "cell")
            lines.append(Line("@", f"{told_name(name)}: {n_differing:,} of {of} differ ({share})"))
    if not n_facts and is_all and not any(n for n, _ in counts.values()):
        return same("frame")
    shown = tuple(Line(s, cut(t, limits.line_characters)) for s, t in lines[: limits.lines])
    summary = "; ".join([*pair.facts, *_summary(pair, counts), *looked_at])
    n_cells = sum(n for n, _ in counts.values())
    return Detail("frame", summary, tuple(cells), shown, more=n_cells - len(cells))


def told_name(name: object) -> str:
    """A column's name in a sentence."""
    return f"column {told(name, 60)}" if name is not None else "values"


def _of_columns(pair: Pair) -> Iterator[Line]:
    for key in pair.removed:
        yield Line("-", f"{told_name(pair.label(key))} {pair.old_dtypes[key]}")
    for key in pair.added:
        yield Line("+", f"{told_name(pair.label(key))} {pair.new_dtypes[key]}")
    if pair.is_reordered:
        yield Line("@", "the columns stand in another order")
    for key in pair.common:
        if pair.old_dtypes[key] != pair.new_dtypes[key]:
            dtypes = f"{pair.old_dtypes[key]} → {pair.new_dtypes[key]}"
            yield Line("@", f"{told_name(pair.label(key))}: {dtypes}")


def _rows_compared(pair: Pair, key: Any, limits: Limits) -> int:
    """Number of rows of a column that the limits allow to compare."""
    if pair.is_slow(key):
        return limits.objects // max(3, sum(map(pair.is_slow, pair.common)))
    return limits.compared_bytes // (8 * max(1, len(pair.common)))


def _ranges(n_rows: int, room: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows: all, or as many as there is room for, evenly spread.

    Examples
    --------
    >>> list(_ranges(10, 100)), list(_ranges(100, 8))[:2]
    ([(0, 10)], [(0, 1), (13, 14)])
    """
    size = max(1, min(BLOCK, room // 8)) if n_rows > room else BLOCK
    every = size if n_rows <= room else max(size, -(-n_rows * size // max(room, 1)))
    for start in range(0, n_rows, every):
        yield start, min(start + size, n_rows)


def _of_cells(pair: Pair, limits: Limits) -> tuple[dict[Any, tuple[int, int]], list[Row], bool]:
    """Per column how many cells differ of how many, a sample of them, and whether all were seen."""
    counts: dict[Any, tuple[int, int]] = {}
    found: dict[Any, list[int]] = {}
    is_all = True
    for key in pair.common:
        n_differing = n_rows = 0
        rows: list[int] = []
        for start, stop in _ranges(pair.n_common, _rows_compared(pair, key, limits)):
            n, first = pair.differing(key, start, stop, CELLS - len(rows))
            n_differing += n
            n_rows += stop - start
            rows += [start + i for i in first]
        is_all &= n_rows == pair.n_common
        counts[pair.label(key)] = n_differing, n_rows
        found[key] = rows
    return counts, list(_sample(pair, found, limits)), is_all


def _sample(pair: Pair, found: dict[Any, list[int]], limits: Limits) -> Iterator[Row]:
    """A few differing cells, of as many columns as there are."""
    n_columns = sum(map(bool, found.values()))
    each = max(1, CELLS // max(1, n_columns))
    picked = [(row, key) for key, rows in found.items() for row in rows[:each]]
    for row, key in picked[:CELLS]:
        before, after = pair.cells(key, row)
        yield Row(pair.place(key, row), *told_apart(before, after, limits.characters))


def _summary(pair: Pair, counts: dict[Any, tuple[int, int]]) -> Iterator[str]:
    for n, what in ((len(pair.added), "added"), (len(pair.removed), "removed")):
        if n:
            yield f"{count_text(n, 'column')} {what}"
    dtypes = sum(pair.old_dtypes[k] != pair.new_dtypes[k] for k in pair.common)
    if dtypes:
        yield f"{count_text(dtypes, 'column')} of another type"
    if pair.is_reordered:
        yield "columns in another order"
    n_cells = sum(n for n, _ in counts.values())
    n_columns = sum(n > 0 for n, _ in counts.values())
    if n_cells and list(counts) == [None]:
        yield f"{count_text(n_cells, 'value')} {'differs' if n_cells == 1 else 'differ'}"
    elif n_cells:
        yield (
            f"{count_text(n_cells, 'cell')} in {count_text(n_columns, 'column')}"
            f" {'differs' if n_cells == 1 else 'differ'}"
        )


def _looked_at(pair: Pair, limits: Limits) -> Iterator[str]:
    rooms = [_rows_compared(pair, key, limits) for key in pair.common]
    cut_off = [room for room in rooms if room < pair.n_common]
    if cut_off:
        yield f"of {len(cut_off)} columns a sample of {min(cut_off):,} rows was compared"


def pair_of(before: Any, after: Any, limits: Limits) -> Pair | None:
    """The two side by side if they are tables or series of one kind, else None."""
    for package, made in _PACKAGES.items():
        if package in sys.modules and (pair := made()(before, after, limits)):
            return pair
    return None


def _pandas() -> Callable[[Any, Any, Limits], Pair | None]:
    from nbckpt.reports.diff.pandas_columns import pair_of_pandas

    return pair_of_pandas


def _polars() -> Callable[[Any, Any, Limits], Pair | None]:
    from nbckpt.reports.diff.arrow_columns import pair_of_polars

    return pair_of_polars


def _arrow() -> Callable[[Any, Any, Limits], Pair | None]:
    from nbckpt.reports.diff.arrow_columns import pair_of_arrow

    return pair_of_arrow


_PACKAGES = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
