"""Prunes beside sessions: nobody loses what they rely on, and nobody waits."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nbckpt.errors import StoreError
from nbckpt.session.session import Session
from nbckpt.storage import locks, pruning
from nbckpt.storage.check import check
from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.locks import Holds
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from tests.storage.test_pruning import MB, bytes_of_packs, make, noise, open_again, values_of


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something done by others once a prune has made its plan."""

    def do(what: Callable[[], object]) -> None:
        todo, require = [what], pruning.require_cipher

        def required(path: Path, cipher: Cipher | None = None) -> None:
            if todo:
                todo.pop()()
            require(path, cipher)

        monkeypatch.setattr(pruning, "require_cipher", required)

    return do


def test_a_checkpoint_on_what_was_to_go_is_kept_with_all_it_holds(
    session: Session, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    ids = make(session, 6)
    other = open_again(session.store.path)
    made: list[str] = []

    def work() -> None:
        other.rewind(ids[1])
        other.namespace["x"] = 1
        made.append(other.checkpoint("meanwhile", sync=True).id)

    meanwhile(work)
    pruned = prune(session.store, Retention(keep_last=1))

    assert made[0] not in dict(pruned.checkpoints)
    assert ids[0] in dict(pruned.checkpoints)
    values = values_of(session.store.path, made[0])
    np.testing.assert_array_equal(values["big"], noise(MB, 1))
    assert (values["own0"], values["x"]) == ([0], 1)
    assert check(session.store.path).ok


def test_bytes_that_were_to_go_and_are_needed_again_stay(
    session: Session, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    make(session, 6)
    session.store.close()
    store, other = Store.open(session.store.path), open_again(session.store.path)
    other.resume("main")
    room: list[int] = []

    def work() -> None:
        other.namespace["again"] = noise(MB, 2)
        before = bytes_of_packs(store.path)
        other.checkpoint("meanwhile", sync=True)
        room.append(bytes_of_packs(store.path) - before)

    meanwhile(work)
    prune(store, Retention(keep_last=1))

    other.refresh()
    newest = other.history()[0]
    assert newest.name == "meanwhile"
    assert room[0] < MB // 2  # it was not written again
    np.testing.assert_array_equal(values_of(store.path, newest.id)["again"], noise(MB, 2))
    assert check(store.path).ok
    prune(store, Retention(keep_last=1))
    assert bytes_of_packs(store.path) < 2.5 * MB
    np.testing.assert_array_equal(values_of(store.path, newest.id)["again"], noise(MB, 2))


def test_a_prune_waits_for_who_holds_and_then_leaves_all_for_later(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, 3)
    monkeypatch.setattr(pruning, "WAIT_S", 0.2)
    other = Store.open(session.store.path)
    before = bytes_of_packs(session.store.path)

    with other.writing():
        left = prune(session.store, Retention(keep_last=1))
    done = prune(session.store, Retention(keep_last=1))

    assert left.checkpoints == ()
    assert "nothing was removed: other sessions wrote all the time" in left.left
    assert len(done.checkpoints) == 2
    assert bytes_of_packs(session.store.path) < before
    assert check(session.store.path).problems == ()


def test_what_was_put_and_not_committed_keeps_prunes_away(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, 2)
    monkeypatch.setattr(pruning, "WAIT_S", 0.1)
    other = Store.open(session.store.path)
    blob = other.put_blob([b"relied upon"])

    left = prune(session.store, Retention(keep_last=1)).left
    other.append([{"kind": "recording", "at": 1.0, "blob": blob}]).result()
    done = prune(session.store, Retention(keep_last=1))

    assert left
    assert done.left == ""
    assert bytes(Store.open(session.store.path).get_blob(blob)[0]) == b"relied upon"


def test_others_wait_for_milliseconds_only(session: Session) -> None:
    make(session, 20)
    other = Store.open(session.store.path)
    longest_s = 0.0
    thread = threading.Thread(target=prune, args=(session.store, Retention(keep_last=2)))

    thread.start()
    while thread.is_alive():
        began = time.perf_counter()
        with other.writing():
            longest_s = max(longest_s, time.perf_counter() - began)
        time.sleep(0.001)
    thread.join()

    assert longest_s < 1.0
    assert other.generation == 1


def test_a_refused_checkpoint_is_not_pruned_and_comes_when_there_is_room(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, 4)
    is_full = [True]
    from nbckpt.storage import journal

    sync = journal.sync_data

    def refuse(fd: int) -> None:
        if is_full[0]:
            raise OSError(errno.ENOSPC, "no space left on device")
        sync(fd)

    monkeypatch.setattr(journal, "sync_data", refuse)
    session.namespace["big"] = noise(MB, 77)
    with pytest.raises(StoreError, match="the disk is full"):
        session.checkpoint("refused", sync=True)

    prune(session.store, Retention(keep_last=1))
    is_full[0] = False
    session.wait()

    refused = open_again(session.store.path).get("refused")
    values = values_of(session.store.path, refused.id)
    np.testing.assert_array_equal(values["big"], noise(MB, 77))
    assert values["own3"] == [3]
    assert check(session.store.path).ok


def test_where_locks_are_not_known_nothing_is_pruned(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session, 2, 1000)

    def refuse(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StoreError, match="knows no locks"):
        prune(session.store, Retention(keep_last=1))
    session.namespace["x"] = 1

    assert session.checkpoint("goes-on", sync=True).changed.keys() == {"x"}


def test_a_child_lets_its_parent_hold_on(store: Store, tmp_path: Path) -> None:
    store.append([{"kind": "event", "at": 1.0}]).result()
    other = Holds(store.path, lambda: None)

    with store.writing():
        if (child := os.fork()) == 0:
            store.append([{"kind": "event", "at": 2.0}]).result()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with other.alone(0.05) as while_held:
            pass
    with other.alone(0.05) as afterwards:
        pass

    assert (while_held, afterwards) == (False, True)
    other.close()


def test_a_lost_line_of_a_dead_journal_keeps_it_from_being_replaced(session: Session) -> None:
    ids = make(session, 4, 1000)
    path = session.store.path
    session.store.close()
    (journal,) = (path / "journal").iterdir()
    journal.write_bytes(journal.read_bytes().replace(b'"name":"a0"', b'"name":"zz"', 1))
    store = Store.open(path)

    prune(store, Retention(keep_last=2))

    assert journal.exists()
    assert list(open_again(path).timeline.checkpoints) == ids[2:]
    assert [p.kind for p in check(store.path).problems if p.kind != "unreachable"] == ["damaged"]


def test_a_damaged_value_is_left_as_it_is_with_all_packs(session: Session) -> None:
    ids = make(session, 3)
    path = session.store.path
    session.store.close()
    (pack,) = (path / "packs").iterdir()
    store = Store.open(path)
    root = bytes.fromhex(open_again(path).timeline.checkpoints[ids[2]].changed["own2"].blob)
    place = store.blobs._find(root)
    assert place is not None
    with pack.open("r+b") as file:
        file.seek(place.offset)
        file.write(b"\xff\xff\xff")

    pruned = prune(Store.open(path), Retention(keep_last=1))

    assert "no pack was touched" in pruned.left
    assert pack.exists()


def test_a_store_that_is_forgotten_ends_its_threads_and_holds(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    store.append([{"kind": "event", "at": 1.0}]).result()
    forgotten = weakref.ref(store)

    del store
    for _ in range(100):
        gc.collect()
        if forgotten() is None:
            break
        time.sleep(0.01)  # the thread that wrote may not have let go of it yet

    assert forgotten() is None


def test_a_lock_that_is_refused_for_a_moment_is_an_error_and_not_writing_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / ".nbckpt")

    def no_more_files(_: Path) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(locks, "open_lock", no_more_files)
    with pytest.raises(StoreError, match="cannot be locked: Too many open files"), store.writing():
        pass
