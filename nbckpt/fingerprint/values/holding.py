"""Objects that go with a value when it goes: the contents of Python's own kinds of holders.

Containers and iterators, functions and their closures, suspended generators, and instances of the
notebook's own classes. The contents of a library's object count as that library's.
"""

from __future__ import annotations

import builtins
import gc
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from types import CodeType, FunctionType, ModuleType
from typing import Any

from nbckpt.fingerprint.values.homes import (
    DICT_OF_CLASS,
    MODULE_OF_CLASS,
    is_users_module,
    module_of_class,
)
from nbckpt.fingerprint.values.plain import ATOMS, levels_of
from nbckpt.fingerprint.values.raw_members import member_of_class
from nbckpt.fingerprint.values.segments import instances_in, segments_of
from nbckpt.fingerprint.values.text_rows import is_known
from nbckpt.runtime.addresses import address_of

_CONTAINERS = (dict, list, tuple, set, frozenset, deque)
_PLAIN = (list, tuple, dict)
_MACHINERY = (
    ("asyncio", "AbstractEventLoop"), ("concurrent.futures", "Executor"), ("logging", "Logger"),
    ("logging", "Manager"), ("multiprocessing.process", "BaseProcess"), ("threading", "Thread"),
)  # fmt: skip
"""Classes of Python whose objects lead to the whole process."""
_NOT_ENTERED = (type, CodeType, ModuleType)


class TooManyError(Exception):
    """There are more objects than the caller wants to look at."""


def inside_of(
    values: Iterable[object], wanted: Callable[[type], bool], most: int = sys.maxsize
) -> Iterator[object]:
    """The values, and what they hold at any depth, that are of the types that are `wanted`.

    One may come twice. Of a class of the notebook's among the values it is what the class holds.
    Plain data is left out: numbers, texts, and lists, tuples and dicts of these. No code of theirs
    runs. Each level is looked at in a few calls into C: the time is linear in what is there.

    Raises
    ------
    TooManyError
        If they hold more than `most` objects besides numbers and texts.
    """
    seen: dict[int, object] = {}
    given = [*values]
    classes = {address_of(item): item for item in given if _is_own_class(item)}
    waiting = [*classes.values()]
    while waiting:
        members = [*DICT_OF_CLASS(waiting.pop()).values()]
        given += members
        fresh = {
            address_of(m): m for m in members if _is_own_class(m) and address_of(m) not in classes
        }
        classes |= fresh
        waiting += fresh.values()
    level: list[object] = []
    n_flat = 0
    for item in given:
        segments = segments_of(item, is_variable=False)
        if segments is None:
            if type(item) not in _PLAIN or levels_of([item]) is None:
                level.append(item)
        elif segments.kind is not None:  # and what these hold is plain
            n_flat += segments.n_objects
            if wanted(segments.kind):
                yield from instances_in(item)
    if n_flat > most:
        raise TooManyError
    while level:
        fresh = dict(zip(map(address_of, level), level, strict=True))
        for known in fresh.keys() & seen.keys():
            del fresh[known]
        seen |= fresh
        if len(seen) + n_flat > most:
            raise TooManyError
        items = [*fresh.values()]
        present = set(map(type, items))
        kinds = present - ATOMS
        if matching := {kind for kind in kinds if wanted(kind)}:
            yield from _of_kinds(items, present, matching)
        holders = {kind for kind in kinds if _is_holder(kind)}
        level = _contents(_of_kinds(items, present, holders))


def _of_kinds(items: list[Any], present: Set[type], wanted: Set[type]) -> list[Any]:
    """The items of some types; `present` are the types of all of them."""
    return items if wanted >= present else [item for item in items if type(item) in wanted]


def _is_own_class(value: Any) -> bool:
    return issubclass(type(value), type) and is_users_module(MODULE_OF_CLASS(value))


def _is_holder(kind: type) -> bool:
    """True for a type of Python's, or of the notebook's, whose instances may hold others."""
    if issubclass(kind, (*_NOT_ENTERED, *_machinery())):
        return False
    if issubclass(kind, _CONTAINERS) or _is_array(kind) or _is_dataclass(kind):
        return True
    module: Any = module_of_class(kind)
    if is_users_module(module):
        return True
    return str(module).partition(".")[0] in sys.stdlib_module_names


def _is_dataclass(kind: type) -> bool:
    return member_of_class(kind, "__dataclass_fields__") is not None


def _machinery() -> list[type]:
    """The classes that are not entered, as far as they are loaded."""
    loaded = [(sys.modules[module], name) for module, name in _MACHINERY if module in sys.modules]
    return [getattr(module, name) for module, name in loaded if hasattr(module, name)]


def _contents(holders: Collection[Any]) -> list[Any]:
    """Contents of objects, but for plain values, types, and namespaces of functions."""
    found = gc.get_referents(*holders)
    for item in holders:
        if _is_array(type(item)) and item.dtype.hasobject and not is_known(item):
            elements = sys.modules["numpy"].ndarray.tolist(item)  # of no subclass
            if type(elements) is not list or not set(map(type, elements)) <= ATOMS:
                found.append(elements)
    kinds = set(map(type, found)) - ATOMS
    kinds -= {kind for kind in kinds if issubclass(kind, _NOT_ENTERED)}
    if not kinds:
        return []
    spaces = {id(item.__globals__) for item in holders if type(item) is FunctionType}
    spaces.add(id(vars(builtins)))
    return [
        item
        for item in found
        if type(item) in kinds
        and not (type(item) is dict and (id(item) in spaces or "__builtins__" in item))
    ]


def _is_array(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and hasattr(numpy, "ndarray") and issubclass(kind, numpy.ndarray)
