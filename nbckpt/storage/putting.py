"""Parts → chunks in packs: what the store has is not written again.

What is written is what was hashed: another thread may write to a buffer meanwhile, so its bytes
are copied first, into scratch memory that stays in the processor's cache. Large parts are
copied, hashed and written by several threads; places are given in order, so that the chunks of a
part lie one after the other and few mappings bring them back. Where the kernel tells which pages
were written, chunks whose names still hold and that the store has are not even read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.pages.devices import is_pinned
from nbckpt.pages.memory import look
from nbckpt.storage.batches import Batches
from nbckpt.storage.blobs import Part, flat, is_stream, tree_of
from nbckpt.storage.cutting import by_content, evenly
from nbckpt.storage.forms import Press, is_zeros
from nbckpt.storage.packs import (
    CHUNK_BYTES,
    MAPPED_BYTES,
    PAGE_BYTES,
    RAW,
    ZEROS,
    Name,
    PackWriter,
    Place,
)
from nbckpt.storage.parallel import Turns, each

if TYPE_CHECKING:
    from typing_extensions import Buffer

UNIT_CHUNKS = 4
"""What a thread takes at once: little enough for the cache, enough to be worth taking turns."""
PARALLEL_UNITS = 4


class Putter:
    """Puts the parts of blobs into `batches`, whose lock the caller holds."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._press = Press()

    def put(self, parts: Sequence[Buffer]) -> Digest:
        """The digest of a blob whose bytes are in the kernel's hands when this returns."""
        tree = tree_of([self._part(number, part) for number, part in enumerate(parts)])
        for group in tree.groups:
            self._put_small(memoryview(group), may_shrink=False)
        # A reader that knows nothing of the blob begins here, so it is never compressed.
        root = self._put_small(memoryview(tree.root), may_shrink=False)
        self._batches.flush()
        return root.hex()

    def _part(self, number: int, part: Buffer) -> Part:
        view = flat(part)
        if is_stream(number, part):
            names = [self._put_small(chunk) for chunk in by_content(view)]
        elif len(view) >= MAPPED_BYTES:
            names = _Large(self._batches, view, stable=isinstance(view.obj, bytes)).put()
        else:
            # One chunk: as it is at this instant.
            names = [self._put_small(memoryview(bytes(chunk))) for chunk in evenly(view)]
        return Part(len(view), memoryview(part).readonly, tuple(names))

    def _put_small(self, data: memoryview, *, may_shrink: bool = True) -> Name:
        """The name of a chunk that is never mapped, and whose bytes nobody changes."""
        name = blake3(data).digest()
        if not self._batches.has(name):
            codec, stored = self._press.form(data) if may_shrink else (RAW, data)
            pack, place = self._batches.reserve(name, len(stored), size=len(data), codec=codec)
            pack.hold(place, stored)
        return name


class _Large:
    """A part whose chunks readers will map."""

    def __init__(self, batches: Batches, view: memoryview, *, stable: bool) -> None:
        self._batches = batches
        self._view = view
        self._stable = stable
        self._turns = Turns()
        # Before anything is read: what is written from now on, the next look sees.
        self._look = look(view, watch=not is_pinned(view))
        self._units = [
            start
            for start in range(0, len(self._look.names), UNIT_CHUNKS)
            if not all(map(self._is_kept, self._look.names[start : start + UNIT_CHUNKS]))
        ]

    def put(self) -> list[Name]:
        """The names of its chunks."""
        threads = None if len(self._units) >= PARALLEL_UNITS else 1
        each(len(self._units), self._worker, turns=self._turns, threads=threads)
        return [name for name in self._look.names if name is not None]

    def _is_kept(self, name: Name | None) -> bool:
        return name is not None and self._batches.has(name)

    def _worker(self) -> Callable[[int], None]:
        scratch = memoryview(bytearray(0 if self._stable else UNIT_CHUNKS * CHUNK_BYTES))

        def put_unit(number: int) -> None:
            first = self._units[number]
            data = self._view[first * CHUNK_BYTES : (first + UNIT_CHUNKS) * CHUNK_BYTES]
            if not self._stable:
                scratch[: len(data)] = data
                data = scratch[: len(data)]
            chunks = list(evenly(data))
            names = [blake3(chunk).digest() for chunk in chunks]
            with self._turns.of(number):
                new = list(self._reserve(names, chunks))
            for pack, place, start, end in _joined(new):
                pack.write(place, data[start:end])
            for index, name in enumerate(names, first):
                self._look.learn(index, name)

        return put_unit

    def _reserve(
        self, names: list[Name], chunks: list[memoryview]
    ) -> Iterator[tuple[PackWriter, Place, int]]:
        for i, (name, chunk) in enumerate(zip(names, chunks, strict=True)):
            if self._batches.has(name):
                continue
            if is_zeros(name, chunk):
                self._batches.reserve(name, 0, size=len(chunk), codec=ZEROS)
                continue
            reserved = self._batches.reserve(name, len(chunk), size=len(chunk), unit=PAGE_BYTES)
            yield *reserved, i * CHUNK_BYTES


def _joined(
    new: list[tuple[PackWriter, Place, int]],
) -> Iterator[tuple[PackWriter, Place, int, int]]:
    """Where to write which range of a unit; chunks that follow each other are one range."""
    last: tuple[PackWriter, Place, int, int] | None = None
    for pack, place, start in new:
        end = start + place.length
        if last and last[0] is pack and last[3] == start and _follows(last, place):
            last = (pack, last[1], last[2], end)
            continue
        if last:
            yield last
        last = (pack, place, start, end)
    if last:
        yield last


def _follows(last: tuple[PackWriter, Place, int, int], place: Place) -> bool:
    _, first, start, end = last
    return first.offset + end - start == place.offset
