"""A blob is a list of parts; its tree names their chunks, and the tree's digest names the blob.

Equal digests mean equal parts, because a tree holds nothing but sizes, flags and digests.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pickle import PickleBuffer
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from nbckpt.digests import Digest, digest_of
from nbckpt.storage.packs import CHUNK_BYTES, Name

if TYPE_CHECKING:
    from typing_extensions import Buffer

TREE_MAGIC = b"NBT1"
HEAD = struct.Struct("<4sI")
PART = struct.Struct("<QB")
NAME_BYTES = 32
READONLY = 1


class Part(NamedTuple):
    """One part of a blob: its bytes are those of its chunks, one after the other.

    Attributes
    ----------
    readonly
        Whether the buffer that was put refused writes; what comes back does the same.
    """

    size: int
    readonly: bool
    names: tuple[Name, ...]


def flat(part: Buffer) -> memoryview:
    """The bytes of `part` as one line, without a copy.

    Raises
    ------
    BufferError
        If they do not lie in one piece.
    """
    return PickleBuffer(part).raw()


def cut(view: memoryview) -> Iterator[memoryview]:
    """The chunks of a part: 256 KiB each, the last one shorter."""
    for start in range(0, len(view), CHUNK_BYTES):
        yield view[start : start + CHUNK_BYTES]


def encode_tree(parts: Sequence[Part]) -> bytes:
    """The tree of a blob."""
    pieces = [HEAD.pack(TREE_MAGIC, len(parts))]
    for part in parts:
        pieces.append(PART.pack(part.size, READONLY if part.readonly else 0))
        pieces.extend(part.names)
    return b"".join(pieces)


def digest_of_parts(parts: Sequence[Buffer]) -> Digest:
    """The digest that a blob of these parts has, without storing it."""
    tree = []
    for part in parts:
        view = flat(part)
        names = tuple(blake3(chunk).digest() for chunk in cut(view))
        tree.append(Part(len(view), view.readonly, names))
    return digest_of(encode_tree(tree))


def decode_tree(tree: bytes | memoryview) -> list[Part] | None:
    """The parts that a tree names; None if it is no tree."""
    if len(tree) < HEAD.size or HEAD.unpack_from(tree)[0] != TREE_MAGIC:
        return None
    parts = []
    at = HEAD.size
    for _ in range(HEAD.unpack_from(tree)[1]):
        if at + PART.size > len(tree):
            return None
        size, flags = PART.unpack_from(tree, at)
        at += PART.size
        end = at + -(-size // CHUNK_BYTES) * NAME_BYTES
        names = tuple(bytes(tree[i : i + NAME_BYTES]) for i in range(at, end, NAME_BYTES))
        parts.append(Part(size, bool(flags & READONLY), names))
        at = end
    return parts if at == len(tree) else None
