"""The large lists and dicts that are remembered as they were found, until they are gone.

Loaded with the extension; what finds them, `segments`, is loaded by a cell.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from contextvars import ContextVar
from threading import Lock
from typing import Any, Protocol

MOST_ROOTS = 16
MOST_OBJECTS = 10_000_000
"""Objects inside what is remembered: 80 MB of addresses."""

MOST_BYTES = 32 * 1024 * 1024
"""Of all segments' bytes that are held, and letters of a value that is written by segments."""

REMEMBERS: ContextVar[bool] = ContextVar("nbckpt_remembers_segments", default=True)
"""False where what is known is to be checked."""


class Found(Protocol):
    """A list or dict as it was found.

    Attributes
    ----------
    n_objects, n_held_bytes
        Objects inside that are remembered, and bytes that are held of them.
    """

    n_objects: int
    n_held_bytes: int


_memory: OrderedDict[int, Found] = OrderedDict()
_lock = Lock()


def known(root: object) -> Any:
    """A list or dict as it was found last; it may be another one at its address by now.

    None if nothing is remembered of it.
    """
    return _memory.get(id(root)) if REMEMBERS.get() else None


def note(root: object, found: Found) -> None:
    """Remember a list or dict as it was found, and forget the oldest if these are too many."""
    if REMEMBERS.get() and _lock.acquire(blocking=False):  # else another thread is at it
        try:
            _remember(root, found)
        finally:
            _lock.release()


def _remember(root: object, found: Found) -> None:
    _memory[id(root)] = found
    _memory.move_to_end(id(root))
    n_objects = sum(one.n_objects for one in _memory.values())
    n_bytes = sum(one.n_held_bytes for one in _memory.values())
    while _memory and (
        len(_memory) > MOST_ROOTS or n_objects > MOST_OBJECTS or n_bytes > MOST_BYTES
    ):
        _, oldest = _memory.popitem(last=False)
        n_objects -= oldest.n_objects
        n_bytes -= oldest.n_held_bytes


def forget_all_but(values: Iterable[object]) -> None:
    """Remember nothing of what are not values of variables any more."""
    if _memory:
        _forget(_memory.keys() - set(map(id, values)))


def forget(values: Iterable[object]) -> None:
    """Remember nothing of some values, which may go now."""
    if _memory:
        _forget(_memory.keys() & set(map(id, values)))


def _forget(gone: Iterable[int]) -> None:
    if _lock.acquire(blocking=False):
        try:
            for identity in gone:
                _memory.pop(identity, None)
        finally:
            _lock.release()
