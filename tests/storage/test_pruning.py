"""Pruning gives back room, and takes nothing that anybody may ask for."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from nbckpt.capture.decode import Values
from nbckpt.errors import BlobNotFoundError, StoreError, UsageError
from nbckpt.fingerprint import random_generators
from nbckpt.session.session import Session
from nbckpt.storage.automatic_pruning import automatic
from nbckpt.storage.check import check
from nbckpt.storage.pruning import prune
from nbckpt.storage.rewriting import folded
from nbckpt.storage.sizes import size_of
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.records import head_record

MB = 1_000_000


def noise(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def bytes_of_packs(path: Path) -> int:
    return sum(p.stat().st_size for p in (path / "packs").iterdir())


def make(session: Session, count: int, size: int = MB) -> list[str]:
    """Checkpoints `a0`, `a1` …, each with another `big` and a variable of its own."""
    ids = []
    for i in range(count):
        session.namespace["big"] = noise(size, i)
        session.namespace[f"own{i}"] = [i]
        ids.append(session.checkpoint(f"a{i}", sync=True).id)
    return ids


def open_again(path: Path) -> Session:
    return Session(Store.open(path), {}, notebook="test")


def values_of(path: Path, checkpoint_id: str) -> dict[str, object]:
    """What a reader who knows nothing of the store finds in a checkpoint."""
    store = Store.open(path, create=False)
    manifest = folded(store.refresh()).manifest(checkpoint_id)
    users = [name for name in manifest if name not in random_generators.NAMES]
    values = {name: Values(store, manifest).build(name) for name in users}
    store.close()
    return values


def test_what_a_closed_session_left_shrinks_to_the_newest(session: Session) -> None:
    ids = make(session, 10)
    path = session.store.path
    session.store.close()
    before = bytes_of_packs(path)
    store = Store.open(path)

    pruned = prune(store, Retention(keep_last=2))

    assert [i for i, _ in pruned.checkpoints] == ids[:8]
    assert (pruned.kept_checkpoints, pruned.left) == (2, "")
    assert before > 10 * MB
    assert bytes_of_packs(path) < 2.1 * MB
    assert pruned.freed_bytes == pytest.approx(before - bytes_of_packs(path), rel=0.02)
    assert check(store.path).problems == ()
    again = open_again(path)
    assert list(again.timeline.checkpoints) == ids[8:]
    for i in (8, 9):
        values = values_of(again.store.path, ids[i])
        np.testing.assert_array_equal(values["big"], noise(MB, i))
        assert [values[f"own{n}"] for n in range(i + 1)] == [[n] for n in range(i + 1)]
    again.store.close()
    store.close()


def test_an_idle_session_in_another_store_object_keeps_what_it_stands_on(session: Session) -> None:
    ids = make(session, 10)
    path = session.store.path
    other = Store.open(path)

    prune(other, Retention(keep_last=1))
    room = bytes_of_packs(path)
    session.namespace["own3"].append("more")
    last = session.checkpoint("next", sync=True)

    assert room < 1.1 * MB
    assert last.parent == ids[9]
    assert set(last.changed) == {"own3"}
    session.refresh()
    assert list(session.timeline.checkpoints) == [ids[9], last.id]
    assert bytes_of_packs(path) < room + 10_000  # `big` was not put again
    assert check(session.store.path).problems == ()
    other.close()


def test_a_session_prunes_its_own_store_and_goes_on(session: Session) -> None:
    ids = make(session, 10)
    path = session.store.path

    prune(session.store, Retention(keep_last=1))
    session.refresh()
    session.namespace["big"][7] = 1
    made = session.checkpoint("next", sync=True)

    assert bytes_of_packs(path) < 1.5 * MB
    assert list(session.timeline.checkpoints) == [ids[9], made.id]
    assert check(session.store.path).problems == ()
    session.store.close()
    values = values_of(path, made.id)
    expected = noise(MB, 9)
    expected[7] = 1
    np.testing.assert_array_equal(values["big"], expected)
    assert values["own0"] == [0]


def test_pruning_again_frees_nothing_and_changes_nothing(session: Session) -> None:
    make(session, 5)
    prune(session.store, Retention(keep_last=2))
    before = {p: p.stat().st_mtime_ns for p in session.store.path.rglob("*") if p.is_file()}

    again = prune(session.store, Retention(keep_last=2))

    after = {p: p.stat().st_mtime_ns for p in session.store.path.rglob("*") if p.is_file()}
    assert (again.checkpoints, again.freed_bytes, again.left) == ((), 0, "")
    assert before == after


def test_without_options_only_garbage_goes(session: Session) -> None:
    ids = make(session, 3)
    session.store.put_blob([noise(3 * MB, 100)])  # of a capture that no checkpoint followed
    session.store.append([]).result()

    pruned = prune(session.store, Retention())

    assert pruned.checkpoints == ()
    assert pruned.freed_bytes > 2.9 * MB
    assert [c.id for c in open_again(session.store.path).history()] == ids[::-1]
    assert check(session.store.path).problems == ()


def test_a_dry_run_says_what_would_go_and_changes_nothing(session: Session) -> None:
    make(session, 5)
    before = {p: p.stat().st_mtime_ns for p in session.store.path.rglob("*")}

    told = prune(session.store, Retention(keep_last=2), dry_run=True)

    assert {p: p.stat().st_mtime_ns for p in session.store.path.rglob("*")} == before
    done = prune(session.store, Retention(keep_last=2))
    assert told.dry_run
    assert told.checkpoints == done.checkpoints
    assert told.freed_bytes == pytest.approx(done.freed_bytes, rel=0.05)


def test_tagged_checkpoints_and_their_values_stay(session: Session) -> None:
    ids = make(session, 6)
    session.tag("a1", "best")

    prune(session.store, Retention(keep_last=1))

    again = open_again(session.store.path)
    assert list(again.timeline.checkpoints) == [ids[1], ids[5]]
    assert again.get("a1").tags == ("best",)
    assert again.get("a5").parent == ids[1]
    assert set(again.get("a5").changed) == {"big", "own5"}
    assert set(again.get("a5").carried) == {"own2", "own3", "own4"}
    np.testing.assert_array_equal(values_of(again.store.path, ids[1])["big"], noise(MB, 1))
    assert check(session.store.path).problems == ()


def test_what_a_gone_checkpoint_removed_is_not_there_again(session: Session) -> None:
    (first, *_) = make(session, 2, 1000)
    del session.namespace["own0"]
    session.checkpoint("gone", sync=True)
    session.namespace["x"] = 1
    last = session.checkpoint("last", sync=True).id
    session.tag(first, "stays")

    prune(session.store, Retention(keep_last=1))

    again = open_again(session.store.path)
    assert set(values_of(again.store.path, first)) >= {"own0", "big"}
    assert "own0" not in values_of(again.store.path, last)
    assert values_of(again.store.path, last)["x"] == 1


def test_a_dropped_branch_goes_with_what_only_it_reaches(session: Session) -> None:
    ids = make(session, 3)
    session.fork("a1", "try")
    session.namespace["big"] = noise(MB, 50)
    tried = session.checkpoint("tried", sync=True).id
    session.switch("main")

    with pytest.raises(UsageError, match="there is no branch 'tyr' to drop; there are main, try"):
        prune(session.store, Retention(drop=("tyr",)))
    pruned = prune(session.store, Retention(drop=("try",)))

    assert tried in [i for i, _ in pruned.checkpoints]
    again = open_again(session.store.path)
    assert set(again.timeline.branches) == {"main"}
    assert [c.id for c in again.history()] == ids[::-1]
    assert check(session.store.path).problems == ()


def test_overtaken_branches_keep_their_names(session: Session) -> None:
    make(session, 3, 1000)
    for n in range(3):
        session.rewind("a1")
        session.namespace["x"] = n
        session.checkpoint(f"b{n}", sync=True)
    before = dict(session.timeline.branches)

    prune(session.store, Retention(keep_last=1))

    session.refresh()
    assert len(before) == 4
    assert session.timeline.branches == before
    assert open_again(session.store.path).timeline.branches == before


def move_branch(session: Session, ref: str) -> None:
    """Go to a checkpoint, and have the branch there, too."""
    target = session.get(ref)
    session.rewind(ref)
    session.position.move_head(target)


def test_an_overtaken_name_goes_when_its_branch_is_there_again_also_after_a_prune(
    session: Session,
) -> None:
    session.namespace["x"] = 0
    session.checkpoint("start")
    for n in range(2):
        session.namespace["x"] = n + 1
        session.checkpoint(f"try-{n}")
        move_branch(session, "start")
    assert set(session.timeline.branches) == {"main", "main.1", "main.2"}

    prune(session.store, Retention(drop=("main.1",)))
    move_branch(session, "-")

    assert session.get("main").name == "try-1"
    assert set(session.timeline.branches) == {"main"}


def test_a_store_is_pruned_to_a_size(session: Session) -> None:
    make(session, 10)
    session.store.close()
    store = Store.open(session.store.path)

    pruned = prune(store, Retention(max_size=5 * MB))

    assert 4 <= pruned.kept_checkpoints <= 5
    assert 3.9 * MB < size_of(store.path) <= 5 * MB
    assert automatic(store, Retention(max_size=5 * MB)) is None
    assert automatic(store, Retention(max_size=2 * MB)) is not None
    assert size_of(store.path) <= 2 * MB
    assert automatic(store, Retention()) is None
    store.close()


def test_a_size_that_cannot_be_reached_costs_no_history_and_is_told(session: Session) -> None:
    session.namespace["held"] = noise(MB, 9)
    make(session, 5, 10)

    dry = prune(session.store, Retention(max_size=1000), dry_run=True)
    pruned = prune(session.store, Retention(max_size=1000))

    assert pruned.kept_checkpoints == 5
    for told in (pruned.left, dry.left):
        assert "MB are left, more than 1 kB: heads of branches, tagged checkpoints" in told


def test_too_few_checkpoints_too_many_are_not_worth_a_prune(session: Session) -> None:
    make(session, 12, 1000)

    assert automatic(session.store, Retention(keep_last=5)) is None
    pruned = automatic(session.store, Retention(keep_last=2))

    assert pruned is not None
    assert pruned.kept_checkpoints == 2


def test_only_one_prunes_at_once(session: Session) -> None:
    from nbckpt.storage.locks import one_at_a_time

    make(session, 2, 1000)

    with (
        one_at_a_time(session.store.path),
        pytest.raises(StoreError, match=r"another prune of .* is at work"),
    ):
        prune(session.store, Retention(keep_last=1))


def test_a_reader_that_knows_old_places_finds_the_new_ones(session: Session) -> None:
    ids = make(session, 4)
    reader = open_again(session.store.path)
    kept, gone = (reader.timeline.checkpoints[i].changed["big"].blob for i in (ids[3], ids[0]))
    reader.store.get_blob(reader.timeline.checkpoints[ids[3]].changed["own3"].blob)

    prune(session.store, Retention(keep_last=1))

    found = np.concatenate([np.frombuffer(part, np.uint8) for part in reader.store.get_blob(kept)])
    assert found.nbytes >= MB
    with pytest.raises(BlobNotFoundError, match="does not hold blob"):
        reader.store.get_blob(gone)


def test_mapped_values_of_pruned_checkpoints_live_on(session: Session) -> None:
    ids = make(session, 4)
    reader = open_again(session.store.path)
    reader.rewind(ids[0])

    prune(session.store, Retention(keep_last=1))

    np.testing.assert_array_equal(reader.namespace["big"], noise(MB, 0))


def test_a_session_whose_place_is_gone_keeps_everything_anew(session: Session) -> None:
    first, _, last = make(session, 3)
    other = open_again(session.store.path)
    other.rewind(first)
    said = [head_record("main", other.timeline.checkpoints[last], None)]
    other.writes.append([*said, {"kind": "event", "at": time.time(), "checkpoint": last}]).result()

    prune(session.store, Retention(keep_last=1, drop=(other.position.branch,)))
    made = other.checkpoint("own", sync=True)

    assert made.parent is None
    assert set(made.changed) >= {"big", "own0"}
    values = values_of(session.store.path, made.id)
    np.testing.assert_array_equal(values["big"], noise(MB, 0))
    assert values["own0"] == [0]
    assert check(session.store.path).problems == ()


def test_tables_of_values_that_are_gone_go(session: Session) -> None:
    pd = pytest.importorskip("pandas")
    for i in range(3):
        session.namespace["df"] = pd.DataFrame({"x": range(i, i + 1000)})
        session.checkpoint(f"a{i}", sync=True)
        session.sql(f"select sum(x) from variable('df', 'a{i}')").fetchall()
    tables = session.store.path / "tables"
    assert len(list(tables.iterdir())) == 3

    prune(session.store, Retention(keep_last=1))

    assert len(list(tables.iterdir())) == 1
    session.refresh()
    assert session.sql("select min(x) from variable('df', 'a2')").fetchall() == [(2,)]
    assert check(session.store.path).problems == ()
    session.store.close()
    assert check(open_again(session.store.path).store.path).problems == ()


def test_a_prune_takes_nothing_of_what_a_session_has_put_and_not_committed(
    session: Session,
) -> None:
    make(session, 2)
    other = Store.open(session.store.path)
    session.namespace["big"] = noise(MB, 9)
    session.workspace.capturer.capture()

    prune(other, Retention(keep_last=1))
    made = session.checkpoint("next", sync=True)

    np.testing.assert_array_equal(values_of(session.store.path, made.id)["big"], noise(MB, 9))
    assert check(session.store.path).ok


@pytest.mark.slow
def test_one_prune_after_another_keeps_what_the_first_kept(session: Session) -> None:
    ids = make(session, 20, 100_000)
    for left in (15, 10, 5, 2):
        prune(session.store, Retention(keep_last=left))
        again = open_again(session.store.path)
        assert list(again.timeline.checkpoints) == ids[-left:]
        for i in range(20 - left, 20):
            values = values_of(again.store.path, ids[i])
            np.testing.assert_array_equal(values["big"], noise(100_000, i))
            assert len(values) == i + 2
        assert check(again.store.path).problems == ()
        again.store.close()
