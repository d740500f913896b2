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
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
)
from typing import Any, TypeAlias

from nbckpt.codecs.key_hashing import has_own_hash
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import (
    elements_of,
    member_of_class,
    members_of,
    slots_of,
)

MOST_OBJECTS = 5_000_000
_MOST_ROUNDS = 3
"""Most rounds of filling all containers: the hash of one object may depend on another."""

_REMEMBERING = (frozenset, tuple, weakref.ref)
_TUPLES_REMEMBER = sys.version_info >= (3, 14)
_NO_HOLDERS = (type, ModuleType, CodeType, FrameType)
_MAPS = (OrderedDict, dict)
_HASHING = (*_MAPS, set, frozenset)
_Container: TypeAlias = tuple[Any, Any, list[Any]]


def are_found(values: Iterable[object]) -> bool:
    """True if all keys of dicts and sets inside are found where they are."""
    return not _wrongly_filled(values)


def fill_anew(values: dict[str, object], kinds: Iterable[type]) -> None:
    """Fill dicts and sets by what their keys hash to now; put new frozensets in place of old ones.

    Parameters
    ----------
    values
        Name → value. One that is such a frozenset is replaced.
    kinds
        Classes that came with them, and hold more.

    Raises
    ------
    TypeError
        If something that can be neither filled nor replaced holds such a key.
    """
    kinds = [*kinds]
    fresh: dict[int, tuple[Any, Any]] = {}
    left = _wrongly_filled([*values.values(), *kinds])
    for _ in range(_MOST_ROUNDS):
        for base, holder, keys in left:
            _fill(base, holder, keys, fresh)
        if any(base is frozenset for base, *_ in left):
            _put_in_place(values, kinds, fresh)
        if left:
            found = _wrongly_filled([*values.values(), *kinds])
            left = [one for one in found if _tells_hashes(one[1])]
        if not left:
            return
    base, _, keys = left[0]
    held = next(filter(has_own_hash, map(type, keys)), type(keys[0])).__name__
    message = f"a {base.__name__} of it is found by the hash of a {held!r} that leads to it"
    raise TypeError(message)


def _put_in_place(
    values: dict[str, object], kinds: Iterable[type], fresh: dict[int, tuple[Any, Any]]
) -> None:
    """Give what holds an old key, other than as a key, the new one."""
    by_id = {i: new for i, (old, new) in fresh.items() if old is not new}
    holders = (holder for level in _levels([values, *kinds]) for holder in level)
    for value, put in (place for one in chain(kinds, holders) for place in _places_in(one)):
        if id(value) in by_id:
            put(by_id[id(value)])


def _places_in(holder: Any) -> Iterator[tuple[object, Callable[[object], object]]]:
    """The parts of an object that are no keys, each with a function that puts another there."""
    kind = type(holder)
    if issubclass(kind, dict):
        for key, value in [*dict.items(holder)]:
            yield value, partial(dict.__setitem__, holder, key)
    elif issubclass(kind, (list, deque)):
        base = list if issubclass(kind, list) else deque
        for place, value in enumerate(elements_of(holder)):
            yield value, partial(base.__setitem__, holder, place)
    elif kind is CellType:
        for value in gc.get_referents(holder):
            yield value, partial(setattr, holder, "cell_contents")
    elif issubclass(kind, type):
        for name, value in [*type.__getattribute__(holder, "__dict__").items()]:
            yield value, partial(type.__setattr__, holder, name)
    else:
        members = members_of(holder)
        for name, value in [*members.items()]:
            yield value, partial(members.__setitem__, name)
        for slot in slots_of(kind):
            with suppress(AttributeError):  # nothing is in it
                yield slot.__get__(holder), partial(slot.__set__, holder)


def may_not_be_filled(values: Iterable[object]) -> bool:
    """True if a frozenset, or a reference that is a key, holds what hashes by code of Python."""
    for base, _, keys in _containers_in(values):
        kinds = {*map(type, keys)}
        if base is frozenset and any(has_own_hash(k) or issubclass(k, tuple) for k in kinds):
            return True
        if any(issubclass(kind, weakref.ref) for kind in kinds):
            return True
    return False


def _fill(base: Any, holder: Any, keys: list[Any], fresh: dict[int, tuple[Any, Any]]) -> None:
    if base is frozenset:
        _fresh(holder, fresh)
    elif base is set:
        set.clear(holder)
        set.update(holder, [_fresh(key, fresh) for key in keys])
    else:
        if base is OrderedDict:  # a loop over it looks its keys up; this does not
            pairs = [OrderedDict.popitem(holder, last=False) for _ in keys]
        else:
            pairs = [*dict.items(holder)]
        base.clear(holder)
        for key, value in pairs:
            base.__setitem__(holder, _fresh(key, fresh), value)


def _wrongly_filled(values: Iterable[object]) -> list[_Container]:
    """Containers in which a key is not where its hash says, and those of which nobody can tell."""
    return [one for one in _containers_in(values) if not _is_filled(*one)]


def _is_filled(base: Any, holder: Any, keys: list[Any]) -> bool:
    if not _tells_hashes(holder):
        return False
    if base is dict:
        # A dict finds a key itself by luck, too; a set compares what both hash to. So made, it
        # has the hashes that the dict has: no key is hashed.
        base, holder = set, set(holder if type(holder) is dict else dict.copy(holder))
    return not _are_stale(keys) and all(map(partial(base.__contains__, holder), keys))


def _tells_hashes(holder: Any) -> bool:
    """True if a copy of it has the hashes that it has; else the copy is made of what it gives."""
    kind = type(holder)
    return not issubclass(kind, dict) or member_of_class(kind, "__iter__") is dict.__iter__


def _containers_in(values: Iterable[object]) -> list[_Container]:
    """Containers that hash what they hold: the type that they are of, they, and their keys.

    Those whose keys are found for sure are left out.
    """
    found: list[_Container] = []
    for level in _levels(values):
        kinds = {*map(type, level)}
        hashing = {k: base for k in kinds for base in reversed(_HASHING) if issubclass(k, base)}
        for holder in level if hashing else ():
            if (base := hashing.get(type(holder))) is None:
                continue
            keys = [k for k, _ in dict.items(holder)] if base in _MAPS else elements_of(holder)
            if not all(map(_hashes_by_identity, {*map(type, keys)} - ATOMS)):
                found.append((base, holder, keys))
    return found


def _levels(values: Iterable[object]) -> Iterator[list[Any]]:
    """The objects inside of values, level by level, each found in a few calls into C."""
    seen: set[int] = set()
    roots = [*values]
    level: list[Any] = [item for item in roots if not issubclass(type(item), type)]
    for kind in roots:
        if issubclass(type(kind), type):  # a class of the notebook: what it holds
            level += type.__getattribute__(kind, "__dict__").values()
    while level and len(seen) < MOST_OBJECTS:
        kinds = {*map(type, level)}
        passed = {k for k in kinds if k in ATOMS or issubclass(k, _NO_HOLDERS)}
        level = [item for item in level if type(item) not in passed]
        new = dict(zip(map(id, level), level, strict=True))
        for known in seen & new.keys():
            del new[known]
        seen.update(new)
        level = [*new.values()]
        yield level
        functions = [item for item in level if type(item) is FunctionType]
        level = gc.get_referents(*(item for item in level if type(item) is not FunctionType))
        for function in functions:  # not its globals
            parts = function.__closure__, function.__defaults__, function.__kwdefaults__
            level += [*parts, function.__dict__]


def _hashes_by_identity(kind: type) -> bool:
    return member_of_class(kind, "__hash__") is object.__hash__


def _are_stale(keys: Iterable[Any]) -> bool:
    """True if a key, or something inside it, remembers a hash that it had before."""
    seen: set[int] = set()
    level = [*keys]
    while any(issubclass(kind, _REMEMBERING) for kind in {*map(type, level)}):
        level = [k for k in level if issubclass(type(k), _REMEMBERING) and id(k) not in seen]
        seen.update(map(id, level))
        if any(map(_is_stale, level)):
            return True
        level = [item for key in level for item in elements_of(key)]
    return False


def _is_stale(key: Any) -> bool:
    """True if a key itself remembers another hash than an equal one would have."""
    kind = type(key)
    if issubclass(kind, weakref.ref):
        return _is_stale_reference(key)
    base = frozenset if issubclass(kind, frozenset) else tuple
    if base is tuple and not _TUPLES_REMEMBER:
        return False
    return base.__hash__(key) != hash(base(elements_of(key)))


def _is_stale_reference(reference: Any) -> bool:
    target = weakref.ref.__call__(reference)
    return target is not None and weakref.ref.__hash__(reference) != hash(target)


def _fresh(key: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """A key that remembers no hash: the same for the same, wherever one can be made."""
    base: Any = next((one for one in (frozenset, tuple) if issubclass(type(key), one)), None)
    if base is None:
        return key
    if id(key) not in made:
        fresh = key
        items = elements_of(key)
        if _are_stale([key]) or (base is frozenset and not _is_filled(base, key, items)):
            fresh = base.__new__(type(key), [_fresh(item, made) for item in items])
            if members := members_of(key):
                object.__getattribute__(fresh, "__dict__").update(members)
        made[id(key)] = key, fresh
    return made[id(key)][1]
