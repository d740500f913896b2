"""What trials have taught: how values are written that the usual way loses something of."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from nbckpt.weak_objects import WeakObjects


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
