"""Chunks that lie side by side on disk, and are read with one call."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from nbckpt.storage import file_calls
from nbckpt.storage.disk import reread
from nbckpt.storage.index_frames import Name, Place
from nbckpt.storage.packs import open_pack

SPAN_BYTES = 1 << 20
GAP_BYTES = 4096  # less is read along rather than skipped


class PackGoneError(Exception):
    """A pack is not where it was: somebody pruned, and its chunks lie elsewhere, or nowhere."""


class Span(NamedTuple):
    """A range of a pack, and the chunks in it.

    Attributes
    ----------
    chunks
        Each with the offset of its bytes in the blob's part.
    """

    pack: str
    offset: int
    length: int
    chunks: list[tuple[int, Name, Place]]


def spans_of(names: Sequence[Name], places: Sequence[Place]) -> Iterator[Span]:
    """The chunks of a part, neighbours together, in the order of the part."""
    if len(names) == 1:  # of most blobs
        (name,), (place,) = names, places
        yield Span(place.pack, place.offset, place.length, [(0, name, place)])
        return
    open_: list[tuple[int, Name, Place]] = []
    pack, start, end, at = "", 0, 0, 0
    for name, place in zip(names, places, strict=True):
        own_end = place.offset + place.length
        if (
            open_
            and place.pack == pack
            and end <= place.offset <= end + GAP_BYTES
            and own_end - start <= SPAN_BYTES
        ):
            open_.append((at, name, place))
            end = own_end
        else:
            if open_:
                yield Span(pack, start, end - start, open_)
            open_ = [(at, name, place)]
            pack, start, end = place.pack, place.offset, own_end
        at += place.size
    if open_:
        yield Span(pack, start, end - start, open_)


class Packs:
    """Descriptors of the packs that one call reads, opened when they are needed.

    They live as long as one call: nothing to share with threads or forked children, and a
    mapping stays when its descriptor goes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fds: dict[str, int] = {}

    def open(self, pack: str) -> int:
        """A descriptor for reading a pack.

        Raises
        ------
        PackGoneError
            If it is not there any more.
        OSError
            If it cannot be read.
        """
        if pack not in self._fds:
            try:
                self._fds[pack] = open_pack(self._folder, pack)
            except FileNotFoundError:
                raise PackGoneError(pack) from None
        return self._fds[pack]

    def read(self, span: Span, scratch: memoryview) -> memoryview:
        """The bytes of a span, in `scratch` if it has room; fewer where the file ends."""
        memory = scratch if span.length <= len(scratch) else memoryview(bytearray(span.length))
        memory = memory[: span.length]
        done = 0
        while done < span.length:
            count = reread(partial(self._read, span.pack, memory[done:], span.offset + done))
            if count == 0:
                break
            done += count
        return memory[:done]

    def _read(self, pack: str, memory: memoryview, offset: int) -> int:
        try:
            return file_calls.files.preadv(self.open(pack), memory, offset)
        except OSError as error:
            if error.errno == errno.ESTALE and pack in self._fds:
                file_calls.files.close(self._fds.pop(pack))  # opened anew when it is asked again
            raise

    def close(self) -> None:
        """Let go of all files."""
        for fd in self._fds.values():
            file_calls.files.close(fd)
