"""Trees of blobs that name their chunks more often than is well."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nbckpt.errors import FormatError
from nbckpt.storage.blobs import GROUPED, HEAD, MAGIC, PART, Part, tree_of
from nbckpt.storage.cutting import GROUP_MAX_NAMES
from nbckpt.storage.store import Store


def put_plain(store: Store, *chunks: bytes) -> list[bytes]:
    """The names of chunks that are kept as they are, as those are that name others."""
    writer = store._writer
    with writer._batches.lock:
        names = [writer._putter._put_small(memoryview(c), may_shrink=False) for c in chunks]
        writer._batches.flush()
    return names


def test_of_a_chunk_that_is_named_a_million_times_each_group_is_looked_at_once(
    tmp_path: Path,
) -> None:
    store = Store.open(tmp_path / "s")
    (name,) = put_plain(store, np.random.default_rng(5).bytes(256 << 10))
    tree = tree_of([Part(1 << 38, False, (name,) * (1 << 20))])
    blob = put_plain(store, *tree.groups, tree.root)[-1].hex()

    assert len(store.blobs._reader.chunks(blob)) < 1000
    store.close()


def test_what_names_more_chunks_than_a_group_may_is_damaged(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    names = put_plain(store, b"x")
    (group,) = put_plain(store, names[0] * (GROUP_MAX_NAMES + 1))
    root = HEAD.pack(MAGIC, 1) + PART.pack(GROUP_MAX_NAMES + 1, GROUPED, 1) + group
    (blob,) = put_plain(store, root)

    with pytest.raises(FormatError, match="no group"):
        store.get_blob(blob.hex())
    store.close()
