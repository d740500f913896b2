"""The place of a call among its equals, where a step goes through items.

A call of an item is known by the item and by how many equal ones that item began before, so that
neither the order in which threads come, nor items that were finished in an earlier run, nor new
ones between them shift anything. Its number within the step is one that no other item has: without
items, as when a loop is written in another way, the same calls are found by that.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple, Protocol


class Counts(Protocol):
    """Gives equal calls numbers, and takes those back of calls that have no answer."""

    def reserve(self, key: str, /) -> int:
        """The first number that none has."""

    def give_back(self, key: str, n: int, /) -> None:
        """Have the next equal call take `n`."""


class EqualCalls:
    """Numbers of equal calls, in the order in which they begin, for threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: Counter[str] = Counter()
        self._given_back: dict[str, list[int]] = {}

    def reserve(self, key: str) -> int:
        """Number of equal calls that began before, of those that were or may be answered.

        Reserved when a call begins, so that equal calls in flight at once differ.
        """
        with self._lock:
            if free := self._given_back.get(key):
                return heappop(free)
            self._next[key] += 1
            return self._next[key] - 1

    def give_back(self, key: str, n: int) -> None:
        """Note that a call was not answered: the next equal one, a retry, stands in its place."""
        with self._lock:
            heappush(self._given_back.setdefault(key, []), n)

    def repeated(self, most: int) -> dict[str, int]:
        """Number of times begun, for the most frequent calls that began more than once."""
        with self._lock:
            return {key: n for key, n in self._next.most_common(most) if n > 1}

    def begun(self) -> dict[str, int]:
        """Number of times begun, for all calls: for `go_on`."""
        with self._lock:
            return dict(self._next)

    def go_on(self, begun: Mapping[str, int]) -> None:
        """Count on where an earlier run was, whose first calls are not made again."""
        with self._lock:
            self._next |= Counter(begun)


class ItemCounts(Counts, Protocol):
    """Gives equal calls of one item numbers; of a step outside of its items, those of the step."""

    @property
    def item(self) -> str:
        """The item; empty outside of items."""


class KnownOccurrences(Protocol):
    """The kept calls that are equal to one call."""

    def number_of(self, item: str, nth: int) -> int | None:
        """The number within the step of this item's `nth` call; None if it is not kept."""

    def owner_of(self, number: int) -> str:
        """The item of this step whose call has a number; empty if it is of none."""


class Occurrence(NamedTuple):
    """The place of a call.

    Attributes
    ----------
    number
        How many equal calls the step began before.
    item
        To which it belongs; empty if to none.
    nth
        How many equal calls the item began before.
    """

    number: int
    item: str = ""
    nth: int = 0
    is_found: bool = False

    def give_back(self, key: str, within: ItemCounts | None, counts: Counts) -> None:
        """Note that it has no answer: the next equal call stands in its place."""
        if not self.is_found:
            counts.give_back(key, self.number)
        if self.item and within is not None:
            within.give_back(key, self.nth)


def occurrence_of(
    key: str, within: ItemCounts | None, counts: Counts, known: KnownOccurrences
) -> Occurrence:
    """The place of a call that begins now.

    Parameters
    ----------
    within
        Of the step or item to which it belongs; None if the step goes through no items.
    counts
        Of the step.
    """
    if within is None:
        return Occurrence(counts.reserve(key))
    item = within.item
    nth = within.reserve(key) if item else 0
    if item and (number := known.number_of(item, nth)) is not None:
        return Occurrence(number, item, nth, is_found=True)
    number = counts.reserve(key)
    while known.owner_of(number):
        number = counts.reserve(key)
    return Occurrence(number, item, nth)
