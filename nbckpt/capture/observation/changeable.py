"""Objects in values that can change: those by which two values would share a later change."""

from __future__ import annotations

import datetime
import enum
import gc
import pathlib
import re
import sys
import uuid
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from types import FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.fingerprint.reachability import referents_of
from nbckpt.fingerprint.referents import is_leaf
from nbckpt.fingerprint.values.homes import members_of_class, module_of_class
from nbckpt.fingerprint.values.plain import ATOMS, CONTAINERS, FEW, levels_of
from nbckpt.runtime.addresses import by_id
from nbckpt.runtime.user_code_errors import user_code_errors

MOST = 1_000_000
"""Objects that are looked at; in more there may be any."""

_CONSTANT = (
    enum.Enum, pathlib.PurePath, datetime.date, datetime.time, datetime.timedelta,
    datetime.tzinfo, Decimal, Fraction, uuid.UUID, re.Pattern, weakref.ReferenceType,
    range, slice,
)  # fmt: skip
"""Types whose objects nothing changes, and that hold nothing that does."""

_PLAIN = (dict, list, tuple, set)
"""Types of most objects, of which no more is to be asked."""

_INTERNAL = frozenset({"_mgr", "_item_cache", "_flags", "_cache"})
"""Members of pandas' tables: with its copy on write no two of them share a change."""


def changeable(
    roots: Iterable[object], namespace: object, modules: Collection[str] = ()
) -> dict[int, object] | None:
    """The objects that are, or are inside of, some values and can change: id → object.

    Parameters
    ----------
    modules
        Whose classes are looked into, besides the notebook's.

    Returns
    -------
    dict[int, object] | None
        None if there is too much to look at.
    """
    found: dict[int, object] = {}
    seen: dict[int, object] = {id(namespace): namespace}
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if type(value) in ATOMS or id(value) in seen:
            continue
        if type(value) in CONTAINERS and (inside := _plain_inside(value)) is not None:
            seen.update(inside)
            held = inside.items()
            has_tuples = tuple in map(type, inside.values())
            found.update([(i, v) for i, v in held if type(v) is not tuple] if has_tuples else held)
        else:
            seen[id(value)] = value
            parts = parts_of(value, modules)
            if parts is None:
                continue
            if not is_only_a_holder(value):
                found[id(value)] = value
            waiting += parts
        if len(seen) > MOST:
            return None
    return found


def _plain_inside(root: Any) -> dict[int, object] | None:
    """The containers of plain data, a level in a few calls into C: id → container; None of other.

    The globals of a module, which nothing is looked for in, are other.
    """
    levels = levels_of([root]) if len(root) >= FEW else None
    if levels is None:
        return None
    found = by_id(chain.from_iterable(levels))
    holds_globals = any(type(v) is dict and "__builtins__" in v for v in found.values())
    return None if holds_globals else found


def are_held_elsewhere(
    values: Sequence[object], holders: Iterable[Iterable[object]], namespace: object
) -> bool:
    """True if anything but `holders` may hold an object that can change in some values.

    There are more references to it than are found: by what has it without telling the collector,
    too. That costs a fraction of a walk through all that may hold it.

    Parameters
    ----------
    holders
        What each of the caller's containers holds; `values` is not among them.
    """
    alone: list[object] = []  # has no reference but those of this function
    seen: dict[int, object] = {}
    counts: dict[int, int] = {}
    waiting: list[object] = [alone, *values]
    parts: Sequence[object] = ()
    while waiting:
        value = waiting.pop()
        if type(value) in ATOMS or value is namespace:
            continue
        counts[id(value)] = counts.get(id(value), 0) + 1
        if id(value) in seen:
            continue
        if len(seen) > MOST:
            return True
        seen[id(value)] = value
        parts = parts_of(value, ()) or ()
        if _has_indirectly(value, parts):  # what it has by way of another counts twice
            return True
        waiting += parts
    for holder in holders:
        for value in holder:
            if id(value) in counts:
                counts[id(value)] += 1
    value, parts = None, ()
    # In one loop: what it holds itself is the same for each.
    more = {which: sys.getrefcount(held) - counts[which] for which, held in seen.items()}
    return any(more[w] > more[id(alone)] and _can_change(held) for w, held in seen.items())


def parts_of(value: object, modules: Collection[str]) -> Sequence[object] | None:
    """The objects that a value holds; None if nothing is looked for in it.

    Where its own code raises it is what the collector says, which runs none of it.
    """
    try:
        return _parts_of(value, modules)
    except user_code_errors():  # whatever its own code raises when it is looked at
        return gc.get_referents(value)


def _has_indirectly(value: object, parts: Sequence[object]) -> bool:
    try:
        return bool(parts and _indirect(value))
    except user_code_errors():  # whatever its own code raises, as above
        return False


def _parts_of(value: Any, modules: Collection[str]) -> Sequence[object] | None:
    kind = type(value)
    if kind in _PLAIN:
        return None if kind is dict and is_leaf(value) else referents_of(value)
    if issubclass(kind, type):
        home = module_of_class(value)
        is_own = home == "__main__" or home in modules or "<locals>" in value.__qualname__
        own = members_of_class(value).items()
        return [v for n, v in own if n[:2] != "__"] if is_own else None
    if issubclass(kind, FunctionType):
        # By their containers, of which two functions may have the same.
        state = (value.__closure__, value.__defaults__, value.__kwdefaults__, vars(value))
        return [part for part in state if part]
    if issubclass(kind, _CONSTANT) or is_leaf(value) or _is_of_libraries(value, kind):
        return None
    if _is_frozen(kind):
        members = getattr(value, "__dict__", {})
        return [*members.values(), *(p for p in referents_of(value) if p is not members)]
    if _is_table(value, kind):
        held = [part for name, part in list(vars(value).items()) if name not in _INTERNAL]
        return [*held, *_indirect(value)]
    if _is_array(value) and value.dtype.hasobject and value.base is None:
        return value.ravel().tolist()  # type: ignore[no-any-return]
    return [*referents_of(value), *_indirect(value)]


def _indirect(value: Any) -> list[object]:
    """Objects that a value has by way of one that is not seen: another value may have the same."""
    kind = type(value)
    if _is_table(value, kind):
        return [*_objects_in_table(value)]
    if module_of_class(kind).partition(".")[0] == "torch" and hasattr(value, "untyped_storage"):
        return [value.untyped_storage()]
    return [value.obj] if kind is memoryview else []


def is_only_a_holder(value: object) -> bool:
    """True if a value does not change itself, but may hold what does: a tuple, a function."""
    kind = type(value)
    if issubclass(kind, (type, FunctionType, MethodType, ModuleType, tuple, frozenset)):
        return True
    return _is_frozen(kind)


def _is_frozen(kind: type) -> bool:
    """True if it is a frozen dataclass itself: a class below one may add what changes."""
    return bool(getattr(vars(kind).get("__dataclass_params__"), "frozen", False))


def _can_change(value: Any) -> bool:
    """True if a value, or something in it, can change."""
    parts = parts_of(value, ())
    if parts is None:
        return False
    return not is_only_a_holder(value) or any(parts_of(p, ()) is not None for p in parts)


def _is_of_libraries(value: Any, kind: type) -> bool:
    """True if it is one of the objects that NumPy and pandas share among many, and never change."""
    home = module_of_class(kind).partition(".")[0]
    library = sys.modules.get(home) if home in ("numpy", "pandas") else None
    if library is None:
        return False
    if home == "numpy":  # a `void` is a view of the array that it was taken from
        constant = (library.generic, library.ufunc, library.dtype, type(library.sum))
        return isinstance(value, constant) and not isinstance(value, library.void)
    return isinstance(value, (library.Index, library.api.extensions.ExtensionDtype, library.Period))


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), numpy.ndarray)


def _is_table(value: Any, kind: type) -> bool:
    """True if it is a table of pandas, where tables copy on write."""
    if module_of_class(kind) != "pandas" or not hasattr(value, "_mgr"):
        return False
    return int(sys.modules["pandas"].__version__.partition(".")[0]) >= 3


def _objects_in_table(table: Any) -> Iterator[object]:
    """The elements of columns of objects of any kind."""
    for block in getattr(table._mgr, "blocks", ()):  # noqa: SLF001
        values: Any = getattr(block, "values", None)
        if _is_array(values) and values.dtype.hasobject:
            yield from values.ravel().tolist()
