"""Bytes that were copied from the user's buffers and wait to be written, bounded in memory.

A cell is held while its new bytes are copied and hashed, not while the disk takes them. The copies
are private: whatever the next cells do to their buffers, what is written is what was hashed.
"""

from __future__ import annotations

import mmap
import threading
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from nbckpt.storage.index_frames import Place
from nbckpt.storage.packs import PackWriter

MOST_BYTES = 192 * 1024 * 1024
"""Most bytes that may wait by default; the rest is written while its cell is held."""

MAPPED_BYTES = 64 * 1024
"""Pieces from here on are mapped."""

SPARE_BYTES = 64 * 1024 * 1024
"""Memory kept for the next copies: new pages cost more than the copy itself."""


class Write(NamedTuple):
    """Bytes and where they go; `scratch` is the memory that they lie in, if that is lent."""

    pack: PackWriter
    place: Place
    data: memoryview
    scratch: memoryview | None


class Waiting:
    """Lends memory for copies, and writes them later.

    Attributes
    ----------
    most_bytes
        What may be lent; a few units are copied beside it while a cell is held.
    """

    def __init__(self) -> None:
        self.most_bytes = MOST_BYTES
        self._queue: deque[Write] = deque()
        self._stranded: list[Write] = []
        self._spare: list[memoryview] = []
        self._lent_bytes = 0
        self._lock = threading.Lock()
        self._draining = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._queue)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that no file has yet."""
        return sum(len(write.data) for write in list(self._queue))

    def borrow(self, count: int, size: int) -> list[memoryview]:
        """At most `count` pieces of memory of `size` bytes each, as many as may be lent now."""
        with self._lock:
            count = max(0, min(count, (self.most_bytes - self._lent_bytes) // max(size, 1)))
            self._lent_bytes += count * size
            fitting = [piece for piece in self._spare if len(piece) == size][:count]
            taken = set(map(id, fitting))
            self._spare = [piece for piece in self._spare if id(piece) not in taken]
        return fitting + [_fresh(size) for _ in range(count - len(fitting))]

    def give_back(self, pieces: Iterable[memoryview]) -> None:
        """Take back memory that was lent."""
        with self._lock:
            for piece in pieces:
                self._lent_bytes -= len(piece)
                most = min(SPARE_BYTES, self.most_bytes)
                if sum(map(len, self._spare)) + len(piece) <= most:
                    self._spare.append(piece)

    def add(self, writes: Iterable[Write]) -> None:
        """Have these written by the next `drain`, after those that wait."""
        self._queue.extend(writes)

    def drain(self) -> None:
        """Return when all that waited when this was called is in the kernel's hands.

        Raises
        ------
        OSError
            If the disk refuses. What it has not taken goes on waiting.
        """
        with self._draining:
            while self._queue:
                write = self._queue[0]
                write.pack.write(write.place, write.data)
                self._queue.popleft()
                if write.scratch is not None and not self._is_used(write.scratch):
                    self.give_back([write.scratch])

    def strand(self) -> None:
        """Give up the places of all that waits: their packs are closed. The bytes stay here."""
        with self._draining:
            self._stranded += self._queue
            self._queue.clear()

    def stranded_at(self, place: Place) -> bytes | None:
        """The bytes of a place that was given up; None if they were written."""
        for write in self._stranded:
            start = place.offset - write.place.offset
            if write.pack.name == place.pack and 0 <= start < len(write.data):
                return bytes(write.data[start : start + place.length])
        return None

    def forget_stranded(self) -> None:
        """Let go of what has a place again."""
        lent = {id(write.scratch): write.scratch for write in self._stranded if write.scratch}
        self._stranded = []
        self.give_back(lent.values())

    def _is_used(self, scratch: memoryview) -> bool:
        """True if the next write is of the same memory: a unit may go to several places."""
        return bool(self._queue) and self._queue[0].scratch is scratch


def _fresh(size: int) -> memoryview:
    """New memory that goes back to the system when it is dropped; a heap keeps what is small."""
    if size < MAPPED_BYTES:
        return memoryview(bytearray(size))
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
