"""Append chunks to a session's own packs, and say where every chunk lies.

A pack is written in batches: data, then an index frame that names the chunks since the frame
before. A chunk counts when its frame is durable; whatever else stands in a pack is garbage that
readers pass over. A pack is only ever appended to, so its pages can be mapped.
"""

from __future__ import annotations

import fcntl
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from blake3 import blake3

from nbckpt.storage import system
from nbckpt.storage.ciphers import OVERHEAD_BYTES, Cipher
from nbckpt.storage.disk import (
    create,
    delete,
    open_to_read,
    read_at,
    sync_data,
    sync_folder,
    write_at,
)
from nbckpt.storage.sealing import Piece, check_of, open_entries, seal_entries, sealed_bytes

Name: TypeAlias = bytes
"""A digest as its 32 bytes."""

SUFFIX = ".pack"
VERSION = 2
HEADER = struct.Struct("<8sI52x")
MAGIC = b"\x93NBPACK\n"
FRAME_MAGIC = b"\x93NBINDEX\xf1\x0a\x0d\x1a\x9e\x00\x07\xc4"
FRAME = struct.Struct("<16sQQQIII12x")
ENTRY = struct.Struct("<32sQIB3s")
SUM_BYTES = 32
NAMING_BYTES = 16
"""So much of its digest tells a frame from any other."""
FIRST_READ_BYTES = 1024  # most frames are shorter
NO_FRAME = 0

RAW = 0
ZSTD = 1
ZEROS = 2
SEALED = 0x80
"""Of a codec: the bytes that it gives are encrypted."""
ENTRIES_SEALED = 1
"""Of a frame: its entries are encrypted, and ranges with checksums stand before them."""

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


Verified: TypeAlias = set[tuple[Name, Place]]
"""Chunks whose bytes are known to be right where they lie."""


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
    sum: bytes


class Batch(NamedTuple):
    """What a journal says of a batch, so that readers find its frame without a search.

    Attributes
    ----------
    sum
        Tells the frame from any other; empty where an earlier nbckpt wrote the record.
    before
        `chained` sums of all frames before it, which are vouched for with it; empty where the
        record speaks of this one alone.
    trusted
        Whether the record is.
    """

    pack: str
    frame: int
    sum: bytes = b""
    before: bytes = b""
    trusted: bool = True


def align(offset: int, unit: int) -> int:
    """The first multiple of `unit` that is not before `offset`."""
    return -(-offset // unit) * unit


def encode_frame(
    chunks: dict[Name, Place],
    *,
    offset: int,
    previous: int,
    start: int,
    cipher: Cipher | None = None,
    checks: Mapping[int, bytes] | None = None,
) -> bytes:
    """The bytes of the index frame that stands at `offset`.

    Parameters
    ----------
    cipher
        Of a store that is encrypted.
    checks
        Offset of each sealed chunk → its checksum.
    """
    flags, again = (ENTRIES_SEALED, len(chunks)) if cipher else (0, 0)
    head = FRAME.pack(FRAME_MAGIC, offset, previous, start, len(chunks), flags, again)
    body = b"".join(
        ENTRY.pack(
            name, place.offset, place.length, place.codec,
            b"" if place.codec & ~SEALED == RAW else place.size.to_bytes(3, "little"),
        )
        for name, place in chunks.items()
    )  # fmt: skip
    if cipher and chunks:
        known, pack = checks or {}, next(iter(chunks.values())).pack
        pieces = (Piece(p.offset, p.length, known.get(p.offset, b"")) for p in chunks.values())
        body = seal_entries(cipher, body, pieces, pack=pack, offset=offset)
    return head + body + blake3(head + body).digest()


class RawFrame(NamedTuple):
    """An index frame whose entries are not decoded: see `Entries`."""

    length: int
    previous: int
    start: int
    entries: bytes
    sum: bytes


class WholeFrame(NamedTuple):
    """An index frame as everybody sees it, whose digest is right.

    Attributes
    ----------
    body
        Its bytes, without head and digest.
    """

    length: int
    previous: int
    start: int
    n_entries: int
    is_sealed: bool
    body: bytes
    sum: bytes


def raw_frame(
    read: Callable[[int, int], bytes], offset: int, pack: str, cipher: Cipher | None
) -> RawFrame | None:
    """The index frame at `offset`; None if there is none, or it is damaged, or of another key.

    Parameters
    ----------
    read
        Gives so many bytes of the pack from an offset on, or fewer where it ends.
    cipher
        Of a store that is encrypted: of that nothing counts that is not sealed.
    """
    whole = whole_frame(read, offset)
    if whole is None or whole.is_sealed != (cipher is not None):
        return None
    entries: bytes | None = whole.body
    if cipher is not None:
        entries = open_entries(cipher, whole.body, whole.n_entries, pack=pack, offset=offset)
    if entries is None:
        return None
    return RawFrame(whole.length, whole.previous, whole.start, entries, whole.sum)


def whole_frame(read: Callable[[int, int], bytes], offset: int) -> WholeFrame | None:
    """The index frame at `offset`, its entries sealed or not; None if it is none or damaged."""
    data = read(FIRST_READ_BYTES, offset)
    if len(data) < FRAME.size:
        return None
    magic, own_offset, previous, start, count, flags, _ = FRAME.unpack_from(data)
    if magic != FRAME_MAGIC or own_offset != offset:
        return None
    is_sealed = bool(flags & ENTRIES_SEALED)
    length = FRAME.size + _body_bytes(count, is_sealed=is_sealed) + SUM_BYTES
    if length > len(data):
        if not read(1, offset + length - 1):  # a damaged number would have all memory taken
            return None
        data += read(length - len(data), offset + len(data))
    whole = data[: length - SUM_BYTES]
    digest = blake3(whole).digest()
    if digest != data[length - SUM_BYTES : length]:
        return None
    own = digest[:NAMING_BYTES]
    return WholeFrame(length, previous, start, count, is_sealed, whole[FRAME.size :], own)


def _body_bytes(count: int, *, is_sealed: bool) -> int:
    return sealed_bytes(count, ENTRY.size) if is_sealed else count * ENTRY.size


def frame_bytes(count: int, *, is_sealed: bool = False) -> int:
    """How long an index frame of so many entries is."""
    return FRAME.size + _body_bytes(count, is_sealed=is_sealed) + SUM_BYTES


def place_of(pack: str, entry: bytes) -> Place:
    """Where an entry says that its chunk lies."""
    _, at, length, codec, size = ENTRY.unpack(entry)
    if codec & ~SEALED:
        return Place(pack, at, length, codec, int.from_bytes(size, "little"))
    return Place(pack, at, length, codec, length - OVERHEAD_BYTES if codec else length)


def read_frame(fd: int, pack: str, offset: int, cipher: Cipher | None = None) -> Frame | None:
    """The index frame at `offset`; None if there is none, or it is damaged, or of another key."""
    raw = raw_frame(partial(read_at, fd), offset, pack, cipher)
    if raw is None:
        return None
    entries = (raw.entries[at : at + ENTRY.size] for at in range(0, len(raw.entries), ENTRY.size))
    chunks = tuple((entry[:SUM_BYTES], place_of(pack, entry)) for entry in entries)
    return Frame(offset, raw.length, raw.previous, raw.start, chunks, raw.sum)


def chained(sums: Iterable[bytes]) -> bytes:
    """What stands for the sums of several frames, the last one first."""
    return blake3(b"".join(sums)).digest(NAMING_BYTES)


def find_frames(
    fd: int, pack: str, start: int = 0, cipher: Cipher | None = None
) -> Iterator[Frame]:
    """Every whole index frame from `start` on, found by its magic."""
    for offset in frame_offsets(fd, start):
        if frame := read_frame(fd, pack, offset, cipher):
            yield frame


def frame_offsets(fd: int, start: int = 0) -> Iterator[int]:
    """Where index frames may begin, found by their magic."""
    piece_bytes = 4 << 20
    base = align(max(start, HEADER.size), ALIGNED_BYTES)
    while piece := read_at(fd, piece_bytes, base):
        found = piece.find(FRAME_MAGIC)
        while found >= 0:
            # The magic is shorter than the alignment, so no piece cuts one that counts.
            if found % ALIGNED_BYTES == 0:
                yield base + found
            found = piece.find(FRAME_MAGIC, found + 1)
        base += len(piece)


def open_pack(folder: Path, pack: str) -> int:
    """A descriptor for reading a pack, whatever its header says: see `header_problem`.

    Raises
    ------
    OSError
        If it is not there or cannot be read.
    """
    return open_to_read(folder / f"{pack}{SUFFIX}")


def header_problem(fd: int) -> str:
    """What is wrong with the header of a pack, for people; empty if nothing is.

    It keeps nobody from reading: frames and chunks tell by themselves whether they are whole, and
    a store with packs of later kinds says so in its mark.
    """
    header = read_at(fd, HEADER.size, 0)
    if len(header) < HEADER.size or HEADER.unpack(header)[0] != MAGIC:
        return "it does not begin as a pack does"
    version = HEADER.unpack(header)[1]
    if not 1 <= version <= VERSION:
        return f"it says pack format {version}, which is not known"
    return ""


@dataclass(slots=True)
class PackWriter:
    """One pack that this session appends to.

    Attributes
    ----------
    cipher
        With which it seals what it writes; None in a store that is not encrypted.
    end
        Where the next chunk may go.
    open_chunks
        Chunks since the last frame.
    """

    folder: Path
    name: str
    fd: int
    cipher: Cipher | None = None
    end: int = HEADER.size
    previous: int = NO_FRAME
    start: int = HEADER.size
    named: bool = False
    open_chunks: dict[Name, Place] = field(default_factory=dict)
    _held: list[memoryview | bytes] = field(default_factory=list)
    _held_start: int = 0
    _held_end: int = 0
    _is_locked: bool = False
    _to_seal: dict[int, Name] = field(default_factory=dict)
    _checks: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def begin(cls, folder: Path, name: str, cipher: Cipher | None = None) -> PackWriter:
        """A new pack with its header written."""
        path = folder / f"{name}{SUFFIX}"
        fd = create(path)
        try:
            write_at(fd, HEADER.pack(MAGIC, VERSION), 0)
        except BaseException:
            system.files.close(fd)
            with suppress(OSError):
                delete(path)
            raise
        return cls(folder, name, fd, cipher)

    @property
    def path(self) -> Path:
        """Of the file."""
        return self.folder / f"{self.name}{SUFFIX}"

    def reserve(
        self, name: Name, length: int, *, size: int, codec: int = RAW, unit: int = 1
    ) -> Place:
        """The place of a chunk whose bytes the caller will write there, or `hold` for later.

        What is sealed when it is written takes more room than was asked for.

        Parameters
        ----------
        codec
            How the bytes are that will be given. With `SEALED` they are not sealed once more.
        unit
            What its offset is a multiple of: `PAGE_BYTES` where readers will map it. What is
            sealed begins anywhere.
        """
        if not self._is_locked:
            self._is_locked = True
            with suppress(OSError):  # some network file systems know no locks
                system.files.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_to_be_sealed = self.cipher is not None and length > 0 and not codec & SEALED
        if is_to_be_sealed:
            codec, length, unit = codec | SEALED, length + OVERHEAD_BYTES, 1
        # Chunks without bytes lie nowhere, so that no cut takes them away.
        offset = align(self.end, unit) if length else 0
        place = Place(self.name, offset, length, codec, size)
        self.end = max(self.end, offset + length)
        self.open_chunks[name] = place
        if is_to_be_sealed:
            self._to_seal[offset] = name
        return place

    def write(self, place: Place, data: memoryview) -> None:
        """Write the bytes of a place, or of several that follow each other and are not sealed."""
        # Whatever a refused write left behind `end` is overwritten by the next one.
        write_at(self.fd, self._stored(place, data), place.offset)

    def _stored(self, place: Place, data: memoryview | bytes) -> memoryview | bytes:
        """The bytes of a place as they are to lie there."""
        if self.cipher is None or not place.codec & SEALED:
            return data
        name = self._to_seal.get(place.offset)
        stored = data if name is None else self.cipher.chunks.seal(data, name)
        self._checks[place.offset] = check_of(stored)
        return stored

    def hold(self, place: Place, data: memoryview | bytes) -> None:
        """Write the bytes of a place with those of its neighbours, at the next `flush`."""
        if self._held and place.offset != self._held_end:
            self.flush()
        if not self._held:
            self._held_start = self._held_end = place.offset
        self._held.append(self._stored(place, data))
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
        # A disk that refuses this, too, keeps bytes that the next ones overwrite.
        with suppress(OSError):
            system.files.ftruncate(self.fd, end)
        return lost

    def seal(self) -> Frame:
        """Write the frame of the chunks since the last one, in the kernel's cache only."""
        offset = align(self.end, ALIGNED_BYTES)
        data = encode_frame(
            self.open_chunks,
            offset=offset,
            previous=self.previous,
            start=self.start,
            cipher=self.cipher,
            checks=self._checks,
        )
        write_at(self.fd, data, offset)
        chunks, own = tuple(self.open_chunks.items()), data[-SUM_BYTES:][:NAMING_BYTES]
        frame = Frame(offset, len(data), self.previous, self.start, chunks, own)
        self.previous = offset
        self.start = self.end = offset + len(data)
        self.open_chunks, self._to_seal, self._checks = {}, {}, {}
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
