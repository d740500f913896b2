"""Objects that a library holds, where what a restore has built takes their place."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.fingerprint.reachability import referents_of
from nbckpt.fingerprint.referents import held_by, is_leaf
from nbckpt.fingerprint.values.plain import ATOMS

MOST = 20_000
"""Objects to walk; what holds more is left as it is, and may hold anything."""

_OPAQUE = (type, logging.Logger, logging.Manager)


class Replacement:
    """New objects for old ones.

    Parameters
    ----------
    pairs
        Old and new values; an old one of another kind than its new one is not replaced. Of their
        parts none is: what is at the same place now may be another one (`l.insert(0, x)`).
    """

    def __init__(self, pairs: Iterable[tuple[object, object]]) -> None:
        pairs = [(old, new) for old, new in pairs if old is not new]
        self._new_of = {
            id(old): (old, new)
            for old, new in pairs
            if type(old).__qualname__ == type(new).__qualname__
            and type(old) not in (*ATOMS, tuple)
            and not isinstance(old, (ModuleType, logging.Logger))
        }
        self._pairs = pairs

    def of(self, value: Any) -> Any:
        """Replacement of a value, of a method of one, or of a tuple with one; else `value`."""
        if id(value) in self._new_of:
            return self._new_of[id(value)][1]
        if type(value) is MethodType and id(value.__self__) in self._new_of:
            return getattr(self.of(value.__self__), value.__func__.__name__, value)
        if type(value) is tuple:
            parts = tuple(map(self.of, value))
            return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
        return value

    def put_into(self, holders: Iterable[object]) -> None:
        """Have `holders`, and what these hold, hold the new objects; they stay what they are.

        Parameters
        ----------
        holders
            Lists, dicts, functions and instances.
        """
        waiting = list(holders) if self._new_of else []
        seen: dict[int, object] = {id(new): new for _, new in self._new_of.values()}
        while waiting and len(seen) < MOST:
            holder = waiting.pop()
            if id(holder) in seen or is_leaf(holder) or isinstance(holder, _OPAQUE):
                continue
            seen[id(holder)] = holder
            for key, member in _members(holder):
                new = self.of(member)
                if new is member:
                    waiting.append(member)
                else:
                    _put(holder, key, new)

    def misses(self, holders: Iterable[object], namespace: object) -> bool:
        """True if `holders` would hold an old object all the same: in a set, say, or a partial."""
        old = held_by([old for old, _ in self._pairs], namespace)
        kept = held_by([new for _, new in self._pairs], namespace)
        if old is None or kept is None:
            return bool(list(holders))
        wanted = {*old, *(id(value) for value, _ in self._pairs)} - kept.keys()
        waiting = list(holders)
        seen: dict[int, object] = {id(namespace): namespace}
        while waiting and len(seen) < MOST:
            holder = waiting.pop()
            if id(holder) in wanted and type(holder) not in ATOMS:
                return True
            if id(holder) in seen or is_leaf(holder):
                continue
            seen[id(holder)] = holder
            waiting += self._left(holder)
        return bool(waiting)

    def _left(self, holder: Any) -> Iterator[object]:
        """Objects that an object holds, but for those that are replaced in it."""
        handled = {id(getattr(holder, "__dict__", None))}
        for _, member in _members(holder):
            handled.add(id(member))
            if self.of(member) is member or type(holder) is tuple:
                yield member
        if type(holder) is MethodType:
            yield holder.__func__
        elif type(holder) not in {FunctionType, list, tuple, dict}:
            yield from (held for held in referents_of(holder) if id(held) not in handled)


def _members(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Members that are held directly, each after its key."""
    kind = type(holder)
    if kind in {list, tuple}:
        yield from enumerate(holder)
    elif kind is dict:
        yield from list(holder.items())
    elif kind is FunctionType:
        for place, cell in enumerate(holder.__closure__ or ()):
            try:
                yield ("closure", place), cell.cell_contents
            except ValueError:  # it is empty
                continue
        yield ("defaults", 0), holder.__defaults__
        yield ("keywords", 0), holder.__kwdefaults__
        yield from list(vars(holder).items())
    elif kind is MethodType:
        yield "__self__", holder.__self__
    else:
        yield from list(getattr(holder, "__dict__", {}).items())


def _put(holder: Any, key: Any, new: Any) -> None:
    kind = type(holder)
    if kind is FunctionType and type(key) is tuple:
        what, place = key
        if what == "closure":
            holder.__closure__[place].cell_contents = new
        elif what == "defaults":
            holder.__defaults__ = new
        else:
            holder.__kwdefaults__ = new
    elif kind in {list, dict}:
        holder[key] = new
    elif kind not in {tuple, MethodType}:
        vars(holder)[key] = new
