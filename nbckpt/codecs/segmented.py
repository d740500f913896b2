"""A variable that is a large list or dict of plain data, as a pickle of each of its segments.

The bytes of a segment that did not change are those of the last time: see
`fingerprint.values.segments`. They are texts in the stream, so that a pickler is no part of it, and
what a pickler would number in one segment moves nothing in the next.
"""

from __future__ import annotations

import struct
from _pickle import loads  # that of `pickle` may have been replaced
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.streams import HEADER, MAGIC, PAYLOAD_BYTES
from nbckpt.fingerprint.values.segments import Segments, segments_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOST_OF_A_PIECE = 1 << 30
"""An opcode has four bytes for its length."""

_START = b"\x80\x05}"
"""Opcodes of a pickle of protocol 5 that begins with an empty dict."""

_TEXT = struct.Struct("<cI")
_BINUNICODE, _BINBYTES = b"X", b"B"
_FUNCTION_OF_NAME = b"\x93%b\x85R"
"""Opcodes that find a function by the module and name before it, and call it with a text."""

_CALLED_WITH, _END = b"(", b"tRs."


def parts_of(name: str, value: object, max_bytes: int | None) -> list[Buffer] | None:
    """The parts of the blob of one variable.

    None if it is another kind of value, or if texts in it are so long that they are parts of their
    own; or if there are more bytes than there may be.
    """
    segments = segments_of(value, is_variable=True)
    if segments is None or not name.isidentifier():
        return None
    try:
        pieces = segments.pickled()
    except MemoryError:  # the usual way tells of it
        return None
    if max_bytes is not None and sum(map(len, pieces)) > max_bytes:
        return None
    if max(map(len, pieces)) > MOST_OF_A_PIECE:
        return None
    if _has_payload(segments, pieces):
        return None
    function = b"segmented_list" if type(value) is list else b"segmented_dict"
    stream = [
        HEADER.pack(MAGIC, 0),
        _START,
        *_text(_BINUNICODE, name.encode("utf-8", "surrogatepass")),
        *_text(_BINUNICODE, b"nbckpt"),
        *_text(_BINUNICODE, b"stored"),
        _FUNCTION_OF_NAME % b"".join(_text(_BINUNICODE, function)),
        _CALLED_WITH,
    ]
    for piece in pieces:
        stream += _text(_BINBYTES, piece)
    stream.append(_END)
    return [b"".join(stream)]


def _text(opcode: bytes, data: bytes) -> tuple[bytes, bytes]:
    return _TEXT.pack(opcode, len(data)), data


def _has_payload(segments: Segments, pieces: list[bytes]) -> bool:
    return any(
        len(piece) >= PAYLOAD_BYTES and segment.has_long_text()
        for segment, piece in zip(segments.segments, pieces, strict=True)
    )


def list_of(*pieces: bytes) -> list[Any]:
    """The list of which these are the segments."""
    made: list[Any] = []
    for piece in pieces:
        made += loads(piece)
    return made


def dict_of(*pieces: bytes) -> dict[Any, Any]:
    """The dict of which these are the segments: keys, then as many values."""
    made: dict[Any, Any] = {}
    for piece in pieces:
        parts = loads(piece)
        half = len(parts) // 2
        made.update(zip(parts[:half], parts[half:], strict=True))
    return made
