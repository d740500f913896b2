"""What an index frame of an encrypted pack holds instead of its entries.

Where the pieces lie, and a checksum of each, stand there for everybody: so damage is found without
the key. What they are stands sealed behind.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from blake3 import blake3

from nbckpt.storage.ciphers import OVERHEAD_BYTES, Cipher

SPAN = struct.Struct("<QI8s")
CHECK_BYTES = 8


class Piece(NamedTuple):
    """A sealed chunk as everybody sees it: a range of its pack, and a checksum of its bytes."""

    offset: int
    length: int
    check: bytes


def check_of(stored: bytes | memoryview) -> bytes:
    """The checksum of a sealed chunk."""
    return blake3(stored).digest(CHECK_BYTES)


def sealed_bytes(count: int, entry_bytes: int) -> int:
    """How long `count` sealed entries are."""
    return count * (SPAN.size + entry_bytes) + OVERHEAD_BYTES


def seal_entries(
    cipher: Cipher, entries: bytes, pieces: Iterable[Piece], *, head: bytes, pack: str
) -> bytes:
    """What stands behind the head of a frame, bound to that head and to the pack's name."""
    spans = b"".join(SPAN.pack(*piece) for piece in pieces)
    return spans + cipher.frames.seal(entries, _bound(head, spans, pack))


def open_entries(
    cipher: Cipher, body: bytes, count: int, *, head: bytes, pack: str
) -> bytes | None:
    """The entries of a sealed frame; None if it is of another key, or belongs elsewhere."""
    spans, sealed = body[: count * SPAN.size], body[count * SPAN.size :]
    return cipher.frames.open(sealed, _bound(head, spans, pack))


def pieces_in(body: bytes, count: int) -> Iterator[Piece]:
    """The pieces that a sealed frame names."""
    return map(Piece._make, SPAN.iter_unpack(body[: count * SPAN.size]))


def _bound(head: bytes, spans: bytes, pack: str) -> bytes:
    return b"%b\n%b%b" % (pack.encode(), head, spans)
