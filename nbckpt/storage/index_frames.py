"""Where chunks lie in a pack, and the index frames that say so.

A frame closes a batch: it names the chunks since the frame before, and it counts when it is whole.
Its digest tells it from any other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from blake3 import blake3

from nbckpt.storage.ciphers import OVERHEAD_BYTES, Cipher
from nbckpt.storage.disk import read_at

Name: TypeAlias = bytes
"""A digest as its 32 bytes."""

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
    """A journal's record of a batch, by which readers find its frame without a search.

    Attributes
    ----------
    sum
        Tells the frame from any other; empty where nobody vouches for it.
    before
        `chained` sums of all frames before it, which are vouched for with it; empty where the
        record speaks of this one alone.
    trusted
        True if the record is.
    """

    pack: str
    frame: int
    sum: bytes = b""
    before: bytes = b""
    trusted: bool = True


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
        from nbckpt.storage.sealing import Piece, seal_entries

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
        from nbckpt.storage.sealing import open_entries

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
    if not is_sealed:
        return count * ENTRY.size
    from nbckpt.storage.sealing import sealed_bytes

    return sealed_bytes(count, ENTRY.size)


def frame_bytes(count: int, *, is_sealed: bool = False) -> int:
    """Bytes of an index frame with `count` entries."""
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
    """One digest for the sums of several frames, the last one first."""
    return blake3(b"".join(sums)).digest(NAMING_BYTES)
