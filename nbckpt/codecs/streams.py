"""The pickle stream of a blob: one piece without frames, its large payloads beside it.

Notes
-----
The C pickler hands over its stream in frames of 64 KiB. They only tell a reader how much to fetch,
and harm a store that keeps chunks by content: whatever is inserted moves every frame behind it,
and whatever is appended changes the length at the beginning of the last one. So they are taken
out; a stream that lies in memory is as quick to read without them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nbckpt.errors import FormatError

if TYPE_CHECKING:
    from typing_extensions import Buffer

HEADER = struct.Struct("<4sI")
"""Begins a blob's first part: magic, and how many payloads follow as parts of their own."""

MAGIC = b"NBST"
NAMING = b"NBSN"
"""Begins a stream in which names of the environment stand for what is not written."""

POSITION = struct.Struct("<Q")
"""For each payload: how much of the stream stands between it and the one before it."""

PAYLOAD_BYTES = 256 * 1024
"""A `bytes` or `str` of this size is a part of its own: not copied here, mapped on restore."""

_PROTO = 0x80
_FRAME = struct.Struct("<cQ")
_FRAME_OPCODE = b"\x95"


class TooLargeError(Exception):
    """A stream has become longer than it may; capture turns it into a refusal."""


class StreamWriter:
    """The stream that the pickler writes to.

    The C pickler calls `write` with a frame, then what leads to a payload of 64 KiB and more, if
    one comes next; and then with that payload. Each call begins and ends between two opcodes.

    Parameters
    ----------
    max_bytes
        Most bytes, beyond which a piece raises `TooLargeError`; None for any number.
    names
        Whether names of the environment stand for secrets in it.
    """

    def __init__(self, max_bytes: int | None = None, *, names: bool = False) -> None:
        self._magic = NAMING if names else MAGIC
        self._room = max_bytes
        self._pieces: list[Buffer] = []
        self._payloads: list[Buffer] = []
        self._positions: list[int] = []
        self._unmarked = 0  # bytes of the stream since the last payload
        self._payload_is_next = False

    def write(self, data: Any) -> int:
        """Take the next piece of the stream."""
        if self._room is not None:
            self._room -= len(data)
            if self._room < 0:
                raise TooLargeError
        if not self._payload_is_next:
            self._take_frame(memoryview(data))
        else:
            self._payload_is_next = False
            if len(data) < PAYLOAD_BYTES:
                self._take(bytes(data))
            else:
                self._payloads.append(data if type(data) is bytes else bytes(data))
                self._positions.append(self._unmarked)
                self._unmarked = 0
        return len(data)

    def parts(self) -> list[Buffer]:
        """The stream behind its header, then the payloads."""
        header = HEADER.pack(self._magic, len(self._payloads))
        positions = b"".join(map(POSITION.pack, self._positions))
        return [b"".join([header, positions, *self._pieces]), *self._payloads]

    def _take_frame(self, data: memoryview) -> None:
        start = 2 if len(data) > 2 and data[0] == _PROTO and not self._pieces else 0
        body = start + _FRAME.size
        if len(data) >= body:
            opcode, size = _FRAME.unpack_from(data, start)
            if opcode == _FRAME_OPCODE and body + size <= len(data):
                self._take(bytes(data[:start]))
                self._take(data[body:])
                self._payload_is_next = body + size < len(data)
                return
        # Too little for a frame: it leads to a payload, or is the end.
        self._take(data)
        self._payload_is_next = True

    def _take(self, data: Buffer) -> None:
        self._pieces.append(data)
        self._unmarked += memoryview(data).nbytes


def has_names(parts: Sequence[memoryview]) -> bool:
    """True if names of the environment stand for secrets in a stream."""
    return bytes(parts[0][: len(NAMING)]) == NAMING


def segments_of(parts: Sequence[memoryview]) -> tuple[list[memoryview], Sequence[memoryview]]:
    """The pieces of the stream in their order, and the parts that are its buffers.

    Raises
    ------
    FormatError
        If the parts do not begin with a stream.
    """
    magic, count = HEADER.unpack_from(parts[0])
    if magic not in (MAGIC, NAMING):
        message = f"a blob begins with {magic!r} instead of {MAGIC!r}: it holds no variables"
        raise FormatError(message)
    start = HEADER.size + count * POSITION.size
    segments = []
    for (size,), payload in zip(
        POSITION.iter_unpack(parts[0][HEADER.size : start]), parts[1:], strict=False
    ):
        segments += [parts[0][start : start + size], payload]
        start += size
    return [*segments, parts[0][start:]], parts[1 + count :]


class StreamReader:
    """Feeds the unpickler from pieces of the stream without joining them."""

    def __init__(self, segments: Sequence[memoryview]) -> None:
        self._segments = segments
        self._index = 0
        self._offset = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay next: up to `size` of one piece."""
        while self._index < len(self._segments):
            if piece := bytes(self._segments[self._index][self._offset : self._offset + size]):
                return piece
            self._index, self._offset = self._index + 1, 0
        return b""

    def readinto(self, target: memoryview) -> int:
        """Fill `target`; return the number of bytes filled: all, unless the stream ends."""
        wanted, done = len(target), 0
        while done < wanted and self._index < len(self._segments):
            segment = self._segments[self._index]
            count = min(wanted - done, len(segment) - self._offset)
            target[done : done + count] = segment[self._offset : self._offset + count]
            done += count
            self._offset += count
            if self._offset == len(segment):
                self._index, self._offset = self._index + 1, 0
        return done

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, or what is left."""
        if size < 0:
            size = sum(len(s) for s in self._segments[self._index :]) - self._offset
        data = bytearray(size)
        return bytes(memoryview(data)[: self.readinto(memoryview(data))])

    def readline(self) -> bytes:
        """The bytes up to the next line's end, which old opcodes ask for."""
        line = bytearray()
        while (byte := self.read(1)) and byte != b"\n":
            line += byte
        return bytes(line + byte)
