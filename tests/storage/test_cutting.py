"""Chunks of a stream stay where its bytes are, whatever comes before them."""

from __future__ import annotations

import random

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.digests import digest_of
from nbckpt.storage.blobs import Part, decode_root, names_in, tree_of
from nbckpt.storage.cutting import (
    GROUP_MAX_NAMES,
    STREAM_MAX_BYTES,
    STREAM_MIN_BYTES,
    by_content,
    evenly,
    in_groups,
)

edits = st.sampled_from(["insert", "delete", "append", "change"])


def some_bytes(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def names_of(data: bytes) -> list[bytes]:
    return [blake3(chunk).digest() for chunk in by_content(memoryview(data))]


def edited(data: bytes, edit: str, at: int, size: int) -> bytes:
    new = some_bytes(size, at)
    return {
        "insert": data[:at] + new + data[at:],
        "delete": data[:at] + data[at + size :],
        "append": data + new,
        "change": data[:at] + new + data[at + size :],
    }[edit]


@given(st.binary(max_size=200), st.integers(0, 60_000))
def test_the_chunks_are_the_stream(beginning: bytes, size: int) -> None:
    data = beginning + some_bytes(size)

    chunks = list(by_content(memoryview(data)))

    assert b"".join(chunks) == data
    assert all(len(chunk) <= STREAM_MAX_BYTES for chunk in chunks)
    assert all(len(chunk) >= STREAM_MIN_BYTES for chunk in chunks[:-1])


def test_the_boundaries_are_those_of_the_format() -> None:
    """Other boundaries would store everything again, and give every blob another name."""
    chunks = list(by_content(memoryview(some_bytes(1 << 20))))

    assert len(chunks) == 215
    assert [len(chunk) for chunk in chunks[:5]] == [4715, 9271, 3445, 4880, 1222]
    assert digest_of(b"".join(names_of(some_bytes(1 << 20)))).startswith("f59bf3c4a0f900da")


@given(edits, st.integers(0, 400_000), st.integers(1, 3000))
def test_a_small_edit_leaves_nearly_all_chunks(edit: str, at: int, size: int) -> None:
    data = some_bytes(400_000)
    before = set(names_of(data))

    new = [name for name in names_of(edited(data, edit, at, size)) if name not in before]

    assert len(before) > 60
    assert len(new) <= 6


def test_a_message_more_costs_a_chunk_at_the_end() -> None:
    messages = [f"message {n}: {'word ' * (n % 50)}".encode() for n in range(2000)]
    before, after = names_of(b"".join(messages)), names_of(b"".join([*messages, b"one more"]))

    assert before[:-1] == after[: len(before) - 1]
    assert len(after) <= len(before) + 1


@pytest.mark.parametrize("size", [0, 1, 262_144, 262_145, 600_000])
def test_a_buffer_is_cut_every_256_kib(size: int) -> None:
    chunks = [len(chunk) for chunk in evenly(memoryview(bytes(size)))]

    assert sum(chunks) == size
    assert set(chunks[:-1]) <= {262_144}


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=400))
def test_groups_joined_are_the_names(names: list[bytes]) -> None:
    groups = list(in_groups(names))

    assert [name for group in groups for name in group] == names
    assert all(0 < len(group) <= GROUP_MAX_NAMES for group in groups)


@given(st.integers(33, 2000), st.integers(0, 2000))
def test_a_changed_chunk_costs_a_group_or_two(count: int, changed: int) -> None:
    names = [blake3(b"%d" % n).digest() for n in range(count)]
    others = list(names)
    others[changed % count] = blake3(b"changed").digest()

    before, after = (tree_of([Part(count, False, tuple(n))]) for n in (names, others))

    assert before.root != after.root
    assert len(set(after.groups) - set(before.groups)) <= 2


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 80)), max_size=5))
def test_a_tree_names_its_parts(drawn: list[tuple[int, bool, int]]) -> None:
    parts = [
        Part(size, readonly, tuple(blake3(b"%d" % n).digest() for n in range(count)))
        for size, readonly, count in drawn
    ]

    tree = tree_of(parts)
    decoded = decode_root(tree.root)

    by_name = {blake3(group).digest(): group for group in tree.groups}
    assert decoded is not None
    for part, got in zip(parts, decoded, strict=True):
        names = got.names
        if got.grouped:
            names = names_in(b"".join(by_name[name] for name in names))
        assert (got.size, got.readonly, names) == (part.size, part.readonly, part.names)


@given(st.integers(0, 200))
def test_a_root_that_was_cut_off_is_none(length: int) -> None:
    whole = tree_of([Part(9, True, (bytes(32), bytes(32))), Part(0, False, ())]).root

    assert decode_root(whole) is not None
    if length < len(whole):
        assert decode_root(whole[:length]) is None
    assert decode_root(whole + b"\0") is None
