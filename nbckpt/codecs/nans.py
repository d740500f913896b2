"""NaN in a dict is found by being the very object that is its key.

Python compares by identity before it asks for equality, and a NaN equals nothing. Pickle makes a
new float of each. So the one NaN among the keys of a dict that came back, and a variable that is a
NaN, are NumPy's own, or that of a live variable. All others stay what they are, each its own.
"""

from __future__ import annotations

import importlib.util
import math
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, cast

from nbckpt.fingerprint.values.raw_members import members_of

_BITS = bytes.fromhex("7ff8000000000000")
"""Of the NaN that everybody has; those with a sign or a payload are told apart by some."""

_AS_WRITTEN = re.compile(b"G" + re.escape(_BITS))
"""Pattern of that NaN in a pickle: an opcode, and the bits."""

MOST_OBJECTS = 100_000


def may_be_in(segments: Sequence[Any]) -> bool:
    """True if a stream holds a NaN of Python's."""
    return any(_AS_WRITTEN.search(segment) for segment in segments)


def unite(values: dict[str, object], namespace: Mapping[str, object]) -> None:
    """Have NaN among keys, and variables that are NaN, be one object.

    Parameters
    ----------
    namespace
        The live variables: where one of them is a NaN, it is that object.
    """
    for name, value in values.items():
        if _is_nan(value):
            values[name] = _nan_of(namespace)
    seen: dict[int, object] = {}
    waiting: list[Any] = [v for v in values.values() if type(v) not in _LEAVES]
    while waiting and len(seen) < MOST_OBJECTS:
        holder = waiting.pop()
        if id(holder) in seen:
            continue
        seen[id(holder)] = holder
        kind = type(holder)
        if kind in _DICTS:
            _unite_keys(holder, namespace)
            waiting += (value for value in dict.values(holder) if type(value) not in _LEAVES)
        elif kind is list or kind is tuple:
            waiting += (item for item in holder if type(item) not in _LEAVES)
        elif not issubclass(kind, _CODE) and (members := members_of(holder)):
            waiting.append(members)


def _unite_keys(holder: dict[Any, Any], namespace: Mapping[str, object]) -> None:
    if sum(map(_is_nan, holder)) != 1:  # several are not one
        return
    nan, items = _nan_of(namespace), list(dict.items(holder))
    dict.clear(holder)
    dict.update(holder, ((nan if _is_nan(key) else key, value) for key, value in items))


def _is_nan(value: object) -> bool:
    return type(value) is float and value != value and struct.pack(">d", value) == _BITS


def _nan_of(namespace: Mapping[str, object]) -> float:
    live: dict[int, Any] = {id(v): v for v in list(namespace.values()) if _is_nan(v)}
    if len(live) == 1:
        (found,) = live.values()
        return cast("float", found)
    if importlib.util.find_spec("numpy") is None:
        return math.nan
    import numpy as np

    return np.nan


_DICTS = frozenset({dict, defaultdict, Counter})
_CODE = (type, ModuleType, FunctionType)
_LEAVES = frozenset({str, bytes, int, float, bool, complex, type(None)})
