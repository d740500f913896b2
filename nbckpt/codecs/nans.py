"""NaN in a dict is found by being the very object that is its key: one for all that came back.

Python compares by identity before it asks for equality, and a NaN equals nothing. Pickle makes a
new float of each. So all NaN that come back, as variables, in lists, as keys, are NumPy's own.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_AS_WRITTEN = re.compile(rb"G[\x7f\xff]\xf8")
"""How a pickle begins a NaN: the opcode, sign and exponent of the ones that computations give."""

MOST_OBJECTS = 2_000_000


def may_be_in(segments: Sequence[Any]) -> bool:
    """Whether a stream holds a NaN of Python's."""
    return any(_AS_WRITTEN.search(segment) for segment in segments)


def unite(values: dict[str, object], namespace: Mapping[str, object]) -> None:
    """Have one object be every NaN in values, as far as containers and attributes lead to it.

    Parameters
    ----------
    namespace
        The live variables: where one of them is a NaN, it is that object.
    """
    nan = _nan_of(namespace)
    seen: dict[int, object] = {}
    waiting: list[Any] = [values]
    while waiting and len(seen) < MOST_OBJECTS:
        holder = waiting.pop()
        if id(holder) in seen:
            continue
        seen[id(holder)] = holder
        kind = type(holder)
        if issubclass(kind, dict):
            waiting += _united_dict(holder, nan)
        elif kind is list:
            for n, item in enumerate(holder):
                if type(item) is float and item != item:
                    holder[n] = nan
            waiting += (item for item in holder if type(item) not in _LEAVES)
        elif kind is tuple:
            waiting += (item for item in holder if type(item) not in _LEAVES)
        elif kind is set:
            found = [item for item in holder if type(item) is float and item != item]
            if len(found) == 1:  # several are not one
                holder.discard(found[0])
                holder.add(nan)
        members = _members(holder)
        if members is not None:
            waiting.append(members)


def _nan_of(namespace: Mapping[str, object]) -> float:
    live = {id(v): v for v in list(namespace.values()) if type(v) is float and v != v}
    if len(live) == 1:
        return next(iter(live.values()))
    numpy: Any = sys.modules.get("numpy")
    nan: float = getattr(numpy, "nan", math.nan)
    return nan


def _united_dict(holder: Any, nan: float) -> list[Any]:
    items = list(dict.items(holder))
    if sum(type(key) is float and key != key for key, _ in items) == 1:  # several are not one
        dict.clear(holder)
        for key, value in items:
            is_nan = type(key) is float and key != key
            dict.__setitem__(holder, nan if is_nan else key, value)
    for key, value in items:
        if type(value) is float and value != value and key == key:
            dict.__setitem__(holder, key, nan)
    return [value for _, value in items if type(value) not in _LEAVES]


_LEAVES = frozenset({str, bytes, int, float, bool, complex, type(None)})


def _members(value: Any) -> dict[str, Any] | None:
    if isinstance(value, type):
        return None
    try:
        members = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return None
    return members if type(members) is dict else None
