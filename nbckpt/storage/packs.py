"""Append chunks to a session's own packs, and say where every chunk lies.

A pack is written in batches: data, then an index frame that names the chunks since the frame
before. A chunk counts when its frame is durable; whatever else stands in a pack is garbage that
readers pass over. A pack is only ever appended to, so its pages can be mapped.
"""

from __future__ import annotations

import fcntl
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from blake3 import blake3

from nbckpt.errors import FormatError
from nbckpt.storage import system
from nbckpt.storage.disk import (
    create,
    open_to_read,
    read_at,
    sync_data,
    sync_folder,
    write_at,
)

Name: TypeAlias = bytes
"""A digest as its 32 bytes."""

SUFFIX = ".pack"
VERSION = 2
HEADER = struct.Struct("<8sI52x")
MAGIC = b"\x93NBPACK\n"
FRAME_MAGIC = b"\x93NBINDEX\xf1\x0a\x0d\x1a\x9e\x00\x07\xc4"
FRAME = struct.Struct("<16sQQQI20x")
ENTRY = struct.Struct("<32sQIB3s")
SUM_BYTES = 32
FIRST_READ_BYTES = 1024  # most frames are shorter
NO_FRAME = 0

RAW = 0
ZSTD = 1
ZEROS = 2

CHUNK_BYTES = 256 << 10
PAGE_BYTES = 4096
ALIGNED_BYTES = 64
MAPPED_BYTES = 64 << 10
ROLL_BYTES = 256 << 20
HELD_BYTES = 1 << 20


class Place(NamedTuple):
    """Where a chunk lies: the name of a pack, without its suffix, and a range of bytes in it.

    Attributes
    ----------
    length
        Of its bytes on disk.
    size
        Of its bytes.
    """

    pack: str
    offset: int
    length: int
    codec: int
    size: int


class Frame(NamedTuple):
    """An index frame: the batch that it closes, and the frame before it.

    Attributes
    ----------
    offset, length
        Of the frame itself.
    previous
        Offset of the frame before, or `NO_FRAME`.
    start
        Where its batch begins.
    """

    offset: int
    length: int
    previous: int
    start: int
    chunks: tuple[tuple[Name, Place], ...]


class Batch(NamedTuple):
    """What a journal says of a batch, so that readers find its frame without a search."""

    pack: str
    frame: int


def align(offset: int, unit: int) -> int:
    """The first multiple of `unit` that is not before `offset`."""
    return -(-offset // unit) * unit


def encode_frame(chunks: dict[Name, Place], *, offset: int, previous: int, start: int) -> bytes:
    """The bytes of the index frame that stands at `offset`."""
    head = FRAME.pack(FRAME_MAGIC, offset, previous, start, len(chunks))
    entries = b"".join(
        ENTRY.pack(
            name, place.offset, place.length, place.codec,
            b"" if place.codec == RAW else place.size.to_bytes(3, "little"),
        )
        for name, place in chunks.items()
    )  # fmt: skip
    return head + entries + blake3(head + entries).digest()


class RawFrame(NamedTuple):
    """An index frame whose entries are not decoded: see `Entries`."""

    length: int
    previous: int
    start: int
    entries: bytes


def raw_frame(read: Callable[[int, int], bytes], offset: int) -> RawFrame | None:
    """The index frame at `offset`; None if there is none, or it is damaged.

    Parameters
    ----------
    read
        Gives so many bytes of the pack from an offset on, or fewer where it ends.
    """
    data = read(FIRST_READ_BYTES, offset)
    if len(data) < FRAME.size:
        return None
    magic, own_offset, previous, start, count = FRAME.unpack_from(data)
    if magic != FRAME_MAGIC or own_offset != offset:
        return None
    length = FRAME.size + count * ENTRY.size + SUM_BYTES
    if length > len(data):
        data += read(length - len(data), offset + len(data))
    whole = data[: length - SUM_BYTES]
    if blake3(whole).digest() != data[length - SUM_BYTES : length]:
        return None
    return RawFrame(length, previous, start, whole[FRAME.size :])


def place_of(pack: str, entry: bytes) -> Place:
    """Where an entry says that its chunk lies."""
    _, at, length, codec, size = ENTRY.unpack(entry)
    return Place(pack, at, length, codec, int.from_bytes(size, "little") if codec else length)


def read_frame(fd: int, pack: str, offset: int) -> Frame | None:
    """The index frame at `offset`; None if there is none, or it is damaged."""
    raw = raw_frame(partial(read_at, fd), offset)
    if raw is None:
        return None
    entries = (raw.entries[at : at + ENTRY.size] for at in range(0, len(raw.entries), ENTRY.size))
    chunks = tuple((entry[:SUM_BYTES], place_of(pack, entry)) for entry in entries)
    return Frame(offset, raw.length, raw.previous, raw.start, chunks)


def find_frames(fd: int, pack: str, start: int = 0) -> Iterator[Frame]:
    """Every whole index frame from `start` on, found by its magic."""
    piece_bytes = 4 << 20
    base = align(max(start, HEADER.size), ALIGNED_BYTES)
    while piece := read_at(fd, piece_bytes, base):
        found = piece.find(FRAME_MAGIC)
        while found >= 0:
            # The magic is shorter than the alignment, so no piece cuts one that counts.
            if found % ALIGNED_BYTES == 0 and (frame := read_frame(fd, pack, base + found)):
                yield frame
            found = piece.find(FRAME_MAGIC, found + 1)
        base += len(piece)


def open_pack(folder: Path, pack: str) -> int:
    """A descriptor for reading a pack.

    Raises
    ------
    FormatError
        If it is no pack, or of a later version.
    OSError
        If it is not there or cannot be read.
    """
    path = folder / f"{pack}{SUFFIX}"
    fd = open_to_read(path)
    try:
        _check_header(read_at(fd, HEADER.size, 0), path)
    except BaseException:
        system.files.close(fd)
        raise
    return fd


def _check_header(header: bytes, path: Path) -> None:
    if len(header) < HEADER.size or HEADER.unpack(header)[0] != MAGIC:
        message = f"{path} is damaged: it does not begin as a pack does"
        raise FormatError(message)
    version = HEADER.unpack(header)[1]
    if version > VERSION:
        message = f"{path} has pack format {version}, newer than {VERSION}: upgrade nbckpt"
        raise FormatError(message)


@dataclass(slots=True)
class PackWriter:
    """One pack that this session appends to.

    Attributes
    ----------
    end
        Where the next chunk may go.
    open_chunks
        Chunks since the last frame.
    """

    folder: Path
    name: str
    fd: int
    end: int = HEADER.size
    previous: int = NO_FRAME
    start: int = HEADER.size
    named: bool = False
    open_chunks: dict[Name, Place] = field(default_factory=dict)
    _held: list[memoryview | bytes] = field(default_factory=list)
    _held_start: int = 0
    _held_end: int = 0
    _is_locked: bool = False

    @classmethod
    def begin(cls, folder: Path, name: str) -> PackWriter:
        """A new pack with its header written."""
        fd = create(folder / f"{name}{SUFFIX}")
        try:
            write_at(fd, HEADER.pack(MAGIC, VERSION), 0)
        except OSError:
            system.files.close(fd)
            raise
        return cls(folder, name, fd)

    @property
    def path(self) -> Path:
        """Of the file."""
        return self.folder / f"{self.name}{SUFFIX}"

    def reserve(
        self, name: Name, length: int, *, size: int, codec: int = RAW, unit: int = 1
    ) -> Place:
        """The place of a chunk whose bytes the caller will write there, or `hold` for later.

        Parameters
        ----------
        unit
            What its offset is a multiple of: `PAGE_BYTES` where readers will map it.
        """
        if not self._is_locked:
            self._is_locked = True
            with suppress(OSError):  # some network file systems know no locks
                system.files.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Chunks without bytes lie nowhere, so that no cut takes them away.
        offset = align(self.end, unit) if length else 0
        place = Place(self.name, offset, length, codec, size)
        self.end = max(self.end, offset + length)
        self.open_chunks[name] = place
        return place

    def write(self, place: Place, data: memoryview) -> None:
        """Write the bytes of a place, or of several that follow each other."""
        # Whatever a refused write left behind `end` is overwritten by the next one.
        write_at(self.fd, data, place.offset)

    def hold(self, place: Place, data: memoryview | bytes) -> None:
        """Write the bytes of a place with those of its neighbours, at the next `flush`."""
        if self._held and place.offset != self._held_end:
            self.flush()
        if not self._held:
            self._held_start = self._held_end = place.offset
        self._held.append(data)
        self._held_end += place.length
        if self._held_end - self._held_start >= HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        held, self._held = self._held, []
        if held:
            write_at(self.fd, b"".join(held), self._held_start)

    def cut_back(self, end: int | None) -> list[Name]:
        """The names of the chunks past `end`, which are gone; None: all since the header."""
        end = HEADER.size if end is None else end
        self._held = []
        lost = [name for name, place in self.open_chunks.items() if place.offset >= end]
        for name in lost:
            del self.open_chunks[name]
        self.end = end
        system.files.ftruncate(self.fd, end)
        return lost

    def seal(self) -> Frame:
        """Write the frame of the chunks since the last one, in the kernel's cache only."""
        offset = align(self.end, ALIGNED_BYTES)
        data = encode_frame(
            self.open_chunks, offset=offset, previous=self.previous, start=self.start
        )
        write_at(self.fd, data, offset)
        frame = Frame(offset, len(data), self.previous, self.start, tuple(self.open_chunks.items()))
        self.previous = offset
        self.start = self.end = offset + len(data)
        self.open_chunks = {}
        return frame

    def sync(self) -> None:
        """Return when all that was written, and the name of the pack, survives a power cut."""
        sync_data(self.fd)
        if not self.named:
            sync_folder(self.folder)
            self.named = True

    def rest(self) -> None:
        """Let a prune take the pack: it has no chunk that is not durable."""
        if self._is_locked:
            self._is_locked = False
            with suppress(OSError):
                system.files.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        fd, self.fd = self.fd, -1  # what still wants to write shall not hit another file
        system.files.close(fd)
