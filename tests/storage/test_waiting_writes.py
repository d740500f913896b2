"""What waits to be written: the cell goes on, and what is stored is what there was."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import StoreError
from nbckpt.storage.check import check
from nbckpt.storage.index_frames import Place
from nbckpt.storage.packs import PackWriter
from nbckpt.storage.store import Store

MIB = 1 << 20


class Gate:
    """Holds back the writes of large parts, or refuses them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.error: OSError | None = None
        self.written = 0
        whole = PackWriter.write

        def write(pack: PackWriter, place: Place, data: memoryview) -> None:
            self.open.wait(20)
            if self.error is not None:
                raise self.error
            self.written += len(data)
            whole(pack, place, data)

        monkeypatch.setattr(PackWriter, "write", write)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


def event(digest: str) -> dict[str, Any]:
    return {"kind": "event", "at": 1.0, "blob": digest}


def test_a_buffer_that_changes_before_it_is_written_is_stored_as_it_was(
    store: Store, gate: Gate
) -> None:
    data = bytearray(os.urandom(20 * MIB))
    before = bytes(data)

    digest = store.put_blob([b"", data])
    done = store.append([event(digest)])
    data[:] = bytes(len(data))
    written = gate.written
    gate.open.set()
    done.result(20)

    assert written == 0
    assert bytes(store.get_blob(digest)[1]) == before
    assert check(store.path).problems == ()


def test_what_is_read_before_it_is_written_is_written_first(store: Store, gate: Gate) -> None:
    data = bytearray(os.urandom(3 * MIB))
    digest = store.put_blob([b"", data])
    gate.open.set()

    assert bytes(store.get_blob(digest)[1]) == data


def test_what_the_disk_refuses_later_is_an_error_of_the_commit_and_is_tried_again(
    store: Store, gate: Gate
) -> None:
    gate.open.set()
    gate.error = OSError(28, "No space left on device")
    data = bytearray(os.urandom(5 * MIB))

    digest = store.put_blob([b"", data])
    with pytest.raises(StoreError, match="the disk is full"):
        store.append([event(digest)]).result(20)
    with pytest.raises(StoreError):
        store.wait()
    data[:] = bytes(len(data))
    gate.error = None
    store.append([]).result(20)

    later = Store.open(store.path, create=False)
    assert [r["blob"] for r in later.refresh() if r["kind"] == "event"] == [digest]
    assert any(later.get_blob(digest)[1])
    assert check(later.path).problems == ()
    later.close()


def test_no_more_than_the_limit_waits(store: Store, gate: Gate) -> None:
    store.let_wait(8 * MIB)
    gate.open.set()
    data = bytearray(os.urandom(20 * MIB))

    digest = store.put_blob([b"", data])
    at_once = gate.written
    store.append([event(digest)]).result(20)

    assert at_once == 12 * MIB
    assert gate.written == 20 * MIB
    assert bytes(store.get_blob(digest)[1]) == data


@pytest.mark.slow
def test_memory_that_was_lent_comes_back(store: Store) -> None:
    for _ in range(12):  # more than may be lent at once
        store.put_blob([b"", bytearray(os.urandom(20 * MIB))])
        store.append([]).result(20)

    assert store._writer._batches.waiting._lent_bytes == 0


@pytest.mark.parametrize("refuses", [False, True])
def test_what_waits_when_a_sync_fails_is_written_elsewhere(
    store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    gate.open.set()
    first = bytearray(os.urandom(2 * MIB))
    second = bytearray(os.urandom(2 * MIB))
    sync = PackWriter.sync
    digests: list[str] = []

    def failing(pack: PackWriter) -> None:
        digests.append(store.put_blob([b"", second]))  # by another thread, meanwhile
        if refuses:
            gate.error = OSError(5, "Input/output error")
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(PackWriter, "sync", failing)
    digests.append(store.put_blob([b"", first]))
    with pytest.raises(StoreError):
        store.append([event(digests[0])]).result(20)
    with pytest.raises(StoreError):
        store.wait()
    monkeypatch.setattr(PackWriter, "sync", sync)
    gate.error = None
    store.append([event(digests[1])]).result(20)

    later = Store.open(store.path, create=False)
    assert bytes(later.get_blob(digests[0])[1]) == first
    assert bytes(later.get_blob(digests[1])[1]) == second
    assert {problem.kind for problem in check(later.path).problems} <= {"unreachable"}
    later.close()


def test_a_store_that_is_closed_has_written_what_it_promised(tmp_path: Path, gate: Gate) -> None:
    store = Store.open(tmp_path / "s")
    data = bytearray(os.urandom(5 * MIB))
    digest = store.put_blob([b"", data])
    store.append([event(digest)])
    gate.open.set()
    store.close()

    later = Store.open(tmp_path / "s", create=False)
    assert bytes(later.get_blob(digest)[1]) == data
    later.close()
