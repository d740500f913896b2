"""Entries of index frames, taken in quickly and decoded when a chunk is asked for.

A hundred thousand model calls leave as many frames. Each is verified when it is read, and of its
entries only the names are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from nbckpt.storage.disk import read_at
from nbckpt.storage.index_frames import ENTRY, Name, Place, place_of

AHEAD_BYTES = 1 << 20
NEAR_BYTES = 64 << 10
"""Frames no further apart are read together."""
_NAMES = struct.Struct(f"<32s{ENTRY.size - 32}x")


class Entries(NamedTuple):
    """The entries of one frame, as they stand in it."""

    pack: str
    table: bytes

    def names(self) -> Iterator[tuple[Name]]:
        """Of the chunks."""
        return _NAMES.iter_unpack(self.table)

    def place(self, name: Name) -> Place:
        """Where a chunk of this frame lies.

        Raises
        ------
        KeyError
            If it is none of this frame.
        """
        at = self.table.find(name)
        while at >= 0 and at % ENTRY.size:
            at = self.table.find(name, at + 1)
        if at < 0:
            raise KeyError(name)
        return place_of(self.pack, self.table[at : at + ENTRY.size])


class Window:
    """Reads pieces of a file, and what lies behind them where the next piece will be there."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._data, self._start = b"", 0

    def read(self, length: int, offset: int) -> bytes:
        """`length` bytes, or fewer where the file ends."""
        at, end = offset - self._start, self._start + len(self._data)
        if at < 0 or offset + length > end:
            is_near = at >= 0 and offset < end + NEAR_BYTES
            self._data = read_at(self._fd, max(length, AHEAD_BYTES if is_near else 0), offset)
            self._start, at = offset, 0
        return self._data[at : at + length]
