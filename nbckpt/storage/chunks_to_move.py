"""Chunks in packs that are needed, and the packs worth rewriting without the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import BlobNotFoundError, FormatError
from nbckpt.storage import file_calls
from nbckpt.storage.chunk_forms import Expander
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.disk import delete, files_in, is_locked, read_at
from nbckpt.storage.index_frames import RAW, SEALED, Batch, Name, Place, frame_bytes
from nbckpt.storage.packs import (
    ALIGNED_BYTES,
    HEADER,
    PAGE_BYTES,
    ROLL_BYTES,
    SUFFIX,
    PackWriter,
    align,
    open_pack,
)
from nbckpt.storage.reader import Reader
from nbckpt.storage.sizes import size_of_file

WASTED_BYTES = 16 << 20
WASTED_SHARE = 0.1
"""A pack that wastes less stays as it is."""

Needed = Mapping[str, Mapping[Name, Place]]
"""Pack → the chunks in it that are needed."""


class Reach:
    """The chunks of blobs, and where they lie.

    Parameters
    ----------
    find
        The place of a chunk, or None.

    Attributes
    ----------
    damaged
        Blobs of which nobody can tell what belongs to them.
    """

    def __init__(self, folder: Path, find: Callable[[Name], Place | None]) -> None:
        self.damaged: set[Digest] = set()
        self._find = find
        self._reader = Reader(folder, find, set(), lambda *_: None, lambda: None)
        self._chunks: dict[Digest, list[Name]] = {}

    def chunks(self, digest: Digest) -> list[Name]:
        """The chunks of a blob, its tree's among them; none if the tree cannot be read."""
        if digest not in self._chunks:
            self._chunks[digest] = self._look_up(digest)
        return self._chunks[digest]

    def needed(self, digests: Iterable[Digest]) -> dict[str, dict[Name, Place]]:
        """Where the chunks of these blobs lie."""
        found: dict[Name, Place] = {}
        for digest in digests:
            for name in self.chunks(digest):
                if name not in found and (place := self._find(name)):
                    found[name] = place
        packs: dict[str, dict[Name, Place]] = {}
        for name, place in found.items():
            packs.setdefault(place.pack, {})[name] = place
        return packs

    def size(self, digests: Iterable[Digest]) -> int:
        """Bytes that these blobs take, all together."""
        return sum(p.length for chunks in self.needed(digests).values() for p in chunks.values())

    def _look_up(self, digest: Digest) -> list[Name]:
        try:
            return self._reader.chunks(digest)
        except BlobNotFoundError:
            return []
        except FormatError:
            self.damaged.add(digest)
            return []


class Pack(NamedTuple):
    """A pack that is there: its size, and what of it is needed."""

    name: str
    size: int
    needed: Mapping[Name, Place]

    @property
    def is_wasteful(self) -> bool:
        """True if it takes much more room than what is needed of it would."""
        waste = self.size - packed_bytes(self.needed.values()) if self.needed else self.size
        return not self.needed or waste > min(WASTED_BYTES, WASTED_SHARE * self.size)


def packs_in(folder: Path, needed: Needed) -> list[Pack]:
    """The packs in a folder that nobody adds to."""
    paths = (path for path in files_in(folder, SUFFIX) if not is_open(path))
    return [Pack(path.stem, size_of_file(path), needed.get(path.stem, {})) for path in paths]


def is_open(path: Path) -> bool:
    """True if a session has chunks in a pack, or on their way to it, that are not durable."""
    try:
        return is_locked(path)
    except FileNotFoundError:
        return False


def packed_bytes(places: Iterable[Place]) -> int:
    """Size of a pack that holds just these chunks."""
    end, count, is_sealed = HEADER.size, 0, False
    for place in sorted(places, key=lambda place: place.offset):
        end = align(end, _unit(place)) + place.length if place.length else end
        count += 1
        is_sealed = is_sealed or bool(place.codec & SEALED)
    return align(end, ALIGNED_BYTES) + frame_bytes(count, is_sealed=is_sealed)


class Mover:
    """Copies needed chunks into new packs.

    Attributes
    ----------
    moved
        Chunks that lie in the new packs, which are durable after `finish`.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.moved: set[Name] = set()
        self._folder = folder
        self._name = name
        self._packs: list[PackWriter] = []
        self._cipher = cipher_of(folder.parent)
        self._expander = Expander(self._cipher)

    @property
    def paths(self) -> list[Path]:
        """Of the new packs."""
        return [pack.path for pack in self._packs]

    def move(self, pack: Pack) -> bool:
        """Copy what is needed of a pack; False if some of it is damaged.

        Raises
        ------
        OSError
            If the disk refuses.
        """
        fd = open_pack(self._folder, pack.name)
        try:
            return all(self._copy(fd, name, place) for name, place in _in_order(pack.needed))
        finally:
            file_calls.files.close(fd)

    def finish(self) -> list[Batch]:
        """The batches of the new packs, when they are durable."""
        batches = []
        for pack in self._packs:
            pack.flush()
            frame = pack.seal()
            batches.append(Batch(pack.name, frame.offset, frame.sum))
            pack.sync()
            pack.close()
        return batches

    def discard(self) -> None:
        """Delete the new packs."""
        for pack in self._packs:
            if pack.fd >= 0:
                pack.close()
            delete(pack.path)
        self._packs, self.moved = [], set()

    def _copy(self, fd: int, name: Name, place: Place) -> bool:
        if name in self.moved:
            return True
        stored = read_at(fd, place.length, place.offset) if place.length else b""
        data = self._expander.bytes_of(place, stored, name)
        if data is None or blake3(data).digest() != name:
            return False
        pack = self._pack()
        new = pack.reserve(
            name, place.length, size=place.size, codec=place.codec, unit=_unit(place)
        )
        if place.length:
            pack.hold(new, stored)
        self.moved.add(name)
        return True

    def _pack(self) -> PackWriter:
        if not self._packs or self._packs[-1].end >= ROLL_BYTES:
            name = f"{self._name}-{len(self._packs)}"
            self._packs.append(PackWriter.begin(self._folder, name, self._cipher))
        return self._packs[-1]


def _in_order(needed: Mapping[Name, Place]) -> Iterator[tuple[Name, Place]]:
    """As they lie, so that the parts of blobs stay together."""
    return iter(sorted(needed.items(), key=lambda item: item[1].offset))


def _unit(place: Place) -> int:
    """Alignment of a chunk: the size of a page for what readers map, else one byte."""
    return PAGE_BYTES if place.codec == RAW and place.offset % PAGE_BYTES == 0 else 1
