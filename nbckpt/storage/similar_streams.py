"""Streams that are mostly what they were when they were last put: only what changed is cut.

A list to which each cell appends, or of which it changes an element, is pickled whole by each, and
most of the stream is what it was. To compare it with what is remembered takes a tenth of the time
that it takes to cut and name it; of a stream that is too long to be remembered the names are
compared, which takes half.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from blake3 import blake3

from nbckpt.storage.cutting import by_content
from nbckpt.storage.index_frames import Name

LEAST_BYTES = 32 * 1024
MOST_STREAMS = 16
MOST_BYTES = 32 * 1024 * 1024
"""Of all remembered streams, whose bytes are held."""

MOST_CHUNKS = 250_000
"""Of all streams: some 2 GB of these, of which 40 MB of names are held."""

HEAD_BYTES = 256
"""The beginning of a stream, which holds the name of its variable, tells which one it is."""

BLOCK_CHUNKS = 64


class _Cut(NamedTuple):
    """A stream as it was cut.

    Attributes
    ----------
    names
        Of its chunks.
    ends
        Where each ends.
    beyond
        The two bytes behind each, fewer at the end of the stream: a cut depends on these.
    blocks
        The bytes of 64 chunks each, but of the last ones; nothing of a long stream.
    """

    names: list[Name]
    ends: list[int]
    beyond: list[bytes]
    blocks: list[bytes]

    def start_of(self, number: int) -> int:
        """Where a chunk begins."""
        return self.ends[number - 1] if number else 0


class SimilarStreams:
    """Cuts streams, and remembers those that were cut last."""

    def __init__(self) -> None:
        self._latest: OrderedDict[bytes, _Cut] = OrderedDict()

    def put(
        self,
        stream: bytes,
        has: Callable[[Name], bool],
        put_chunk: Callable[[memoryview], Name],
    ) -> list[Name]:
        """The names of a stream's chunks, all of which are in the store then.

        Parameters
        ----------
        has
            Tells if the store has a chunk.
        put_chunk
            Puts one that it may not have.
        """
        head = stream[:HEAD_BYTES]
        cutting = _Cutting(stream, self._latest.get(head), has, put_chunk)
        cutting.run()
        self._remember(head, cutting.cut)
        return cutting.cut.names

    def _remember(self, head: bytes, cut: _Cut) -> None:
        self._latest[head] = cut
        self._latest.move_to_end(head)
        n_chunks = sum(len(one.names) for one in self._latest.values())
        n_bytes = sum(one.ends[-1] for one in self._latest.values() if one.blocks)
        while (
            len(self._latest) > MOST_STREAMS or n_chunks > MOST_CHUNKS or n_bytes > MOST_BYTES
        ) and self._latest:
            oldest = self._latest.popitem(last=False)[1]
            n_chunks -= len(oldest.names)
            n_bytes -= oldest.ends[-1] if oldest.blocks else 0


class _Cutting:
    """One stream on its way through, beside what it was.

    A cut depends on nothing before the one before it: where the bytes behind a cut are those of a
    chunk and of what was behind it, the next cut is where that chunk ends.
    """

    def __init__(
        self,
        stream: bytes,
        before: _Cut | None,
        has: Callable[[Name], bool],
        put_chunk: Callable[[memoryview], Name],
    ) -> None:
        self.cut = _Cut([], [], [], [])
        self._stream = stream
        self._view = memoryview(stream)
        self._before = before
        self._has = has
        self._put_chunk = put_chunk
        self._places: dict[Name, int] | None = None

    def run(self) -> None:
        """Cut all of it."""
        number = 0  # of the chunk that was here, as far as is known
        while self._position < len(self._stream):
            number = self._passed(number)
            if self._position < len(self._stream):
                number = self._cut_until_known()
        self._end_blocks()

    @property
    def _position(self) -> int:
        return self.cut.ends[-1] if self.cut.ends else 0

    def _passed(self, number: int) -> int:
        """Take chunks that are as they were, from one on; the number of the first that is not."""
        before = self._before
        if before is None:
            return number
        while number < len(before.names):
            if number % BLOCK_CHUNKS == 0 and self._is_block(before, number):
                number += BLOCK_CHUNKS
            elif self._is_chunk(before, number):
                number += 1
            else:
                break
        return number

    def _is_block(self, before: _Cut, number: int) -> bool:
        """True if the bytes from here on are those of a block, whose chunks are taken then."""
        block = number // BLOCK_CHUNKS
        if block >= len(before.blocks):
            return False
        start, here = before.start_of(number), self._position
        stop = number + BLOCK_CHUNKS
        end = here + before.ends[stop - 1] - start
        if not self._stream.startswith(before.blocks[block], here):
            return False
        names = before.names[number:stop]
        if self._beyond(end) != before.beyond[stop - 1] or not all(map(self._has, names)):
            return False
        if len(self.cut.names) == len(self.cut.blocks) * BLOCK_CHUNKS:
            self.cut.blocks.append(before.blocks[block])
        self.cut.names.extend(names)
        self.cut.ends.extend(one - start + here for one in before.ends[number:stop])
        self.cut.beyond.extend(before.beyond[number:stop])
        return True

    def _is_chunk(self, before: _Cut, number: int) -> bool:
        """True if the bytes from here on are those of a chunk, which is taken then."""
        end = self._position + before.ends[number] - before.start_of(number)
        if end > len(self._stream) or self._beyond(end) != before.beyond[number]:
            return False
        data = self._view[self._position : end]
        name = before.names[number]
        if blake3(data).digest() != name:
            return False
        self._take(data, name if self._has(name) else self._put_chunk(data))
        return True

    def _cut_until_known(self) -> int:
        """Cut until a chunk comes that was there; the number of the next one."""
        for data in by_content(self._view[self._position :]):
            name = self._put_chunk(data)
            self._take(data, name)
            if (place := self._place_of(name)) is not None:
                return place + 1
        return 0

    def _place_of(self, name: Name) -> int | None:
        if self._before is None:
            return None
        if self._places is None:
            names = self._before.names
            self._places = {name: number for number, name in enumerate(names[:-1])}
        return self._places.get(name)

    def _take(self, data: memoryview, name: Name) -> None:
        end = self._position + len(data)
        self.cut.ends.append(end)
        self.cut.beyond.append(self._beyond(end))
        self.cut.names.append(name)

    def _beyond(self, end: int) -> bytes:
        return self._stream[end : end + 2]

    def _end_blocks(self) -> None:
        """Remember the bytes of the blocks that were not taken whole."""
        ends, blocks = self.cut.ends, self.cut.blocks
        if len(self._stream) > MOST_BYTES:
            blocks.clear()
            return
        for number in range(len(blocks), (len(ends) - 1) // BLOCK_CHUNKS):
            start = self.cut.start_of(number * BLOCK_CHUNKS)
            blocks.append(self._stream[start : ends[(number + 1) * BLOCK_CHUNKS - 1]])
