"""Lessons of trials: how to write what the usual way loses something of, and what came back."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping

from nbckpt.runtime.weak_objects import WeakObjects

MOST_TIMES = 20
"""Times that new names are a reason for a trial; a class that took these in will take in more."""


class Ways:
    """Objects that no statement makes again, and members that a class leaves out of its pickles.

    Attributes
    ----------
    members
        Class → names of members that are written beside what it says itself.
    by_parts
        Values that are written as what they are, and not as a statement.
    """

    def __init__(self) -> None:
        self.members: weakref.WeakKeyDictionary[type, frozenset[str]] = weakref.WeakKeyDictionary()
        self.by_parts = WeakObjects()

    def add_members(self, kind: type, names: Iterable[str]) -> bool:
        """Have members be written; whether some are new."""
        known = self.members.get(kind, frozenset())
        self.members[kind] = known.union(names)
        return self.members[kind] != known


class Members:
    """Class → names that its objects had when they came back; one with others may not."""

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[type, set[str]] = weakref.WeakKeyDictionary()
        self._times: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()

    def are_new(self, members: Mapping[type, frozenset[str]]) -> bool:
        """True if some names of a class were not there before."""
        return any(
            not names <= self._names.get(kind, set()) and self._times.get(kind, 0) < MOST_TIMES
            for kind, names in members.items()
        )

    def add(self, members: Mapping[type, frozenset[str]]) -> None:
        """Take names in that came back."""
        for kind, names in members.items():
            known = self._names.setdefault(kind, set())
            if not names <= known and self._times.get(kind, 0) < MOST_TIMES:
                known |= names
                self._times[kind] = self._times.get(kind, 0) + 1
