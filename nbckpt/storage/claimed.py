"""Limit on the size that another user's value claims to have: few bytes may claim terabytes.

A chunk may be named any number of times, and zeros take no bytes at all. So what counts is what a
value has beyond its bytes in the store: half of the memory that is free is the most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nbckpt.errors import TRUST_IT, RestoreError
from nbckpt.storage.blobs import Part
from nbckpt.storage.cutting import GROUP_MAX_NAMES
from nbckpt.storage.frames import Name, Place
from nbckpt.storage.free_memory import free_bytes
from nbckpt.text.units import bytes_text

SHARE = 2
STREAM_WEIGHT = 64
"""Bytes of memory that one of a stream, the first part, may become."""
NAME_WEIGHT = 128
"""Bytes of memory that the name of a chunk takes while it is read."""


def require_room(
    parts: Sequence[Part],
    names: Callable[[Part], Iterable[Name]],
    find: Callable[[Name], Place | None],
    limit: int | None,
) -> None:
    """Raise unless a blob that somebody else wrote fits into memory.

    Parameters
    ----------
    names
        The chunks of a part, as they are asked for.
    limit
        The setting `max_value_size`, which holds for all that is said to be there.

    Raises
    ------
    RestoreError
        If it does not, or is larger than `limit`.
    """
    said = sum(part.size for part in parts)
    if limit is not None and said > limit:
        message = (
            f"it says that it has {bytes_text(said)}, more than max_value_size"
            f" ({bytes_text(limit)}) lets through: if it may, {TRUST_IT}"
        )
        raise RestoreError(message)
    room = free_bytes() // SHARE
    if _at_most(parts) > room and _excess(parts, names, find, room) > room:
        message = (
            f"it says that it has {bytes_text(said)}, of which little is stored, and without trust"
            f" no more than {bytes_text(room)}, half of the free memory, is filled up: if it may be"
            f" so large, {TRUST_IT}"
        )
        raise RestoreError(message)


def _at_most(parts: Sequence[Part]) -> int:
    """Memory that a blob takes at most; only its root is looked at."""
    sizes = (part.size * _weight(number) for number, part in enumerate(parts))
    return sum(sizes) + NAME_WEIGHT * sum(
        len(part.names) * (GROUP_MAX_NAMES if part.grouped else 1) for part in parts
    )


def _excess(
    parts: Sequence[Part],
    names: Callable[[Part], Iterable[Name]],
    find: Callable[[Name], Place | None],
    room: int,
) -> int:
    """Memory that it takes beyond its bytes in the store, each chunk counted once."""
    seen: set[Name] = set()
    excess = 0
    for number, part in enumerate(parts):
        stored, named = 0, 0
        for name in names(part):
            named += NAME_WEIGHT
            if name in seen:
                if excess + named - stored > room:  # there may be no end of them
                    return excess + named - stored
                continue
            seen.add(name)
            place = find(name)
            stored += min(place.length, place.size) if place else 0
        excess += max(0, part.size - stored) * _weight(number) + named
    return excess


def _weight(number: int) -> int:
    return 1 if number else STREAM_WEIGHT
