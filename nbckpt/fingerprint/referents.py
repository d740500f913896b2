"""Variables that share an object with values that cannot be kept.

The bytes of a kept value tell the objects that it shares. A value that cannot be written down (a
generator, an open connection) may hold a list of the notebook's all the same, and code that names
only the one changes the other.
"""

from __future__ import annotations

import builtins
import gc
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import BuiltinFunctionType, CodeType, MethodType, ModuleType, NoneType
from typing import Any

from nbckpt.fingerprint.values.homes import DICT_OF_CLASS, module_of_class
from nbckpt.fingerprint.values.plain import ATOMS, CONTAINERS, levels_of
from nbckpt.fingerprint.values.raw_members import bases_of
from nbckpt.runtime.addresses import by_id, ids_of

MOST = 20_000
"""Objects that are looked at in one value; in a larger one anything may be."""

_MACHINERY = frozenset(
    {"IPython", "ipykernel", "zmq", "tornado", "asyncio", "comm", "threading", "nbckpt"}
)
"""Packages whose objects lead to the whole process, and are not where notebooks keep things."""

_LEAVES = (CodeType, type, logging.Logger, logging.Manager)  # as do loggers


def names_reached(
    roots: Iterable[object], names: Iterable[str], namespace: Mapping[str, object]
) -> set[str]:
    """Of `names`, the variables that hold what can change and what one of `roots` holds, too."""
    values = {n: namespace[n] for n in names if type(namespace[n]) not in ATOMS}
    held = held_by(roots, namespace)
    if held is None:
        return set(values)
    held = {i: v for i, v in held.items() if type(v) is not MethodType}  # which nothing changes
    if not held:
        return set()
    kinds = set(map(type, held.values()))
    found = set()
    for name, value in values.items():
        levels = levels_of([value]) if type(value) in CONTAINERS else None
        if levels is not None and CONTAINERS.isdisjoint(kinds):
            continue  # plain data: of other objects none is in it
        own = held_by([value], namespace) if levels is None else _ids_in(levels)
        if own is None or not held.keys().isdisjoint(own):
            found.add(name)
    return found


def _ids_in(levels: list[list[Any]]) -> Sequence[int] | None:
    """Ids of the containers of plain data; None if there are more than are looked at."""
    inside = tuple(chain.from_iterable(levels))
    return None if len(inside) > MOST else ids_of(inside)


def held_by(
    roots: Iterable[object],
    namespace: object,
    most: int = MOST,
    enters: Callable[[type], bool] = lambda _: False,
) -> dict[int, object] | None:
    """Objects that can change that `roots` hold: id → object; None if there are too many.

    Each level is looked at in a few calls into C.

    Parameters
    ----------
    most
        Objects that are looked at.
    enters
        Which classes are looked into.
    """
    found: dict[int, object] = {}
    seen: dict[int, object] = {id(namespace): namespace}
    level = list(roots)
    while level:
        kinds = set(map(type, level))
        if not kinds.isdisjoint(ATOMS):  # of a million numbers each would be asked
            kinds -= ATOMS
            level = [value for value in level if type(value) in kinds]
        fresh = by_id(level)
        for known in fresh.keys() & seen.keys():
            del fresh[known]
        if len(seen) + len(fresh) > most:
            return None
        seen |= fresh
        level, classes = _entered(fresh, kinds, enters)
        found |= fresh if tuple not in kinds else by_id([v for v in level if type(v) is not tuple])
        level = [*gc.get_referents(*level), *_unknown_to_collector(level, kinds), *classes]
    return found


def _entered(
    fresh: dict[int, object], kinds: set[type], enters: Callable[[type], bool]
) -> tuple[list[object], list[object]]:
    """The objects that are looked into, which stay alone in `fresh`, and contents of classes."""
    contents: list[object] = []
    if any(issubclass(kind, type) for kind in kinds):
        for cls in [v for v in fresh.values() if issubclass(type(v), type)]:
            if enters(cls):  # type: ignore[arg-type]
                contents += (*DICT_OF_CLASS(cls).values(), *bases_of(cls))  # type: ignore[arg-type]
    if dict in kinds:
        spaces = [i for i, v in fresh.items() if type(v) is dict and "__builtins__" in v]
        for leaf in (*spaces, id(vars(builtins))):
            fresh.pop(leaf, None)
    doubtful = {kind for kind in kinds if _may_be_leaf(kind)}
    if doubtful:
        for leaf in [i for i, v in fresh.items() if type(v) in doubtful and is_leaf(v)]:
            del fresh[leaf]
    return [*fresh.values()], contents


def _may_be_leaf(kind: type) -> bool:
    """True if objects of a type may be leaves: see `is_leaf`."""
    return (
        kind is BuiltinFunctionType
        or issubclass(kind, (ModuleType, *_LEAVES))
        or module_of_class(kind).partition(".")[0] in _MACHINERY
    )


def _unknown_to_collector(level: list[object], kinds: set[type]) -> list[object]:
    """What arrays among some objects hold: the elements, and the arrays that they are views of."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "ndarray"):
        return []
    kinds = {kind for kind in kinds if issubclass(kind, numpy.ndarray)}
    arrays: list[Any] = [value for value in level if type(value) in kinds] if kinds else []
    bases = [base for array in arrays if (base := array.base) is not None]
    holding = (array for array in arrays if array.dtype.hasobject)
    return [*bases, *map(numpy.ndarray.tolist, holding)]  # of no subclass


def is_leaf(value: object) -> bool:
    """True if nothing is looked for inside: code, a library's machinery, a module."""
    kind = type(value)
    if issubclass(kind, ModuleType):  # one that was made by hand holds what the notebook gave it
        return getattr(value, "__spec__", None) is not None
    if kind is BuiltinFunctionType:  # `lst.append` holds the list
        return isinstance(value.__self__, ModuleType | NoneType)  # type: ignore[attr-defined]
    if kind in ATOMS or issubclass(kind, _LEAVES):
        return True
    if module_of_class(kind).partition(".")[0] in _MACHINERY:
        return True
    if value is vars(builtins):  # each function holds it
        return True
    return kind is dict and "__builtins__" in value  # type: ignore[operator]  # globals of a module
