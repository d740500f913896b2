"""A stream that is much what it was: only what changed is cut, and names are as of any other way."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from itertools import accumulate

import pytest

from nbckpt.storage import similar_streams
from nbckpt.storage.blobs import digest_of_parts
from nbckpt.storage.cutting import by_content
from nbckpt.storage.store import Store


def rows(count: int) -> bytes:
    return pickle.dumps([{"id": i, "text": "some words " * (i % 9)} for i in range(count)], 5)


@pytest.fixture
def cut_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the chunks that were cut."""
    sizes: list[int] = []

    def counted(stream: memoryview) -> Iterator[memoryview]:
        for chunk in by_content(stream):
            sizes.append(len(chunk))
            yield chunk

    monkeypatch.setattr(similar_streams, "by_content", counted)
    return sizes


@pytest.mark.parametrize("most_bytes", [similar_streams.MOST_BYTES, 0])
def test_only_what_changed_of_a_stream_is_cut(
    store: Store, cut_bytes: list[int], monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(similar_streams, "MOST_BYTES", most_bytes)
    stream = os.urandom(1_000_000)
    store.put_blob([stream])
    assert sum(cut_bytes) == len(stream)
    longer = stream + os.urandom(5000)
    changed = longer[:500_000] + b"changed" + longer[500_007:]

    for other in (stream, longer, changed):
        cut_bytes.clear()
        digest = store.put_blob([other])
        assert sum(cut_bytes) < 60_000
        assert digest == digest_of_parts([other])


def test_a_cut_before_which_nothing_changed_depends_on_what_is_behind_it(store: Store) -> None:
    stream = rows(4000)
    store.put_blob([stream])
    ends = [*accumulate(len(chunk) for chunk in by_content(memoryview(stream)))]

    for end in ends[1:-1:7]:
        for behind in (b"", b"x", b"xy", b"xyz", os.urandom(40_000)):
            other = stream[:end] + behind
            assert store.put_blob([other]) == digest_of_parts([other])
            store.put_blob([stream])


def test_whatever_becomes_of_a_stream_its_digest_is_that_of_its_bytes(store: Store) -> None:
    numbers = random.Random(3)
    stream = rows(4000)
    for step in range(60):
        at = numbers.randrange(len(stream))
        how = step % 8
        if how == 0:
            stream = stream[:at]
        elif how == 1:
            stream = stream[:at] + b"x" + stream[at + 1 :]
        elif how == 2:
            stream = stream[:at] + numbers.randbytes(300) + stream[at:]
        elif how == 3:
            stream = rows(numbers.randrange(3000, 6000))
        elif how == 4:
            stream = stream[:at] + stream[at + numbers.choice([1, 2, 700, 9000]) :]
        elif how == 5:
            stream = stream[:at] + stream[at // 2 : at // 2 + 20_000] + stream[at:]
        else:
            stream += numbers.randbytes(numbers.choice([1, 700, 20_000]))

        digest = store.put_blob([stream])

        assert digest == digest_of_parts([stream])
        assert bytes(store.get_blob(digest)[0]) == stream


def test_a_chunk_that_was_found_damaged_is_stored_again(store: Store) -> None:
    stream = rows(4000)
    store.put_blob([stream])
    store.append([]).result()
    (pack,) = (store.path / "packs").iterdir()
    data = bytearray(pack.read_bytes())
    at = len(data) // 2
    data[at : at + 64] = bytes(64)
    pack.write_bytes(data)

    again = Store.open(store.path)
    digest = again.put_blob([stream])
    with pytest.raises(Exception, match="damaged"):
        again.get_blob(digest)
    longer = stream + b"more"
    digest = again.put_blob([longer])

    assert bytes(again.get_blob(digest)[0]) == longer
    again.close()
