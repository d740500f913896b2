"""A digest of each variable that holds in every process, and what differs between two namespaces.

It is this benchmark's own, so that no system is judged by its own idea of what is equal.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Sequence
from typing import Any

import numpy as np


def digests_of(variables: dict[str, Any]) -> dict[str, str]:
    """Name → digest."""
    return {name: _Walk().digest(value) for name, value in sorted(variables.items())}


def difference(want: dict[str, str], got: dict[str, str]) -> dict[str, list[str]]:
    """Which variables are wrong, missing, or should not be there."""
    return {
        "wrong": sorted(k for k in want if k in got and want[k] != got[k]),
        "missing": sorted(want.keys() - got.keys()),
        "extra": sorted(got.keys() - want.keys()),
    }


def broken(invariants: Sequence[str], variables: dict[str, Any]) -> list[str]:
    """The expressions that do not hold."""
    found = []
    for expression in invariants:
        try:
            holds = bool(eval(expression, dict(variables)))
        except Exception as error:
            found.append(f"{expression} ({type(error).__name__})")
            continue
        if not holds:
            found.append(expression)
    return found


class _Walk:
    """Through one value; an object met again counts as the one that it was."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=12)
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # so that the ids of what reductions make stay unique

    def digest(self, value: object) -> str:
        self._add(value)
        return self._hash.hexdigest()

    def _put(self, *parts: object) -> None:
        for part in parts:
            self._hash.update(part if isinstance(part, bytes) else str(part).encode())
            self._hash.update(b"\0")

    def _add(self, value: Any) -> None:
        kind = type(value)
        if value is None or kind in (int, float, bool, str, bytes, complex):
            self._put(kind.__name__, value if kind is bytes else repr(value))
        elif isinstance(value, np.generic):
            self._put("npscalar", value.dtype.str, value.tobytes())
        elif isinstance(value, types.ModuleType | type):
            self._put("named", getattr(value, "__qualname__", value.__name__))
        elif callable(value) and hasattr(value, "__code__"):
            self._put("function", value.__name__, value.__code__.co_code)
        elif id(value) in self._seen:
            self._put("again", self._seen[id(value)])
        else:
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
            self._inside(value, kind)

    def _inside(self, value: Any, kind: type) -> None:
        is_pandas = kind.__module__.split(".")[0] == "pandas"
        if isinstance(value, np.ndarray):
            self._array(value)
        elif is_pandas and hasattr(value, "columns"):
            self._put("frame", list(map(str, value.columns)), value.index.name)
            self._add(np.asarray(value.index))
            for i in range(value.shape[1]):
                self._add(value.iloc[:, i].to_numpy())
        elif is_pandas and hasattr(value, "to_numpy"):
            self._put("series", getattr(value, "name", None))
            self._add(value.to_numpy())
        elif isinstance(value, dict):
            self._put(kind.__name__, len(value))
            for key, member in value.items():
                self._add(key)
                self._add(member)
        elif isinstance(value, list | tuple):
            self._put(kind.__name__, len(value))
            for member in value:
                self._add(member)
        elif isinstance(value, set | frozenset):
            self._put(kind.__name__, sorted(map(repr, value)))
        else:
            self._object(value, kind)

    def _array(self, array: Any) -> None:
        self._put("array", array.dtype.str, array.shape)
        if array.dtype.names:
            # Field by field: what lies between them is no value, and a copy need not keep it.
            for name in array.dtype.names:
                self._put(name)
                self._array(array[name])
        elif array.dtype.hasobject:
            for member in array.ravel().tolist():
                self._add(member)
        elif array.size:
            self._hash.update(np.ascontiguousarray(array).view(np.uint8).data)

    def _object(self, value: object, kind: type) -> None:
        self._put("object", kind.__qualname__)
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            self._put(repr(value)[:200])
            return
        if isinstance(reduced, tuple):
            for part in reduced[1:]:
                self._add(list(part) if hasattr(part, "__next__") else part)
