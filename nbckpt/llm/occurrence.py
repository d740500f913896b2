"""The place of a call among its equals, where a step goes through items.

A call of an item is known by the item and by how many equal ones that item began before, so that
neither the order in which threads come, nor items that were finished in an earlier run, nor new
ones between them shift anything. Its number within the step is one that no other item has: without
items, as when a loop is written in another way, the same calls are found by that.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol


class FailingCall(Protocol):
    """A call that may turn out to have no answer."""

    after: str

    def fail(self) -> None:
        """Note that it has none."""


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
        self._ahead: dict[str, set[int]] = {}

    def reserve(self, key: str, *, but: Callable[[int], bool] | None = None) -> int:
        """Number of equal calls that began before, of those that were or may be answered.

        Reserved when a call begins, so that equal calls in flight at once differ.

        Parameters
        ----------
        but
            Tells which numbers are left for others.
        """
        with self._lock:
            free = self._given_back.get(key, [])
            if but is None and free:
                return heappop(free)
            if but is not None and (left := [n for n in free if not but(n)]):
                return self._taken(key, min(left))
            number, ahead = self._next[key], self._ahead.get(key, ())
            while number in ahead or (but is not None and but(number)):
                number += 1
            return self._taken(key, number)

    def take(self, key: str, numbers: Iterable[int]) -> int | None:
        """The first of some numbers that none has; None if all are taken."""
        with self._lock:
            begun, ahead = self._next[key], self._ahead.get(key, ())
            free = self._given_back.get(key, ())
            for number in numbers:
                if number in free or (number >= begun and number not in ahead):
                    return self._taken(key, number)
        return None

    def _taken(self, key: str, number: int) -> int:
        if number < self._next[key]:
            free = self._given_back[key]
            free.remove(number)
            heapify(free)
            return number
        if number > self._next[key]:
            self._ahead.setdefault(key, set()).add(number)
            return number
        ahead = self._ahead.get(key, set())
        self._next[key] += 1
        while self._next[key] in ahead:
            ahead.remove(self._next[key])
            self._next[key] += 1
        return number

    def give_back(self, key: str, n: int) -> None:
        """Note that a call was not answered: the next equal one, a retry, stands in its place."""
        with self._lock:
            if n in (ahead := self._ahead.get(key, set())):
                ahead.remove(n)
            else:
                heappush(self._given_back.setdefault(key, []), n)

    def repeated(self, most: int) -> dict[str, int]:
        """Number of times begun, for the most frequent calls that began more than once."""
        with self._lock:
            return {key: n for key, n in self._begun().most_common(most) if n > 1}

    def begun(self) -> dict[str, int]:
        """Number of times begun, for all calls: for `go_on`."""
        with self._lock:
            return dict(self._begun())

    def _begun(self) -> Counter[str]:
        return self._next | Counter({key: max(n) + 1 for key, n in self._ahead.items() if n})

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
    call
        What the next call of its task or thread follows, where that tells equal ones apart.
    """

    number: int
    item: str = ""
    nth: int = 0
    is_found: bool = False
    call: FailingCall | None = None

    @property
    def after(self) -> str:
        """The call that its task or thread made before it; empty if none, or if none asks."""
        return "" if self.call is None else self.call.after

    def give_back(self, key: str, within: ItemCounts | None, counts: Counts) -> None:
        """Note that it has no answer: the next equal call stands in its place."""
        if self.call is not None:
            self.call.fail()
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
