"""Names of members that objects of a class had when it was tried: another one may not come back."""

from __future__ import annotations

import weakref
from collections.abc import Mapping

MOST_TIMES = 20
"""How often new names are a reason for a trial; a class that took these in will take in more."""


class Members:
    """Class → names that its objects had when they came back as they were."""

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[type, set[str]] = weakref.WeakKeyDictionary()
        self._times: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()

    def are_new(self, members: Mapping[type, frozenset[str]]) -> bool:
        """Whether some names of a class were not there before."""
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
