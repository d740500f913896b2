"""Contents of a container, and members of an object or a class, past all code of its class."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import compress, repeat
from operator import is_not
from types import MemberDescriptorType
from typing import Any

from nbckpt.fingerprint.values.homes import DICT_OF_CLASS
from nbckpt.runtime.user_code_errors import user_code_errors

FEW_KINDS = 4
"""Types that are told apart in a few calls into C each."""

_BASES_OF_CLASS: Any = type.__dict__["__mro__"].__get__


def elements_of(container: Any) -> list[Any]:
    """The elements of a list, tuple, set or deque, or of what derives from one, as they are there.

    Empty for anything else.
    """
    kind = type(container)
    for base in (list, tuple, set, frozenset, deque):
        if issubclass(kind, base):
            return [*base.__iter__(container)]
    return []


def pairs_of(mapping: Any) -> list[tuple[Any, Any]]:
    """The items of a dict, or of what derives from one, in its order; empty for anything else."""
    kind = type(mapping)
    if issubclass(kind, OrderedDict):  # which has an order beside that of the dict
        return [*OrderedDict.items(mapping)]
    return [*dict.items(mapping)] if issubclass(kind, dict) else []


def types_that(holds: Callable[[type], bool], values: Iterable[object]) -> frozenset[int]:
    """Ids of the types of some values for which something holds; each is asked once."""
    by_id: dict[int, type] = {}  # a metaclass may hash as it likes
    kinds = [*map(type, [*values])]
    while kinds and len(by_id) < FEW_KINDS:  # most are like the first one
        by_id[id(kinds[0])] = first = kinds[0]
        kinds = [*compress(kinds, map(is_not, kinds, repeat(first)))]
    for kind in kinds:
        by_id[id(kind)] = kind
    return frozenset(i for i, kind in by_id.items() if holds(kind))


def dict_of(value: Any) -> dict[str, Any] | None:
    """The attributes that an instance has of its own; None where it has no dict, or hides it."""
    try:
        members = object.__getattribute__(value, "__dict__")
    except user_code_errors():  # a class of C may raise anything
        return None
    return members if type(members) is dict else None


def members_of(value: Any) -> dict[str, Any]:
    """The same, empty where there is none."""
    return dict_of(value) or {}


def bases_of(cls: type) -> tuple[type, ...]:
    """A class and its bases, in the order in which members are looked for."""
    bases: tuple[type, ...] = _BASES_OF_CLASS(cls)
    return bases


def slots_of(cls: type) -> list[MemberDescriptorType]:
    """The slots that instances of a class have."""
    members = (DICT_OF_CLASS(base).values() for base in bases_of(cls))
    return [one for own in members for one in own if type(one) is MemberDescriptorType]


def in_slots(value: Any) -> list[tuple[str, Any]]:
    """Names and values of the slots of an instance."""
    found = []
    for slot in slots_of(type(value)):
        with suppress(AttributeError):  # nothing is in it
            found.append((slot.__name__, slot.__get__(value)))
    return found


def member_of_class(cls: type, name: str) -> Any:
    """The member that a class, or else the next base of it, has; None if there is none."""
    for base in bases_of(cls):
        if name in (members := DICT_OF_CLASS(base)):
            return members[name]
    return None
