"""NaN in a dict is found by being the very object that is its key: one for all that came back.

Python compares by identity before it asks for equality, and a NaN equals nothing. Pickle makes a
new float of each. So all NaN that come back, as variables, in lists, as keys, are NumPy's own.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, cast

from nbckpt.values.raw import members_of

_BITS = bytes.fromhex("7ff8000000000000")
"""Of the NaN that everybody has; those with a sign or a payload are told apart by some."""

_AS_WRITTEN = re.compile(b"G" + re.escape(_BITS))
"""How a pickle has it: an opcode, and the bits."""

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
                if _is_nan(item):
                    holder[n] = nan
            waiting += (item for item in holder if type(item) not in _LEAVES)
        elif kind is tuple:
            waiting += (item for item in holder if type(item) not in _LEAVES)
        elif kind is set:
            found = [item for item in holder if _is_nan(item)]
            if len(found) == 1:  # several are not one
                holder.discard(found[0])
                holder.add(nan)
        if not issubclass(kind, _CODE) and (members := members_of(holder)):
            waiting.append(members)


def _is_nan(value: object) -> bool:
    return type(value) is float and value != value and struct.pack(">d", value) == _BITS


def _nan_of(namespace: Mapping[str, object]) -> float:
    live: dict[int, Any] = {id(v): v for v in list(namespace.values()) if _is_nan(v)}
    if len(live) == 1:
        (found,) = live.values()
        return cast("float", found)
    numpy: Any = sys.modules.get("numpy")
    nan: float = getattr(numpy, "nan", math.nan)
    return nan


def _united_dict(holder: Any, nan: float) -> list[Any]:
    items = list(dict.items(holder))
    if sum(_is_nan(key) for key, _ in items) == 1:  # several are not one
        dict.clear(holder)
        for key, value in items:
            is_nan = _is_nan(key)
            dict.__setitem__(holder, nan if is_nan else key, value)
    for key, value in items:
        if _is_nan(value) and not _is_nan(key):
            dict.__setitem__(holder, key, nan)
    return [value for _, value in items if type(value) not in _LEAVES]


_CODE = (type, ModuleType, FunctionType)
_LEAVES = frozenset({str, bytes, int, float, bool, complex, type(None)})
