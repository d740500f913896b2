"""New objects that stand where old ones stood, when variables have been replaced.

A loop that goes on holds the objects it was given before its variables were brought back. Its
changes to those would be lost; it is given the ones that stand in their place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbckpt.fingerprint.values.plain import ATOMS

DEPTH = 8
"""Levels of containers of an item that are looked through."""


class Twins:
    """Old objects, and what stands at their places now.

    Parameters
    ----------
    old, new
        Name → value of the variables, before and after.
    """

    def __init__(self, old: Mapping[str, object], new: Mapping[str, object]) -> None:
        self._twins: dict[int, object] = {}
        self._arrays: list[tuple[Any, Any]] = []
        self._keep = dict(old)
        names = [n for n in old if n in new]
        self._walk((old[n], new[n]) for n in names)

    def of(self, item: Any, depth: int = DEPTH) -> Any:
        """`item`, with what stands now for each old object inside; itself if it holds none."""
        if not self._twins or type(item) in ATOMS or depth < 0:
            return item
        if id(item) in self._twins:
            return self._twins[id(item)]
        if type(item) in {list, tuple}:
            parts = [self.of(part, depth - 1) for part in item]
            return item if all(map(_is, parts, item)) else type(item)(parts)
        if type(item) is dict:
            values = [self.of(part, depth - 1) for part in item.values()]
            is_same = all(map(_is, values, item.values()))
            return item if is_same else dict(zip(item, values, strict=True))
        return self._of_view(item) if _is_array(item) else item

    def _of_view(self, view: Any) -> Any:
        """The same part of the array that stands for the one whose memory `view` lies on."""
        for old, new in self._arrays if view.base is not None else ():
            offset = view.ctypes.data - old.ctypes.data
            if 0 <= offset < max(old.nbytes, 1):
                return type(new)(view.shape, view.dtype, new, offset, view.strides)
        return view

    def _walk(self, roots: Iterable[tuple[object, object]]) -> None:
        waiting = list(roots)
        while waiting:
            old, new = waiting.pop()
            if old is new or type(old) in ATOMS or id(old) in self._twins:
                continue
            if type(old) is not type(new) and not _are_of_one_class(old, new):
                continue
            self._twins[id(old)] = new
            if _is_array(old) and _can_stand_for(new, old):
                self._arrays.append((old, new))
            waiting.extend(_parts(old, new))


def _parts(old: Any, new: Any) -> Iterator[tuple[object, object]]:
    """Pairs of objects at the same places inside two objects of one type."""
    if isinstance(old, list | tuple):
        yield from zip(old, new, strict=False)  # a loop may have added some
    elif isinstance(old, dict):
        yield from ((value, new[key]) for key, value in old.items() if key in new)
    attributes = getattr(old, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(old, type):
        now = getattr(new, "__dict__", {})
        yield from ((value, now[name]) for name, value in attributes.items() if name in now)
    for base in type(old).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(old, name) and hasattr(new, name):
                yield getattr(old, name), getattr(new, name)


def _are_of_one_class(old: object, new: object) -> bool:
    """True if two objects are of the same class, which was perhaps brought back as well."""
    return type(old).__qualname__ == type(new).__qualname__ and not isinstance(old, type)


def _can_stand_for(new: Any, old: Any) -> bool:
    """True if a part of an array lies at the same offset in the other."""
    is_plain = old.flags.c_contiguous and new.flags.c_contiguous
    return is_plain and (new.shape, new.dtype) == (old.shape, old.dtype)


def _is(one: object, other: object) -> bool:
    return one is other


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray
