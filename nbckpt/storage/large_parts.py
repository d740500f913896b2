"""Put a part whose chunks readers will map, with several threads.

Each thread copies and hashes units of chunks. Places are given in the order of the part, so that
its chunks lie one after the other and few mappings bring them back, by whichever thread finds the
next units hashed; none waits for another, unless that one is far behind.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import NamedTuple

from blake3 import blake3

from nbckpt.runtime.dirty_pages.devices import is_pinned
from nbckpt.runtime.dirty_pages.memory import look
from nbckpt.runtime.interrupts import breathe
from nbckpt.storage.batches import Batches
from nbckpt.storage.chunk_forms import is_zeros
from nbckpt.storage.cutting import evenly
from nbckpt.storage.index_frames import ZEROS, Name, Place
from nbckpt.storage.packs import CHUNK_BYTES, PAGE_BYTES, PackWriter
from nbckpt.storage.parallel import Pieces, each, threads_for
from nbckpt.storage.waiting_writes import Write

UNIT_CHUNKS = 4
"""Chunks that a thread takes at once: few enough for the processor's cache."""

PARALLEL_UNITS = 4
AHEAD = 2
"""Most units for each thread: some stay in the cache till others had a place."""


class _Scratch(NamedTuple):
    """Memory for a copy; what is borrowed may keep it until it is written by another thread."""

    memory: memoryview
    is_borrowed: bool


class _Unit(NamedTuple):
    first: int
    data: memoryview
    names: list[Name]
    scratch: _Scratch


class _Range(NamedTuple):
    """Where to write a range of a unit."""

    pack: PackWriter
    place: Place
    start: int
    stop: int


class LargePart:
    """One part that is being put."""

    def __init__(self, batches: Batches, view: memoryview) -> None:
        self._batches = batches
        self._view = view
        self._is_stable = isinstance(view.obj, bytes)
        # Before anything is read: what is written from now on, the next look sees.
        self._look = look(view, watch=not is_pinned(view))
        names = self._look.names
        self._firsts = [
            first
            for first in range(0, len(names), UNIT_CHUNKS)
            if not all(map(self._is_kept, names[first : first + UNIT_CHUNKS]))
        ]
        self._scratches: queue.SimpleQueue[_Scratch | None] = queue.SimpleQueue()
        self._borrowed: list[memoryview] = []
        self._later: list[Write] = []
        self._hashed: dict[int, _Unit] = {}
        self._placed = 0
        self._order = threading.Lock()

    def put(self) -> list[Name]:
        """The names of its chunks; their bytes are copied, or in the kernel's hands."""
        threads = threads_for(len(self._firsts), enough=PARALLEL_UNITS)
        self._lay_out_scratches(threads)

        def wake() -> None:
            for _ in range(threads):
                self._scratches.put(None)

        if self._firsts:
            try:
                each(len(self._firsts), self._work, threads=threads, when_failed=wake)
            except BaseException:
                self._batches.waiting.give_back(self._borrowed)
                raise
        used = {id(write.scratch) for write in self._later}
        self._batches.waiting.give_back(m for m in self._borrowed if id(m) not in used)
        self._batches.write_later(self._later)
        return [name for name in self._look.names if name is not None]

    def _lay_out_scratches(self, threads: int) -> None:
        """Memory to copy into: first what may be written later, then a little to write at once."""
        unit_bytes = min(UNIT_CHUNKS * CHUNK_BYTES, len(self._view))
        if not self._is_stable:
            self._borrowed = self._batches.waiting.borrow(len(self._firsts), unit_bytes)
        for memory in self._borrowed:
            self._scratches.put(_Scratch(memory, is_borrowed=True))
        rest = len(self._firsts) - len(self._borrowed)
        for _ in range(min(AHEAD * threads if threads > 1 else 1, rest)):
            size = 0 if self._is_stable else unit_bytes
            self._scratches.put(_Scratch(memoryview(bytearray(size)), is_borrowed=False))
        for _ in range(threads if rest == 0 else 0):
            self._scratches.put(None)  # borrowed memory does not come round again

    def _is_kept(self, name: Name | None) -> bool:
        return name is not None and self._batches.has(name)

    def _work(self, pieces: Pieces) -> None:
        # Scratch first, a number then: so the unit that all others wait for always has some.
        while (scratch := self._scratches.get()) is not None:
            breathe()
            number = pieces.take()
            if number is None:
                self._scratches.put(scratch)
                return
            unit = self._hash(self._firsts[number], scratch)
            for ready, ranges in self._place(number, unit):
                self._write(ready, ranges)
                for index, name in enumerate(ready.names, ready.first):
                    self._look.learn(index, name)

    def _write(self, unit: _Unit, ranges: list[_Range]) -> None:
        memory, is_borrowed = unit.scratch
        if is_borrowed:
            self._later += [
                Write(r.pack, r.place, unit.data[r.start : r.stop], memory) for r in ranges
            ]
            return
        for pack, place, start, stop in ranges:
            pack.write(place, unit.data[start:stop])
        self._scratches.put(unit.scratch)

    def _hash(self, first: int, scratch: _Scratch) -> _Unit:
        """The unit as it is at this instant: another thread may write to it meanwhile."""
        data = self._view[first * CHUNK_BYTES : (first + UNIT_CHUNKS) * CHUNK_BYTES]
        if not self._is_stable:
            copy = scratch.memory[: len(data)]
            copy[:] = data
            data = copy
        return _Unit(first, data, [blake3(chunk).digest() for chunk in evenly(data)], scratch)

    def _place(self, number: int, unit: _Unit) -> list[tuple[_Unit, list[_Range]]]:
        """All units that have their place now, each with what of it is to be written where."""
        with self._order:
            self._hashed[number] = unit
            ready = []
            while self._placed in self._hashed:
                next_one = self._hashed.pop(self._placed)
                ready.append((next_one, list(_joined(self._reserve(next_one)))))
                self._placed += 1
        return ready

    def _reserve(self, unit: _Unit) -> Iterator[_Range]:
        for i, (name, chunk) in enumerate(zip(unit.names, evenly(unit.data), strict=True)):
            if self._batches.has(name):
                continue
            if is_zeros(name, chunk):
                self._batches.reserve(name, 0, size=len(chunk), codec=ZEROS)
                continue
            size = len(chunk)
            pack, place = self._batches.reserve(name, size, size=size, unit=PAGE_BYTES)
            yield _Range(pack, place, i * CHUNK_BYTES, i * CHUNK_BYTES + size)


def _joined(ranges: Iterator[_Range]) -> Iterator[_Range]:
    """The same ranges, those that follow each other in memory and on disk made one."""
    last: _Range | None = None
    for new in ranges:
        if last and _follows(last, new):
            last = last._replace(stop=new.stop)
            continue
        if last:
            yield last
        last = new
    if last:
        yield last


def _follows(last: _Range, new: _Range) -> bool:
    same_gap = new.place.offset - last.place.offset == new.start - last.start
    return last.pack is new.pack and last.stop == new.start and same_gap
