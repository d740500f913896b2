"""A stream that grows: only its end is cut and hashed, and its names are those of any other way."""

from __future__ import annotations

import os
import pickle
import random

import pytest
from blake3 import blake3

from nbckpt.storage import putting
from nbckpt.storage.blobs import digest_of_parts
from nbckpt.storage.store import Store


def rows(count: int) -> bytes:
    return pickle.dumps([{"id": i, "text": "some words " * (i % 9)} for i in range(count)], 5)


def test_a_stream_that_grew_is_hashed_at_its_end_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = os.urandom(500_000)
    store.put_blob([stream])
    hashed: list[int] = []
    monkeypatch.setattr(putting, "blake3", lambda data: hashed.append(len(data)) or blake3(data))

    longer = stream + os.urandom(5000)
    digest = store.put_blob([longer])

    assert sum(hashed) < 50_000
    assert digest == digest_of_parts([longer])


def test_whatever_becomes_of_a_stream_its_digest_is_that_of_its_bytes(store: Store) -> None:
    numbers = random.Random(3)
    stream = rows(4000)
    for step in range(60):
        at = numbers.randrange(len(stream))
        how = step % 6
        if how == 0:
            stream = stream[:at]
        elif how == 1:
            stream = stream[:at] + b"x" + stream[at + 1 :]
        elif how == 2:
            stream = stream[:at] + numbers.randbytes(300) + stream[at:]
        elif how == 3:
            stream = rows(numbers.randrange(3000, 6000))
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
