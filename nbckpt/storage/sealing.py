"""The body of an index frame in an encrypted pack, in the place of its plain entries.

The places of the pieces, and a checksum of each, stand there for everybody: so damage is found
without the key. The entries stand sealed behind them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from blake3 import blake3

from nbckpt.storage.ciphers import OVERHEAD_BYTES, Cipher

SPAN = struct.Struct("<QI8s")
CHECK_BYTES = 8
COPIES = 2


class Piece(NamedTuple):
    """A sealed chunk as everybody sees it: a range of its pack, and a checksum of its bytes."""

    offset: int
    length: int
    check: bytes


def check_of(stored: bytes | memoryview) -> bytes:
    """The checksum of a sealed chunk."""
    return blake3(stored).digest(CHECK_BYTES)


def sealed_bytes(count: int, entry_bytes: int) -> int:
    """Bytes of `count` sealed entries, the spans of their pieces included."""
    return count * SPAN.size + COPIES * (count * entry_bytes + OVERHEAD_BYTES)


def seal_entries(
    cipher: Cipher, entries: bytes, pieces: Iterable[Piece], *, pack: str, offset: int
) -> bytes:
    """The bytes behind the head of the frame at `offset`, which open only there."""
    spans, bound = b"".join(SPAN.pack(*piece) for piece in pieces), _bound(pack, offset)
    return spans + b"".join(cipher.frames.seal(entries, bound) for _ in range(COPIES))


def open_entries(
    cipher: Cipher, body: bytes, count: int, *, pack: str, offset: int
) -> bytes | None:
    """The entries of a sealed frame; None if it is of another key, or belongs elsewhere.

    They stand there twice, because of one copy that is damaged no entry could be told.
    """
    copies = body[count * SPAN.size :]
    length = len(copies) // COPIES
    for start in range(0, COPIES * length, length or 1):
        opened = cipher.frames.open(copies[start : start + length], _bound(pack, offset))
        if opened is not None:
            return opened
    return None


def pieces_in(body: bytes, count: int) -> Iterator[Piece]:
    """The pieces that a sealed frame names."""
    return map(Piece._make, SPAN.iter_unpack(body[: count * SPAN.size]))


def _bound(pack: str, offset: int) -> bytes:
    return f"{pack} {offset}".encode()
