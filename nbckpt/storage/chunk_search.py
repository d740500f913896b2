"""Where chunks lie when no journal leads to them: packs are read through for index frames.

A frame whose digest is wrong is no reason to give up all its chunks: each entry that can be one is
a place to look, because whoever reads a chunk verifies it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nbckpt.storage import file_calls
from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.disk import files_in, read_at
from nbckpt.storage.index_frames import (
    ENTRY,
    FRAME,
    RAW,
    SUM_BYTES,
    ZEROS,
    ZSTD,
    Name,
    Place,
    place_of,
    read_frame,
)
from nbckpt.storage.packs import HEADER, SUFFIX, frame_offsets, open_pack
from nbckpt.storage.sealing import open_entries, sealed_bytes

_CODECS = frozenset({RAW, ZSTD, ZEROS})
MOST_ENTRIES = 1 << 16
ODD_ENTRIES = 4
"""After so many in a row that cannot be entries, the frame is taken to have ended."""


class Search:
    """The chunks of a folder of packs, as far as it was read through."""

    def __init__(self, folder: Path, cipher: Cipher | None) -> None:
        self._folder = folder
        self._cipher = cipher
        self._found: dict[Name, list[Place]] = {}
        self._read: dict[str, tuple[int, int]] = {}  # size then, where to go on
        self._broken: dict[str, set[int]] = {}
        self._salvaged: set[tuple[str, int]] = set()

    def places(self, name: Name) -> list[Place]:
        """Where a chunk lies, or may lie; those that whole frames name come first."""
        with suppress(FileNotFoundError, NotADirectoryError):
            for path in files_in(self._folder, SUFFIX):
                self._read_on(path.stem)
            if name not in self._found:
                self._salvage()
        return self._found.get(name, [])

    def note_broken(self, pack: str, offset: int) -> None:
        """Look also where a frame was that is damaged, magic and all."""
        self._broken.setdefault(pack, set()).add(offset)

    def begin_anew(self) -> None:
        """Forget all: packs are gone."""
        self._found, self._read, self._broken, self._salvaged = {}, {}, {}, set()

    def _read_on(self, pack: str) -> None:
        with suppress(OSError):
            fd = open_pack(self._folder, pack)
            try:
                size = file_calls.files.fstat(fd).st_size
                size_then, start = self._read.get(pack, (0, 0))
                if size == size_then:
                    return
                for offset in frame_offsets(fd, start):
                    frame = read_frame(fd, pack, offset, self._cipher)
                    if frame is None:
                        self.note_broken(pack, offset)
                        continue
                    self._add(frame.chunks)
                    start = frame.offset + frame.length
                self._read[pack] = (size, start)
            finally:
                file_calls.files.close(fd)

    def _salvage(self) -> None:
        for pack, offsets in self._broken.items():
            for offset in offsets:
                if (pack, offset) in self._salvaged:
                    continue
                self._salvaged.add((pack, offset))
                with suppress(OSError):
                    fd = open_pack(self._folder, pack)
                    try:
                        self._add(salvaged(fd, pack, offset, self._cipher))
                    finally:
                        file_calls.files.close(fd)

    def _add(self, chunks: Iterator[tuple[Name, Place]] | tuple[tuple[Name, Place], ...]) -> None:
        for name, place in chunks:
            places = self._found.setdefault(name, [])
            if place not in places:
                places.append(place)


def salvaged(
    fd: int, pack: str, offset: int, cipher: Cipher | None = None
) -> Iterator[tuple[Name, Place]]:
    """Possible entries of a damaged frame that stood at `offset`, none of them verified."""
    if cipher is not None:
        yield from _opened(fd, pack, offset, cipher)
        return
    table = read_at(fd, MOST_ENTRIES * ENTRY.size, offset + FRAME.size)
    odd = 0
    for at in range(0, len(table) - ENTRY.size + 1, ENTRY.size):
        entry = table[at : at + ENTRY.size]
        place = place_of(pack, entry)
        if _can_be(place, offset):
            odd = 0
            yield entry[:SUM_BYTES], place
            continue
        odd += 1
        if odd == ODD_ENTRIES:
            return


def _opened(fd: int, pack: str, offset: int, cipher: Cipher) -> Iterator[tuple[Name, Place]]:
    """The entries of a damaged frame whose two sealed copies were not hit both."""
    head = read_at(fd, FRAME.size, offset)
    if len(head) < FRAME.size:
        return
    *_, count, _, again = FRAME.unpack(head)
    for n in {min(count, MOST_ENTRIES), min(again, MOST_ENTRIES)}:
        body = read_at(fd, sealed_bytes(n, ENTRY.size), offset + FRAME.size)
        entries = open_entries(cipher, body, n, pack=pack, offset=offset)
        if entries is not None:
            for at in range(0, len(entries), ENTRY.size):
                entry = entries[at : at + ENTRY.size]
                yield entry[:SUM_BYTES], place_of(pack, entry)
            return


def _can_be(place: Place, frame: int) -> bool:
    """True if a chunk can lie there: before its frame, in a form that is known."""
    if place.codec not in _CODECS:
        return False
    if place.codec == ZEROS:
        return place.offset == place.length == 0 < place.size
    return place.offset >= HEADER.size and place.length > 0 and place.offset + place.length <= frame
