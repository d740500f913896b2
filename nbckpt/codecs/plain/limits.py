"""Limits on the cost of a stream that anybody may have written: memory, depth and time.

Each bound is a multiple of the bytes that the stream has; none is met by what nbckpt writes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import TypeVar

from nbckpt.errors import UntrustedError

_T = TypeVar("_T")

MAX_DEPTH = 400
"""Levels of tuples inside each other: hashing one goes as deep, and Python does not count there."""

COPIES = 64
"""So many times its own size a stream may have copied, if that is no more than fits into memory."""

LEAST_COPIES = 2

FREE_BYTES = 16 << 20

HASHED = 8
"""So many parts of keys for each byte of a stream may be hashed."""

FREE_PARTS = 1 << 16

CROWDED = 512
"""From so many members on a dict or set is looked at for those with one hash."""

MAX_PARTS = 4096
MAX_LEVELS = 32
"""Of a type that is made of others: a record, a list of lists."""

_PART_BYTES = 64

_MACHINE_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

CONTAINERS = frozenset({tuple, frozenset})


class Limits:
    """The bounds of one stream, and how far it has used them up.

    Parameters
    ----------
    n_bytes
        Of all parts of the blob.
    is_look
        True if what is built is let go of at once: then buffers need not be copied.
    """

    def __init__(self, n_bytes: int, *, is_look: bool = False) -> None:
        self.n_bytes = n_bytes
        self.is_look = is_look
        most = max(LEAST_COPIES * n_bytes, _MACHINE_BYTES // 2)
        self._to_copy = min(COPIES * n_bytes, most) + FREE_BYTES
        self._to_hash = HASHED * n_bytes + FREE_PARTS
        self._weights: dict[int, tuple[int, int]] = {}  # id of a tuple → parts, levels
        self._composed: dict[int, tuple[object, int, int]] = {}  # the same of types, which it holds

    def charge(self, what: Collection[object]) -> None:
        """Count what is given to a call, which may copy it."""
        cost = 8 * len(what)
        for value in what:
            kind = type(value)
            if kind in _SIZED:
                cost += len(value)  # type: ignore[arg-type]
            elif kind in _HOLDERS:
                cost += 8 * len(value)  # type: ignore[arg-type]
                if kind is tuple:
                    cost += sum(8 * len(v) for v in value if type(v) in _BOTH)  # type: ignore[attr-defined,misc]
            elif kind is int:
                cost += value.bit_length() >> 3  # type: ignore[attr-defined]
            elif kind is memoryview and value.readonly:  # type: ignore[attr-defined]
                cost += value.nbytes  # type: ignore[attr-defined]
        self.spend(cost)

    def spend(self, n_bytes: int) -> None:
        """Count bytes that are about to be copied."""
        self._to_copy -= n_bytes
        if self._to_copy < 0:
            message = "it would take many times the memory of what is stored"
            raise UntrustedError(message)

    def compose(self, made: _T, parts: Iterable[object]) -> _T:
        """Take note of a type that is made of others: one that has itself twice doubles each time.

        Raises
        ------
        UntrustedError
            If it has too many parts, those counted again that it has several times, or levels.
        """
        known = [self._composed.get(id(part), (part, 1, 1)) for part in parts]
        size = 1 + sum(parts for _, parts, _ in known)
        depth = 1 + max((levels for _, _, levels in known), default=0)
        self.spend(_PART_BYTES * size)
        if size > MAX_PARTS or depth > MAX_LEVELS:
            message = "its type has too many parts"
            raise UntrustedError(message)
        self._composed[id(made)] = (made, size, depth)
        return made

    def weigh(self, group: tuple[object, ...] | frozenset[object]) -> None:
        """Take note of how deep and how large a new tuple or frozen set is."""
        weight, depth = 1, 1
        for part in group:
            kind = type(part)
            if kind in CONTAINERS:
                parts, levels = self._weights.get(id(part)) or (1 + len(part), 1)  # type: ignore[arg-type]
                weight += parts
                depth = max(depth, levels + 1)
            elif kind is int:
                weight += 1 + (part.bit_length() >> 9)  # type: ignore[attr-defined]
            else:
                weight += 1
        if depth > MAX_DEPTH:
            message = f"it has more than {MAX_DEPTH} tuples inside each other"
            raise UntrustedError(message)
        if weight > len(group) + 1:
            self._weights[id(group)] = (weight, depth)
        else:
            self._weights.pop(id(group), None)

    def keys(self, keys: Iterable[object]) -> None:
        """Count the work of finding places for keys in a dict or set."""
        for key in keys:
            kind = type(key)
            if kind is int:
                self._to_hash -= 1 + (key.bit_length() >> 9)  # type: ignore[attr-defined]
            elif kind in CONTAINERS:
                self._to_hash -= self._weights.get(id(key), (1, 1))[0]
            if self._to_hash < 0:
                raise UntrustedError(_TOO_SLOW)

    def crowd(self, members: Collection[object], before: int) -> None:
        """Refuse a dict or set that would grow slowly: many members with one hash."""
        now = len(members)
        if now < CROWDED or now.bit_length() == before.bit_length():
            return
        if 8 * len({hash(m) for m in members}) < now:
            raise UntrustedError(_TOO_SLOW)


_TOO_SLOW = "its keys would take too long to be told apart"
_SIZED = frozenset({str, bytes, bytearray})
_HOLDERS = frozenset({tuple, list, dict, set, frozenset})
_BOTH = _SIZED | (_HOLDERS - {tuple})
