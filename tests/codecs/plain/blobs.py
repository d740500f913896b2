"""Blobs as the pickler writes them, and as somebody with other aims writes them by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from nbckpt.codecs.encode import encode
from nbckpt.codecs.pickler import Scope
from nbckpt.codecs.streams import HEADER, MAGIC

NAME = "x"
MARK, TUPLE, EMPTY_TUPLE, REDUCE, BUILD, NEWOBJ, MEMOIZE, STOP = (
    b"(", b"t", b")", b"R", b"b", b"\x81", b"\x94", b".",
)  # fmt: skip
NONE, TRUE, FALSE, EMPTY_LIST, EMPTY_DICT, EMPTY_SET = b"N", b"\x88", b"\x89", b"]", b"}", b"\x8f"
APPEND, SETITEM, SETITEMS, ADDITEMS, FROZENSET, POP = b"a", b"s", b"u", b"\x90", b"\x91", b"0"
STACK_GLOBAL, TUPLE1, TUPLE2, TUPLE3, DUP = b"\x93", b"\x85", b"\x86", b"\x87", b"2"


def parts_of(value: object, *, linked: frozenset[int] = frozenset()) -> list[memoryview]:
    """A value under `NAME`, written as a checkpoint writes it."""
    parts = encode({NAME: value}, Scope({}), linked=linked).parts
    return [memoryview(bytearray(memoryview(part).cast("B"))) for part in parts]


def text(value: str) -> bytes:
    """Pushes a text."""
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def data(value: bytes) -> bytes:
    """Pushes bytes."""
    return b"B" + struct.pack("<I", len(value)) + value


def number(value: int) -> bytes:
    """Pushes an int."""
    size = value.bit_length() // 8 + 1
    return b"\x8b" + struct.pack("<I", size) + value.to_bytes(size, "little", signed=True)


def named(module: str, name: str) -> bytes:
    """Pushes what a name stands for."""
    return text(module) + text(name) + STACK_GLOBAL


def several(*items: bytes) -> bytes:
    """Pushes a tuple."""
    return MARK + b"".join(items) + TUPLE


def call(module: str, name: str, *arguments: bytes) -> bytes:
    """Calls what a name stands for."""
    return named(module, name) + several(*arguments) + REDUCE


def get(place: int) -> bytes:
    """Pushes what was memoized as number `place`."""
    return b"j" + struct.pack("<I", place)


def blob(pushed: bytes, buffers: Sequence[bytes] = ()) -> list[memoryview]:
    """A blob in which `NAME` is what some opcodes push."""
    return raw(b"\x80\x05" + EMPTY_DICT + text(NAME) + pushed + SETITEM + STOP, buffers)


def raw(stream: bytes, buffers: Sequence[bytes] = ()) -> list[memoryview]:
    """A blob with a stream."""
    return [memoryview(HEADER.pack(MAGIC, 0) + stream), *map(memoryview, buffers)]
