"""A blob is a list of parts; its tree names their chunks, and the tree's digest names the blob.

Equal digests mean equal parts, because a tree holds nothing but sizes, flags and digests.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pickle import PickleBuffer
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from nbckpt.digests import Digest, digest_of
from nbckpt.runtime.dirty_pages.devices import is_pinned
from nbckpt.runtime.dirty_pages.memory import names_of_memory
from nbckpt.storage.cutting import by_content, in_groups
from nbckpt.storage.index_frames import Name

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAGIC = b"NBTR"
HEAD = struct.Struct("<4sI")
PART = struct.Struct("<QBI")
NAME_BYTES = 32
READONLY = 1
GROUPED = 2
UNGROUPED_NAMES = 32
"""A part of at most so many chunks names them in the tree itself."""


class Part(NamedTuple):
    """One part of a blob: its bytes are those of its chunks, one after the other.

    Attributes
    ----------
    readonly
        Whether the buffer that was put refused writes; what comes back does the same.
    grouped
        Whether `names` are those of groups: chunks whose bytes are the names, one after the other.
    """

    size: int
    readonly: bool
    names: tuple[Name, ...]
    grouped: bool = False


class Tree(NamedTuple):
    """The bytes that name the chunks of a blob.

    Attributes
    ----------
    root
        Its digest is the blob's.
    groups
        Bytes of the chunks that hold names.
    """

    root: bytes
    groups: list[bytes]


def flat(part: Buffer) -> memoryview:
    """The bytes of `part` as one line, without a copy.

    Raises
    ------
    BufferError
        If they do not lie in one piece.
    """
    if isinstance(part, memoryview) and part.format == "B" and part.ndim == 1 and part.c_contiguous:
        return memoryview(part)  # shares it; a view made of a view ends 3.11's collector in a cycle
    return PickleBuffer(part).raw()


def size_of_parts(parts: Iterable[Buffer]) -> int:
    """Bytes of all parts together."""
    return sum(memoryview(part).nbytes for part in parts)


def is_stream(number: int, part: Buffer) -> bool:
    """True if a part is cut by its content: the first one, if it is `bytes`."""
    return number == 0 and type(part) is bytes


def tree_of(parts: Sequence[Part]) -> Tree:
    """The tree of a blob whose parts name their chunks."""
    groups: list[bytes] = []
    pieces = [HEAD.pack(MAGIC, len(parts))]
    for size, readonly, names, _ in parts:
        flags = READONLY if readonly else 0
        if len(names) > UNGROUPED_NAMES:
            flags |= GROUPED
            own = [b"".join(group) for group in in_groups(names)]
            groups += own
            names = tuple(blake3(group).digest() for group in own)  # noqa: PLW2901 - a level up
        pieces.append(PART.pack(size, flags, len(names)))
        pieces.extend(names)
    return Tree(b"".join(pieces), groups)


def digest_of_parts(parts: Sequence[Buffer]) -> Digest:
    """The digest that a blob of these parts has, without storing it."""
    named = []
    for number, part in enumerate(parts):
        view = flat(part)
        if is_stream(number, part):
            names = [blake3(chunk).digest() for chunk in by_content(view)]
        else:
            names = names_of_memory(view, watch=not is_pinned(view))
        named.append(Part(len(view), memoryview(part).readonly, tuple(names)))
    return digest_of(tree_of(named).root)


def decode_root(root: bytes | memoryview) -> list[Part] | None:
    """The parts that a tree's root names; None if it is none."""
    if len(root) < HEAD.size:
        return None
    magic, count = HEAD.unpack_from(root)
    if magic != MAGIC:
        return None
    parts = []
    at = HEAD.size
    for _ in range(count):
        if at + PART.size > len(root):
            return None
        size, flags, n_names = PART.unpack_from(root, at)
        at += PART.size
        end = at + n_names * NAME_BYTES
        if end > len(root):
            return None
        names = names_in(root[at:end])
        parts.append(Part(size, bool(flags & READONLY), names, bool(flags & GROUPED)))
        at = end
    return parts if at == len(root) else None


def names_in(data: bytes | memoryview) -> tuple[Name, ...]:
    """The names that stand one after the other in `data`."""
    whole = bytes(data)
    return tuple(whole[i : i + NAME_BYTES] for i in range(0, len(whole), NAME_BYTES))
