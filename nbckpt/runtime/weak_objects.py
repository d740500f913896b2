"""A set of objects by what they are, not by what they equal, which keeps none of them alive."""

from __future__ import annotations

import weakref
from contextlib import suppress


class WeakObjects:
    """Objects, as long as they live; what cannot be referred to weakly is never one of them."""

    def __init__(self) -> None:
        self._found: dict[int, weakref.ref[object]] = {}

    def add(self, value: object) -> None:
        """Take an object in."""
        place = id(value)
        with suppress(TypeError):
            self._found[place] = weakref.ref(value, lambda _: self._found.pop(place, None))

    def __contains__(self, value: object) -> bool:
        known = self._found.get(id(value))
        return known is not None and known() is value
