"""What somebody else says to be there is not made of it, if that is more than fits into memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbckpt.errors import FormatError, RestoreError
from nbckpt.session.maintenance.trust_reasons import why_locked
from nbckpt.session.move_result import MoveResult
from nbckpt.session.session import Session
from nbckpt.storage import claimed
from nbckpt.storage.blobs import GROUPED, HEAD, MAGIC, PART, Part, tree_of
from nbckpt.storage.cutting import GROUP_MAX_NAMES
from nbckpt.storage.store import Store

MB = 1 << 20
Opens = Callable[[dict[str, object]], Session]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opens:
    """Has somebody keep variables, and somebody else, with little memory, open the store."""

    def hand_over(variables: dict[str, object]) -> Session:
        store = Store.open(tmp_path / "s")
        Session(store, dict(variables)).checkpoint("theirs", sync=True)
        store.close()
        monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "another"))
        monkeypatch.setattr(claimed, "free_bytes", lambda: 16 * MB)
        return Session(Store.open(tmp_path / "s"), {})

    return hand_over


def failed(moved: MoveResult) -> dict[str, str]:
    return {refusal.variable: refusal.reason for refusal in moved.failed}


def test_what_is_said_to_be_larger_than_memory_and_is_not_stored_does_not_come_back(
    opened: Opens,
) -> None:
    full = np.random.default_rng(5).random(4 * MB)
    zeros, repeated = np.zeros(4 * MB), np.tile(full[: MB // 8], 32)
    session = opened(
        {"full": full, "zeros": zeros, "repeated": repeated, "stream": [False] * MB, "small": [1]}
    )

    moved = session.rewind("theirs")

    told = failed(moved)
    assert set(told) == {"zeros", "repeated", "stream"}
    assert "says that it has 33.6 MB" in told["repeated"]
    assert "look at it (`nbckpt trust --show`), then `nbckpt trust`" in told["zeros"]
    assert session.namespace["small"] == [1]
    assert np.array_equal(session.namespace["full"], full)  # type: ignore[arg-type]
    looked = session.timeline.manifest(moved.checkpoint.id)
    assert "says that it has" in str(why_locked(session.store, looked["zeros"]))
    assert why_locked(session.store, looked["full"]) is None
    session.store.close()


def test_all_of_it_comes_back_when_it_is_trusted(opened: Opens) -> None:
    session = opened({"zeros": np.zeros(4 * MB)})
    session.store.trust()

    moved = session.rewind("theirs")

    assert not moved.failed
    assert np.array_equal(session.namespace["zeros"], np.zeros(4 * MB))  # type: ignore[arg-type]
    session.store.close()


def test_the_limit_of_ones_own_values_holds_for_others(opened: Opens) -> None:
    session = opened({"full": np.random.default_rng(5).random(2 * MB), "small": [1]})
    session.settings = replace(session.settings, max_value_size=10_000_000)

    moved = session.rewind("theirs")

    assert "more than max_value_size (10 MB)" in failed(moved)["full"]
    assert session.namespace["small"] == [1]
    session.store.close()


def put_plain(store: Store, *chunks: bytes) -> list[bytes]:
    """The names of chunks that are kept as they are, as those are that name others."""
    writer = store._writer
    with writer._batches.lock:
        names = [writer._putter._put_small(memoryview(c), may_shrink=False) for c in chunks]
        writer._batches.flush()
    return names


def test_a_chunk_that_is_named_a_million_times_takes_no_memory(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    (name,) = put_plain(store, np.random.default_rng(5).bytes(256 << 10))
    tree = tree_of([Part(1 << 38, False, (name,) * (1 << 20))])
    blob = put_plain(store, *tree.groups, tree.root)[-1].hex()

    with pytest.raises(RestoreError, match=r"says that it has 275 GB, of which little is stored"):
        store.get_blob(blob, trusted=False)

    assert len(store._reader.chunks(blob)) < 1000  # who checks or prunes looks at each group once
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


def test_a_name_of_pythons_own_is_not_bound_by_others(opened: Opens) -> None:
    session = opened({"print": [1], "get_ipython": 2, "__builtins__": {}, "open": 3, "fine": [4]})
    before = dict(session.namespace)

    moved = session.rewind("theirs")

    assert session.namespace == {**before, "fine": [4]}
    told = {r.variable: r.reason for r in moved.untrusted}
    assert told["print"].startswith("'print' is a name of Python's own")


def test_ones_own_print_comes_back(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    session = Session(store, {"print": [1]})
    session.checkpoint("own", sync=True)
    session.namespace["print"] = 2

    session.rewind("own")

    assert session.namespace["print"] == [1]
