"""Which items of two sequences stand for each other: an insertion at the front moves the rest."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

_T = TypeVar("_T")
_BLOCK = 1024
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
    """How many items both begin with, and how many of the rest both end with.

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
    """How `before` becomes `after`, as few and long stretches; None if that takes too long.

    Parameters
    ----------
    limit
        Items between what both begin and end with, of each.

    Examples
    --------
    >>> [tuple(s) for s in stretches("bcd", "abcx", 10)]
    [(False, 0, 0, 0, 1), (True, 0, 2, 1, 3), (False, 2, 3, 3, 4)]
    """
    start, stop = ends(before, after)
    middle, new = before[start : len(before) - stop], after[start : len(after) - stop]
    found: list[Stretch] = []
    if middle and new:
        if max(len(middle), len(new)) > limit or _effort(middle, new) > _EFFORT:
            return None
        matcher = difflib.SequenceMatcher(None, middle, new, autojunk=False)
        found = [
            Stretch(tag == "equal", i1 + start, i2 + start, j1 + start, j2 + start)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        ]
    elif middle or new:
        found = [Stretch(False, start, start + len(middle), start, start + len(new))]
    if start:
        found.insert(0, Stretch(True, 0, start, 0, start))
    if stop:
        n, m = len(before), len(after)
        found.append(Stretch(True, n - stop, n, m - stop, m))
    return found


def _effort(before: Sequence[Hashable], after: Sequence[Hashable]) -> int:
    counts = Counter(after)
    return sum(n * counts[item] for item, n in Counter(before).items())
