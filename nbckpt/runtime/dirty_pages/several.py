"""Values derived from several pieces of memory, such as the buffers of one column."""

from __future__ import annotations

import ctypes
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar, cast

from blake3 import blake3

from nbckpt.runtime.dirty_pages.memory import WATCHED_BYTES, Place, look_at
from nbckpt.runtime.dirty_pages.watches import Watch

MAX_VALUES = 1 << 12

T = TypeVar("T")
_Moments: TypeAlias = "list[tuple[Watch, int] | None]"

_values: OrderedDict[Hashable, tuple[_Moments, object]] = OrderedDict()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_values.clear)


def remember_all(places: Sequence[Place], key: Hashable, compute: Callable[[], T]) -> T:
    """`compute()`, which reads several places; again only if one of them was written.

    The caller keeps all of them alive. Small ones are read to see whether they changed.

    Parameters
    ----------
    places
        All memory that `compute` reads.
    key
        Whatever the result depends on beside the bytes.
    compute
        Reads the memory.
    """
    looks = [look_at(place) for place in places if place.n_bytes >= WATCHED_BYTES]
    if not looks or any(now.moment is None for now in looks):
        return compute()
    small = (place for place in places if place.n_bytes < WATCHED_BYTES)
    read = blake3(b"".join(ctypes.string_at(*place) for place in small)).digest()
    whole_key = (key, tuple(places), read)
    known = _values.get(whole_key)
    if known and all(
        now.is_unwritten_since(then) for now, then in zip(looks, known[0], strict=True)
    ):
        return cast(T, known[1])
    value = compute()
    _values[whole_key] = [now.moment for now in looks], value
    if len(_values) > MAX_VALUES:
        _values.popitem(last=False)
    return value
