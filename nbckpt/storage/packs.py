"""Append chunks to a session's own packs, and say where every chunk lies.

A pack is written in batches: data, then an index frame that names the chunks since the frame
before. A chunk counts when its frame is durable; whatever else stands in a pack is garbage that
readers pass over. A pack is only ever appended to, so its pages can be mapped.
"""

from __future__ import annotations

import fcntl
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nbckpt.storage import file_calls
from nbckpt.storage.ciphers import OVERHEAD_BYTES, Cipher
from nbckpt.storage.disk import (
    create,
    delete,
    open_to_read,
    read_at,
    require_name,
    sync_data,
    sync_folder,
    write_at,
)
from nbckpt.storage.index_frames import (
    FRAME_MAGIC,
    NAMING_BYTES,
    NO_FRAME,
    RAW,
    SEALED,
    SUM_BYTES,
    Frame,
    Name,
    Place,
    encode_frame,
    read_frame,
)

SUFFIX = ".pack"
VERSION = 1
HEADER = struct.Struct("<8sI52x")
MAGIC = b"\x93NBCKPT\n"
FORMER_MAGIC = b"\x93NBPACK\n"
"""Began the packs of stores from before nbckpt 1.0."""
CHUNK_BYTES = 256 << 10
PAGE_BYTES = 4096
ALIGNED_BYTES = 64
MAPPED_BYTES = 64 << 10
ROLL_BYTES = 256 << 20
HELD_BYTES = 1 << 20


def align(offset: int, unit: int) -> int:
    """The first multiple of `unit` that is not before `offset`."""
    return -(-offset // unit) * unit


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
    """Text on the fault in the header of a pack, for people; empty if there is none.

    It keeps nobody from reading: frames and chunks tell by themselves whether they are whole, and
    a store with packs of later kinds says so in its mark.
    """
    header = read_at(fd, HEADER.size, 0)
    if len(header) < HEADER.size or HEADER.unpack(header)[0] != MAGIC:
        return "it does not begin as a pack does"
    version = HEADER.unpack(header)[1]
    if version != VERSION:
        return f"it says pack format {version}, which is not known"
    return ""


@dataclass(slots=True, eq=False, repr=False)
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
            file_calls.files.close(fd)
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
                file_calls.files.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        from nbckpt.storage.sealing import check_of

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
            file_calls.files.ftruncate(self.fd, end)
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
        require_name(self.fd, self.path)
        sync_data(self.fd)
        if not self.named:
            sync_folder(self.folder)
            self.named = True

    def rest(self) -> None:
        """Let a prune take the pack: it has no chunk that is not durable."""
        if self._is_locked:
            self._is_locked = False
            with suppress(OSError):
                file_calls.files.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        fd, self.fd = self.fd, -1  # what still wants to write shall not hit another file
        file_calls.files.close(fd)
