"""A stream without frames, its payloads beside it, is the stream that the pickler wrote."""

from __future__ import annotations

import pickletools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.codecs.encode import encode
from nbckpt.codecs.loading import Loading, decode
from nbckpt.codecs.pickler import Scope
from nbckpt.codecs.streams import PAYLOAD_BYTES, StreamReader, segments_of
from nbckpt.errors import FormatError

FRAME_BYTES = 64 * 1024
LOADING = Loading({}, lambda name: name)

sizes = st.one_of(
    st.integers(0, 20),
    st.sampled_from([
        FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1,
        PAYLOAD_BYTES - 1, PAYLOAD_BYTES, PAYLOAD_BYTES + 9,
    ]),
)  # fmt: skip
beginnings = st.sampled_from([
    b"", b"\x80\x05", b"\x95" + (5).to_bytes(8, "little"), b"\x80\x05\x95" + bytes(8),
    b"\x95" + FRAME_BYTES.to_bytes(8, "little"),
])  # fmt: skip


def payload(size: int, beginning: bytes, kind: int) -> object:
    data = (beginning + b"x" * size)[: max(size, len(beginning))]
    return [data, data.decode("latin-1"), bytearray(data), [data, data]][kind]


values = st.recursive(
    st.one_of(st.integers(), st.builds(payload, sizes, beginnings, st.integers(0, 3))),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@given(values, st.integers(0, 30_000))
def test_what_was_pickled_comes_back(value: object, ballast: int) -> None:
    written = {"x": [list(range(ballast)), value, list(range(ballast))]}

    parts = [memoryview(part) for part in encode(written, Scope({})).parts]

    assert decode(parts, LOADING, trusted=True) == written


def test_a_stream_has_no_frames() -> None:
    parts = encode({"x": [str(i) for i in range(50_000)]}, Scope({})).parts

    opcodes = [op.name for op, _, _ in pickletools.genops(bytes(parts[0])[8:])]

    assert len(parts) == 1
    assert "FRAME" not in opcodes
    assert opcodes[-1] == "STOP"


@pytest.mark.parametrize("value", [b"y" * PAYLOAD_BYTES, "y" * PAYLOAD_BYTES])
def test_a_large_payload_is_a_part_of_its_own(value: Any) -> None:
    written = {"x": [value, 1, value[1000:], value * 2]}

    parts = [memoryview(part) for part in encode(written, Scope({})).parts]

    assert [len(part) // PAYLOAD_BYTES for part in parts] == [0, 1, 2]
    assert decode(parts, LOADING, trusted=True) == written


def test_what_does_not_begin_as_a_stream_is_refused() -> None:
    with pytest.raises(FormatError, match=r"begins with b'NBSU' instead of b'NBST'"):
        segments_of([memoryview(b"NBSU" + bytes(4))])


def test_what_is_peeked_at_is_read_next() -> None:
    reader = StreamReader([memoryview(b"ab"), memoryview(b""), memoryview(b"cd\nef")])

    assert [reader.read(2), reader.peek(9), reader.readline(), reader.read(), reader.peek(1)] == [
        b"ab", b"cd\nef", b"cd\n", b"ef", b"",
    ]  # fmt: skip
