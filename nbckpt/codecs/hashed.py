"""Dicts and sets whose keys hash by what they hold: a node in the sets of its neighbours.

Pickle fills a container while the object that is a key of it, and leads to it, has no attributes
yet. Its `__hash__` raises then; or it tells something else than it will, so that the key is not
found any more, or one key is taken for another. Then all is loaded again while such objects hash
by their identity, and the containers are filled anew when all objects are there, and the names that
code of the notebook may ask for: its `__hash__` may name a class that comes back with its objects.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
    TracebackType,
)
from typing import Any, TypeAlias

from nbckpt.values.raw import elements_of, member_of_class

MOST_OBJECTS = 5_000_000
_CODE_OF_KEYS = ("__hash__", "__eq__")
_MOST_ROUNDS = 3
"""How often all are filled: what one hashes to may depend on another."""

_TUPLES_REMEMBER = sys.version_info >= (3, 14)
_LEAVES = frozenset({type(None), bool, int, float, complex, str, bytes})
_NO_HOLDERS = (type, FunctionType, ModuleType, CodeType, FrameType, BuiltinFunctionType)
_MAPS = (OrderedDict, dict)
_HASHING = (*_MAPS, set, frozenset)
_Container: TypeAlias = tuple[Any, Any, list[Any]]
_OF_MAPS = frozenset({int, float, str, bytes, type(None), bool})
"""Keys that are found wherever they were put."""


def has_own_hash(value: Any) -> bool:
    """True for a class whose objects hash by code of Python."""
    if not issubclass(type(value), type):
        return False
    found = member_of_class(value, "__hash__")
    return type(found) is FunctionType and found.__module__ != "enum"  # there from the beginning


def of_a_key(error: BaseException) -> type | None:
    """The class in whose code a key was hashed or compared when that raised; None elsewhere."""
    at: TracebackType | None = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_name in _CODE_OF_KEYS and code.co_varnames:
            return type(at.tb_frame.f_locals.get(code.co_varnames[0]))
        at = at.tb_next
    return None


class Hashing:
    """The ways objects of some classes hash while values are loaded.

    Attributes
    ----------
    kinds
        The classes.
    was_asked
        Whether one was hashed.

    Parameters
    ----------
    by_identity
        Whether they hash and compare by their identity, and not by their code.
    """

    def __init__(self, kinds: Iterable[type] = (), *, by_identity: bool = False) -> None:
        self.kinds: list[type] = []
        self.was_asked = False
        self._by_identity = by_identity
        self._before: list[dict[str, Any]] = []
        for kind in kinds:
            self.add(kind)

    def add(self, kind: type) -> None:
        """Have objects of one more class hash so, if they hash by code of Python."""
        if not has_own_hash(kind) or any(kind is one for one in self.kinds):
            return
        own = type.__getattribute__(kind, "__dict__")
        usual = member_of_class(kind, "__hash__")

        def told(value: Any) -> int:
            self.was_asked = True
            return int(usual(value))

        names = _CODE_OF_KEYS if self._by_identity else _CODE_OF_KEYS[:1]
        self.kinds.append(kind)
        self._before.append({name: own.get(name, _NOTHING) for name in names})
        for name in names:
            type.__setattr__(kind, name, getattr(object, name) if self._by_identity else told)

    def end(self) -> None:
        """Have all hash as their classes say."""
        for kind, members in zip(self.kinds, self._before, strict=True):
            for name, member in members.items():
                if member is _NOTHING:
                    type.__delattr__(kind, name)
                else:
                    type.__setattr__(kind, name, member)
        self._before = []


_NOTHING = object()


def are_found(values: Iterable[object]) -> bool:
    """True if all keys of dicts and sets inside are found where they are."""
    return not _wrongly_filled(values)


def fill_anew(values: Iterable[object]) -> None:
    """Fill dicts and sets by what their keys hash to now.

    Raises
    ------
    TypeError
        If something that cannot be filled holds such a key: a frozenset, or what remembers a hash.
    """
    values = [*values]
    left = _wrongly_filled(values)
    for _ in range(_MOST_ROUNDS):
        for base, holder, keys in left:
            _fill(base, holder, keys)
        left = [one for one in _wrongly_filled(values) if _tells_hashes(one[1])]
        if not left:
            return
    base, _, keys = left[0]
    held = next(filter(has_own_hash, map(type, keys)), type(keys[0])).__name__
    message = f"a {base.__name__} of it is found by the hash of a {held!r} that leads to it"
    raise TypeError(message)


def _wrongly_filled(values: Iterable[object]) -> list[_Container]:
    """Containers in which a key is not where its hash says, and those of which nobody can tell."""
    return [one for one in _containers_in(values) if not _is_filled(*one)]


def _is_filled(base: Any, holder: Any, keys: list[Any]) -> bool:
    if not _tells_hashes(holder):
        return False
    if base is dict:
        # A dict finds a key itself by luck, too; a set compares what both hash to. So made, it
        # has the hashes that the dict has: no key is hashed.
        base, holder = set, set(dict.copy(holder))
    return all(not _is_stale(key) and base.__contains__(holder, key) for key in keys)


def _fill(base: Any, holder: Any, keys: list[Any]) -> None:
    if base is set:
        set.clear(holder)
        set.update(holder, map(_fresh, keys))
    elif base is not frozenset:
        if base is OrderedDict:  # a loop over it looks its keys up; this does not
            pairs = [OrderedDict.popitem(holder, last=False) for _ in keys]
        else:
            pairs = [*dict.items(holder)]
        base.clear(holder)
        for key, value in pairs:
            base.__setitem__(holder, _fresh(key), value)


def _tells_hashes(holder: Any) -> bool:
    """True if a copy of it has the hashes that it has; else the copy is made of what it gives."""
    kind = type(holder)
    return not issubclass(kind, dict) or member_of_class(kind, "__iter__") is dict.__iter__


def _containers_in(values: Iterable[object]) -> list[_Container]:
    """Containers that hash what they hold: the type that they are of, they, and their keys.

    Level by level, each in a few calls into C; those whose keys are found for sure are left out.
    """
    found: list[_Container] = []
    seen: set[int] = set()
    roots = [*values]
    level: list[Any] = [item for item in roots if not issubclass(type(item), type)]
    for kind in roots:
        if issubclass(type(kind), type):  # a class of the notebook: what it holds
            level += type.__getattribute__(kind, "__dict__").values()
    while level and len(seen) < MOST_OBJECTS:
        kinds = set(map(type, level))
        passed = {k for k in kinds if k in _LEAVES or issubclass(k, _NO_HOLDERS)}
        level = [item for item in level if type(item) not in passed and id(item) not in seen]
        level = [*{id(item): item for item in level}.values()]
        seen.update(map(id, level))
        hashing = {k: base for k in kinds for base in reversed(_HASHING) if issubclass(k, base)}
        for holder in level if hashing else ():
            if (base := hashing.get(type(holder))) is None:
                continue
            keys = [k for k, _ in dict.items(holder)] if base in _MAPS else elements_of(holder)
            if not all(map(_hashes_by_identity, {*map(type, keys)} - _OF_MAPS)):
                found.append((base, holder, keys))
        level = gc.get_referents(*level)
    return found


def _hashes_by_identity(kind: type) -> bool:
    return member_of_class(kind, "__hash__") is object.__hash__


def _is_stale(key: Any) -> bool:
    """True if a key remembers a hash that it had before."""
    kind = type(key)
    if issubclass(kind, weakref.ref):
        target = weakref.ref.__call__(key)
        return target is not None and weakref.ref.__hash__(key) != hash(target)
    if not issubclass(kind, tuple):
        return False
    items = elements_of(key)
    if _TUPLES_REMEMBER and tuple.__hash__(key) != hash((*items,)):
        return True
    return any(map(_is_stale, items))


def _fresh(key: Any) -> Any:
    """A key that remembers no hash, where there is one that is the same."""
    kind = type(key)
    if kind is frozenset:
        return key if _is_filled(frozenset, key, [*key]) else frozenset(map(_fresh, key))
    if not issubclass(kind, tuple):
        return key
    items = elements_of(key)
    fresh = [*map(_fresh, items)]
    if not _is_stale(key) and all(one is other for one, other in zip(items, fresh, strict=True)):
        return key
    made = tuple.__new__(kind, fresh)
    if hasattr(key, "__dict__"):
        made.__dict__.update(key.__dict__)
    return made
