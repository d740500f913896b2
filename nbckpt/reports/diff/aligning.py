"""Alignment of the items of two sequences: an insertion at the front moves the rest."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

_T = TypeVar("_T")
_BLOCK = 1024
_MOST = 500_000
"""Items of one side, past which none are matched."""
_EFFORT = 4_000_000
"""Pairs of equal items that are looked at, at most; some tenths of a second."""


class Stretch(NamedTuple):
    """``before[i1:i2]`` stands where ``after[j1:j2]`` does; equal, or not."""

    is_equal: bool
    i1: int
    i2: int
    j1: int
    j2: int


def ends(before: Sequence[_T], after: Sequence[_T]) -> tuple[int, int]:
    """Number of items that both begin with, and of those of the rest that both end with.

    Examples
    --------
    >>> ends("abcxyz", "abdyz"), ends("aa", "aaa"), ends("", "a")
    ((2, 2), (2, 0), (0, 0))
    """
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start : start + _BLOCK] == after[start : start + _BLOCK]:
        start += _BLOCK
    start = min(start, shorter)
    while start < shorter and before[start] == after[start]:
        start += 1
    stop = 0
    while stop < shorter - start and before[-1 - stop] == after[-1 - stop]:
        stop += 1
    return start, stop


def stretches(
    before: Sequence[Hashable], after: Sequence[Hashable], limit: int
) -> list[Stretch] | None:
    """Stretches that turn `before` into `after`, few and long; None if that takes too long.

    Parameters
    ----------
    limit
        Maximum number of items of either between two matched ones.

    Examples
    --------
    >>> [tuple(s) for s in stretches("bcd", "abcx", 10)]
    [(False, 0, 0, 0, 1), (True, 0, 2, 1, 3), (False, 2, 3, 3, 4)]

    Notes
    -----
    difflib's matcher is quadratic. In long sequences, items that each has once are matched first,
    as many as stand in one order, and the matcher is given the parts between those.
    """
    start, stop = ends(before, after)
    n, m = len(before) - stop, len(after) - stop
    found = [Stretch(True, 0, start, 0, start)]
    old, new = before[start:n], after[start:m]
    anchors = _anchors(old, new) if max(len(old), len(new)) > limit else []
    i = j = 0
    for at, there, length in [*_runs(anchors), (len(old), len(new), 0)]:
        between = _matched(old[i:at], new[j:there], limit)
        if between is None:
            return None
        equal = Stretch(True, at - i, at - i + length, there - j, there - j + length)
        found += [_moved(s, start + i, start + j) for s in (*between, equal)]
        i, j = at + length, there + length
    found.append(Stretch(True, n, len(before), m, len(after)))
    return _joined(found)


def _runs(anchors: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring pairs as one: where they begin, and how many they are."""
    runs: list[tuple[int, int, int]] = []
    for i, j in anchors:
        at, there, length = runs[-1] if runs else (-1, -1, 0)
        if (i - at, j - there) == (length, length):
            runs[-1] = at, there, length + 1
        else:
            runs.append((i, j, 1))
    return runs


def _matched(old: Sequence[Hashable], new: Sequence[Hashable], limit: int) -> list[Stretch] | None:
    if not old or not new:
        return [Stretch(False, 0, len(old), 0, len(new))]
    if max(len(old), len(new)) > limit or _effort(old, new) > _EFFORT:
        return None
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [Stretch(tag == "equal", *places) for tag, *places in matcher.get_opcodes()]


def _moved(s: Stretch, by: int, by_new: int) -> Stretch:
    return Stretch(s.is_equal, s.i1 + by, s.i2 + by, s.j1 + by_new, s.j2 + by_new)


def _joined(found: Iterable[Stretch]) -> list[Stretch]:
    """Stretches without the empty ones, and with neighbours of one kind as one."""
    joined: list[Stretch] = []
    for s in found:
        if s.i1 == s.i2 and s.j1 == s.j2:
            continue
        if joined and joined[-1].is_equal == s.is_equal:
            joined[-1] = joined[-1]._replace(i2=s.i2, j2=s.j2)
        else:
            joined.append(s)
    return joined


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Places of items that both have once, as many as stand in one order (patience diff)."""
    if max(len(old), len(new)) > _MOST:
        return []
    once = [{x for x, n in Counter(items).items() if n == 1} for items in (old, new)]
    common = once[0] & once[1]
    there = {item: j for j, item in enumerate(new) if item in common}
    pairs = [(i, there[item]) for i, item in enumerate(old) if item in common]
    # The longest increasing subsequence: of each length, the run that ends lowest.
    ends_at: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        length = bisect_left(ends_at, j)
        before.append(last[length - 1] if length else -1)
        ends_at[length : length + 1] = [j]
        last[length : length + 1] = [k]
    found = []
    k = last[-1] if last else -1
    while k >= 0:
        found.append(pairs[k])
        k = before[k]
    return found[::-1]


def _effort(before: Sequence[Hashable], after: Sequence[Hashable]) -> int:
    counts = Counter(after)
    return sum(n * counts[item] for item, n in Counter(before).items())
