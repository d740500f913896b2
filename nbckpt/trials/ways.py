"""What trials have taught: how values are written that the usual way loses something of."""

from __future__ import annotations

import weakref
from collections.abc import Iterable


class Ways:
    """Objects that no statement makes again, and members that a class leaves out of its pickles.

    Attributes
    ----------
    members
        Class → names of members that are written beside what it says itself.
    """

    def __init__(self) -> None:
        self.members: weakref.WeakKeyDictionary[type, frozenset[str]] = weakref.WeakKeyDictionary()
        self._by_parts: dict[int, weakref.ref[object]] = {}

    def keep_by_parts(self, value: object) -> None:
        """Have a value be written as what it is from now on, and not as a statement."""
        place = id(value)
        try:
            self._by_parts[place] = weakref.ref(value, lambda _: self._by_parts.pop(place, None))
        except TypeError:  # nothing can refer to it weakly: it is tried each time
            return

    def is_by_parts(self, value: object) -> bool:
        """Whether that is so of a value."""
        known = self._by_parts.get(id(value))
        return known is not None and known() is value

    def add_members(self, kind: type, names: Iterable[str]) -> bool:
        """Have members be written; whether some are new."""
        known = self.members.get(kind, frozenset())
        self.members[kind] = known.union(names)
        return self.members[kind] != known
