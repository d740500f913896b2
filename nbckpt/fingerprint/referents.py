"""Variables that share an object with values that cannot be kept.

The bytes of a kept value tell the objects that it shares. A value that cannot be written down (a
generator, an open connection) may hold a list of the notebook's all the same, and code that names
only the one changes the other.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, ModuleType, NoneType

from nbckpt.fingerprint.reachability import referents_of
from nbckpt.fingerprint.values.plain import ATOMS

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
    held = held_by(list(roots), namespace)
    if held is None:
        return set(values)
    found = set()
    for name, value in values.items():
        own = held_by([value], namespace)
        if own is None or not held.keys().isdisjoint(own):
            found.add(name)
    return found


def held_by(roots: list[object], namespace: object) -> dict[int, object] | None:
    """Objects that can change that `roots` hold: id → object; None if there are too many."""
    found: dict[int, object] = {}
    seen: dict[int, object] = {id(namespace): namespace}
    queue = roots
    while queue:
        value = queue.pop()
        if id(value) in seen or is_leaf(value):
            continue
        if len(seen) > MOST:
            return None
        seen[id(value)] = value
        if type(value) is not tuple:
            found[id(value)] = value
        inside = referents_of(value)
        if not set(map(type, inside)) <= ATOMS:  # of a million numbers each would be asked
            queue += [part for part in inside if type(part) not in ATOMS]
    return found


def is_leaf(value: object) -> bool:
    """True if nothing is looked for inside: code, a library's machinery, a module."""
    kind = type(value)
    if issubclass(kind, ModuleType):  # one that was made by hand holds what the notebook gave it
        return getattr(value, "__spec__", None) is not None
    if kind is BuiltinFunctionType:  # `lst.append` holds the list
        return isinstance(value.__self__, ModuleType | NoneType)  # type: ignore[attr-defined]
    if kind in ATOMS or issubclass(kind, _LEAVES):
        return True
    if str(kind.__module__).partition(".")[0] in _MACHINERY:
        return True
    if value is vars(builtins):  # each function holds it
        return True
    return kind is dict and "__builtins__" in value  # type: ignore[operator]  # globals of a module
