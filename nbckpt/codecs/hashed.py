"""Dicts and sets whose keys hash by what they hold: a node in the sets of its neighbours.

Pickle fills a container while the object that is a key of it, and leads to it, has no attributes
yet. Its `__hash__` raises then; or it tells something else than it will, so that the key is not
found any more, or one key is taken for another. Then all is loaded again while such objects hash
by their identity, and the containers are filled anew when all objects are there.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
    TracebackType,
)
from typing import Any

from nbckpt.values.raw import elements_of

MOST_OBJECTS = 5_000_000
_CODE_OF_KEYS = ("__hash__", "__eq__")
_LEAVES = frozenset({type(None), bool, int, float, complex, str, bytes})
_NO_HOLDERS = (type, FunctionType, ModuleType, CodeType, FrameType, BuiltinFunctionType)
_MAPS = (OrderedDict, dict)
_HASHING = (*_MAPS, set, frozenset)
_TEXT = frozenset({str})


def has_own_hash(value: object) -> bool:
    """Whether a value is a class whose objects hash by code of Python."""
    if not issubclass(type(value), type):
        return False
    found = _of_class(value, "__hash__")
    return type(found) is FunctionType and found.__module__ != "enum"  # there from the beginning


def _of_class(kind: Any, name: str) -> Any:
    members = (type.__getattribute__(base, "__dict__") for base in _bases_of(kind))
    return next((own[name] for own in members if name in own), None)


def _bases_of(kind: Any) -> tuple[type, ...]:
    bases: tuple[type, ...] = type.__getattribute__(kind, "__mro__")
    return bases


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
    """How objects of some classes hash while values are loaded.

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
        usual = _of_class(kind, "__hash__")

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


def are_found(values: Iterable[object], kinds: Iterable[type]) -> bool:
    """Whether all keys of dicts and sets inside are found where they are.

    Parameters
    ----------
    kinds
        The classes of the keys that are looked for.
    """
    wanted = frozenset(kinds)
    return all(
        base.__contains__(holder, key)
        for base, holder, keys in _containers_in(values)
        if any(_is_of(key, wanted) for key in keys)
        for key in keys
    )


def fill_anew(values: Iterable[object]) -> None:
    """Fill dicts and sets whose keys hash by code of Python by what these hash to now.

    Raises
    ------
    TypeError
        If it is a set that cannot be filled.
    """
    found = [one for one in _containers_in(values) if any(map(_hashes_by_code, one[2]))]
    for base, holder, keys in found:
        if base is frozenset:
            if all(base.__contains__(holder, key) for key in keys):
                continue
            message = "a frozenset of it holds an object that leads to this set and has no hash yet"
            raise TypeError(message)
        if base is set:
            set.clear(holder)
            set.update(holder, keys)
            continue
        if base is OrderedDict:  # a loop over it looks its keys up; this does not
            pairs = [OrderedDict.popitem(holder, last=False) for _ in keys]
        else:
            pairs = [*dict.items(holder)]
        base.clear(holder)
        for key, value in pairs:
            base.__setitem__(holder, key, value)


def _containers_in(values: Iterable[object]) -> Iterator[tuple[Any, Any, list[Any]]]:
    """Containers that hash what they hold: the type that they are of, they, and their keys.

    Level by level, each in a few calls into C; those whose keys are all texts are left out.
    """
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
            if not {*map(type, keys)} <= _TEXT:
                yield base, holder, keys
        level = gc.get_referents(*level)


def _hashes_by_code(key: Any) -> bool:
    """Whether a key, or what is in it, does."""
    if type(key) in (tuple, frozenset):
        return any(map(_hashes_by_code, key))
    return has_own_hash(type(key))


def _is_of(key: Any, wanted: frozenset[type]) -> bool:
    if type(key) in (tuple, frozenset):
        return any(_is_of(item, wanted) for item in key)
    return type(key) in wanted
