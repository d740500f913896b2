"""A chunk comes back from the form that it was stored in, or not at all."""

from __future__ import annotations

import os

import pytest
import zstandard
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.storage.chunk_forms import Expander, Press, is_zeros
from nbckpt.storage.index_frames import RAW, ZEROS, ZSTD, Place

NAME = bytes(32)
texts = st.one_of(st.binary(max_size=3000), st.binary(max_size=50).map(lambda b: b * 400))


@given(texts)
def test_a_form_gives_the_bytes_back(data: bytes) -> None:
    codec, stored = Press().form(memoryview(data))
    place = Place("p", 64, len(stored), codec, len(data))

    assert Expander().bytes_of(place, stored, NAME) == data
    assert len(stored) <= len(data)


def test_noise_stays_as_it_is_and_is_not_even_tried_as_a_whole() -> None:
    data = memoryview(os.urandom(200_000))

    codec, stored = Press().form(data)

    assert codec == RAW
    assert stored is data


@pytest.mark.parametrize(
    "stored",
    [
        zstandard.ZstdCompressor().compress(b"x" * 501),
        zstandard.ZstdCompressor().compress(bytes(1 << 30)),
        zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 500),
        zstandard.ZstdCompressor(write_checksum=True).compress(b"x" * 500)[:-1] + b"!",
        b"no frame at all",
        b"",
    ],
    ids=["longer", "a bomb", "says no length", "damaged", "none", "empty"],
)
def test_what_is_not_the_frame_of_such_a_chunk_is_none(stored: bytes) -> None:
    place = Place("p", 64, len(stored), ZSTD, 500)

    assert Expander().bytes_of(place, stored, NAME) is None


def test_what_the_file_ends_before_is_none() -> None:
    assert Expander().bytes_of(Place("p", 64, 10, RAW, 10), b"only 6", NAME) is None


def test_a_codec_to_come_is_none() -> None:
    assert Expander().bytes_of(Place("p", 64, 3, 9, 3), b"abc", NAME) is None


def test_zeros_are_told_from_what_begins_and_ends_with_them() -> None:
    zeros, almost = bytes(5000), bytes(2000) + b"\1" + bytes(2999)

    assert is_zeros(blake3(zeros).digest(), memoryview(zeros))
    assert not is_zeros(blake3(almost).digest(), memoryview(almost))
    assert Expander().bytes_of(Place("p", 0, 0, ZEROS, 5000), b"", NAME) == zeros
