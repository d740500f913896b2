"""Addresses of objects: alone, of which no audit hook is told, and in a row.

CPython raises an audit event for each call of `id` (``builtins.id``), so that a hook in Python,
which we have, makes it take six times as long; a walk through a list asks it of each element.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import is_
from typing import Any

address_of: Callable[[object], int] = object.__hash__
"""A number that an object alone has as long as it lives, as `id` gives another one.

By `object` alone, whatever its class says: it is made of the address (`_Py_HashPointer`).
"""


def are_at(some: tuple[Any, ...], others: tuple[Any, ...], start: int) -> bool:
    """True if the very objects of one tuple stand in another one, from a number on.

    In CPython the addresses of a tuple's elements lie in a row behind its head, which
    `tuple.__basicsize__` is the size of: to compare memory takes a tenth of the time that it takes
    to compare objects.
    """
    if start + len(some) > len(others):
        return False
    if _memcmp is None:
        return all(map(is_, some, islice(others, start, None)))
    n_bytes = len(some) * _ADDRESS_BYTES
    there = id(others) + _HEAD_BYTES + start * _ADDRESS_BYTES
    return bool(_memcmp(id(some) + _HEAD_BYTES, there, n_bytes) == 0)


def ids_of(objects: tuple[Any, ...]) -> Sequence[int]:
    """The `id` of each of some objects, of which no audit hook is told."""
    if _memcmp is None:
        return [*map(id, objects)]
    kind = ctypes.c_size_t * len(objects)
    return kind.from_address(id(objects) + _HEAD_BYTES)[:]


def packed_ids_of(objects: tuple[Any, ...]) -> array[int]:
    """The same in eight bytes each."""
    if _memcmp is None or array("Q").itemsize != _ADDRESS_BYTES:
        return array("Q", ids_of(objects))
    return array("Q", memory_at(id(objects) + _HEAD_BYTES, len(objects) * _ADDRESS_BYTES).raw)


def is_among(packed: bytes, one: object) -> bool:
    """True if the `id` of an object is one of those in the bytes of `packed_ids_of`."""
    own = array("Q", [id(one)]).tobytes()
    at = packed.find(own)
    while at > 0 and at % len(own):  # of two others the end and the beginning
        at = packed.find(own, at + 1)
    return at >= 0


def by_id(objects: Iterable[Any]) -> dict[int, Any]:
    """Object by its `id`, each once, in their order; of which no audit hook is told."""
    found = tuple(objects)
    return dict(zip(ids_of(found), found, strict=True))


def memory_at(address: int, size: int) -> ctypes.Array[ctypes.c_char]:
    """Memory of the process as a buffer that may be written; the caller keeps it alive."""
    return (ctypes.c_char * size).from_address(address)


_ADDRESS_BYTES = ctypes.sizeof(ctypes.c_void_p)
_HEAD_BYTES = tuple.__basicsize__


def _found_memcmp() -> Any:
    """The C library's function; None if there is none, or if tuples look otherwise."""
    if sys.implementation.name != "cpython":
        return None
    probe = (object(), "probe", object())
    lies_there = (ctypes.c_void_p * len(probe)).from_address(id(probe) + _HEAD_BYTES)
    if list(lies_there) != [id(part) for part in probe]:
        return None
    try:
        found: Any = ctypes.PyDLL(None).memcmp
    except (AttributeError, OSError, TypeError):
        return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    found.restype = ctypes.c_int
    return found


_memcmp = _found_memcmp()
