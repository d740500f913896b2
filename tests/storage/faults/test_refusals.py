"""Whatever call of a verb the disk refuses, nothing that was durable is lost, and it is said."""

from __future__ import annotations

import errno
import random
import time
from pathlib import Path

import pytest

from nbckpt.errors import StoreError
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.counted_records import blobs_named
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from tests.storage.faults.disks import FAULTS, NO_LOCKS, Disk, Fault, in_place
from tests.storage.faults.trying import Template, after_all, attempt, attempts, counted, template
from tests.storage.faults.verbs import VERBS

pytestmark = pytest.mark.sampled(7)

FEW = 12
FOUND_ONCE = [
    ("checkpoint, small", "ENOSPC", 1),  # the header of a pack: its name was taken for ever
    ("checkpoint, small", "full from here on", 2),  # the cut, too: chunks without bytes counted
    ("resume", "EIO", 1),  # the name of a journal: what followed went into a nameless file
    ("resume", "done, and said to be refused", 0),
    ("checkpoint, small", "sync fails and drops pages", 0),
    ("prune, old", "read EACCES", 30),  # a live journal was taken for dead, and deleted
    ("tag", "read ESTALE", 0),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A store with something of everything in it."""
    return template(tmp_path_factory.mktemp("made"))


def fault_named(name: str) -> Fault:
    return next(fault for fault in FAULTS if fault.name == name)


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("verb", "name", "at"), FOUND_ONCE)
def test_what_was_once_lost_is_not(
    made: Template, tmp_path: Path, verb: str, name: str, at: int
) -> None:
    after = after_all(made, verb, tmp_path / "s")

    assert attempt(made, verb, fault_named(name), at, after, tmp_path / "s")


@pytest.mark.slow
def test_some_faults_at_some_calls_break_no_promise(made: Template, tmp_path: Path) -> None:
    chance = random.Random(8)
    after = {verb: after_all(made, verb, tmp_path / "s") for verb in VERBS}
    hits = 0

    for _ in range(FEW):
        verb, fault, at = chance.choice(list(VERBS)), chance.choice(FAULTS), chance.randrange(16)
        hits += bool(attempt(made, verb, fault, at, after[verb], tmp_path / "s"))

    assert hits > FEW // 3


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("verb", VERBS)
def test_each_fault_at_each_call_breaks_no_promise(
    made: Template, tmp_path: Path, verb: str, record_property: pytest.RecordProperty
) -> None:
    found = counted(attempts(made, verb, FAULTS, tmp_path / "s"))

    record_property("outcomes", dict(found))
    assert found.total() >= len(FAULTS) // 2


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["checkpoint, large", "rewind"])
def test_without_locks_all_but_a_prune_goes_on(made: Template, tmp_path: Path, verb: str) -> None:
    after = after_all(made, verb, tmp_path / "s")

    assert attempt(made, verb, NO_LOCKS, 0, after, tmp_path / "s") == "done"
    assert attempt(made, "prune, branch", NO_LOCKS, 0, {}, tmp_path / "s") == "StoreError"


def test_a_clock_that_goes_back_changes_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    clock = iter(now - 3600 * hour for hour in range(10_000))
    monkeypatch.setattr(time, "time", lambda: next(clock))  # an hour back with each look
    path = tmp_path / "s"
    for turn in range(3):
        session = Session(Store.open(path), {}, notebook="test")
        if turn:
            assert session.resume().checkpoint.name == f"second-{turn - 1}"
            assert session.namespace["x"] == turn * 10
        session.namespace["x"] = turn
        session.checkpoint(f"first-{turn}", sync=True)
        session.namespace["x"] = (turn + 1) * 10
        session.checkpoint(f"second-{turn}", sync=True)
        session.store.close()

    session = Session(Store.open(path), {}, notebook="test")
    names = [checkpoint.name for checkpoint in session.history()]
    prune(session.store, Retention(keep_last=1))

    assert names == ["second-2", "first-2", "second-1", "first-1", "second-0", "first-0"]
    assert session.resume().checkpoint.name == "second-2"
    assert session.namespace["x"] == 30
    assert check(session.store.path).ok


def test_a_handle_that_is_stale_is_opened_once_more(made: Template) -> None:
    disk = Disk()
    with in_place(disk):
        store = Store.open(made.folder)
        digest = next(b for r in store.refresh() for b, _ in blobs_named(r))
        disk.arm(Fault("stale", frozenset({"preadv", "pread"}), errno.ESTALE), 1)

        parts = store.get_blob(digest)
        disk.arm(Fault("stale", frozenset({"pread"}), errno.ESTALE), 0)
        again = Store.open(made.folder)

        assert parts
        assert len(again.refresh()) > 5
        assert again.damages == []
        store.close()
        again.close()


def test_a_stale_handle_that_stays_so_is_told(made: Template) -> None:
    disk = Disk()
    with in_place(disk):
        store = Store.open(made.folder)
        disk.arm(Fault("stale", frozenset({"pread"}), errno.ESTALE, lasts=True), 0)

        assert store.refresh() == []
        assert all("stale file handle" in damage for damage in store.damages)
        disk.arm(Fault("stale", frozenset({"listdir"}), errno.ESTALE, lasts=True), 0)
        with pytest.raises(StoreError, match="nothing that was durable is lost"):
            prune(store, Retention(keep_last=1))
        disk.mend()
        assert len(store.refresh()) > 5
        assert store.damages == []
        store.close()
