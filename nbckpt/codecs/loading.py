"""Parts → values, in the namespace that they are restored into.

Reducers are plain functions that a stream names, so what they need of the surroundings
(the namespace, the other variables) is in a context variable.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from nbckpt.errors import FormatError

HEADER = struct.Struct("<4sI")
"""Begins a blob's first part: magic, and how many of the parts are pieces of the stream."""

MAGIC = b"nbk1"


@dataclass(frozen=True, slots=True)
class Loading:
    """Where values are restored to.

    Attributes
    ----------
    namespace
        The globals of restored functions.
    resolve
        Gives the notebook's function or class of a name, restoring it first if need be.
    """

    namespace: dict[str, object]
    resolve: Callable[[str], object]


LOADING: ContextVar[Loading] = ContextVar("nbckpt_loading")


def decode(parts: Sequence[memoryview], loading: Loading) -> dict[str, object]:
    """The values of a blob by variable name.

    Raises
    ------
    FormatError
        If the parts are no blob of this format.
    Exception
        Whatever the values' own code raises while they are built.
    """
    magic, n_segments = HEADER.unpack_from(parts[0])
    if magic != MAGIC:
        message = (
            f"a blob begins with {magic!r} instead of {MAGIC!r}; it was written by a newer nbckpt"
        )
        raise FormatError(message)
    segments = [parts[0][HEADER.size :], *parts[1:n_segments]]
    token = LOADING.set(loading)
    try:
        reader = io.BytesIO(segments[0]) if n_segments == 1 else _SegmentReader(segments)
        values = pickle.Unpickler(reader, buffers=parts[n_segments:]).load()
    finally:
        LOADING.reset(token)
    assert isinstance(values, dict)
    return values


class _SegmentReader:
    """Feeds the unpickler from pieces of the stream without joining them."""

    def __init__(self, segments: Sequence[memoryview]) -> None:
        self._segments = [memoryview(s) for s in segments]
        self._index = 0
        self._offset = 0

    def readinto(self, target: memoryview) -> int:
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
        if size < 0:
            size = sum(len(s) for s in self._segments[self._index :]) - self._offset
        data = bytearray(size)
        return bytes(data[: self.readinto(memoryview(data))])

    def readline(self) -> bytes:
        line = bytearray()
        while (byte := self.read(1)) and byte != b"\n":
            line += byte
        return bytes(line + byte)


def from_namespace(name: str) -> object:
    """The notebook's own function or class `name`, where a stream refers to it."""
    return LOADING.get().resolve(name)
