"""A prune makes nothing trusted that was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nbckpt.model import is_trusted
from nbckpt.storage.check import check
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.prune_plan import MANY_JOURNALS
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_from, checkpoint_record
from nbckpt.timeline.prune_retention import Retention
from tests.storage.users import checkpoint, timeline_of, trusted_in, user, write

ids = [f"id{n:018}" for n in range(9)]


def pruned(path: Path, keep: int) -> None:
    store = Store.open(path)
    prune(store, Retention(keep_last=keep))
    assert [p for p in check(store.path).problems if p.kind != "unreachable"] == []
    store.close()


def test_ones_own_stays_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "s"
    for n in range(4):
        write(path, n, b"%d" % n, parent=ids[n - 1] if n else "", name=f"x{n}")

    pruned(path, 2)

    assert trusted_in(path) == {ids[2]: True, ids[3]: True}
    store = Store.open(path)
    assert not store.trust.untrusted()
    manifest = timeline_of(store).manifest(ids[3])
    assert all(store.blobs.can_rely_on(v.blob) and v.trusted for v in manifest.values())
    assert sorted(manifest) == ["x0", "x1", "x2", "x3"]
    store.close()


def test_what_another_signed_is_not_replaced_and_not_signed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        for n in range(3):
            write(path, n, b"%d" % n, parent=ids[n - 1] if n else "", name=f"x{n}")
    theirs = sorted((path / "journal").iterdir())
    write(path, 3, b"3", parent=ids[2], name="x3")

    pruned(path, 2)

    assert [p for p in theirs if not p.exists()] == []
    assert trusted_in(path) == {ids[2]: False, ids[3]: True}
    store = Store.open(path)
    timeline = timeline_of(store)
    trusted = {name: v.trusted for name, v in timeline.manifest(ids[3]).items()}
    assert trusted == {"x0": False, "x1": False, "x2": False, "x3": True}
    assert all(bytes(store.get_blob(v.blob)[0]) for v in timeline.manifest(ids[3]).values())

    store.trust.vouch()

    assert all(v.trusted for v in timeline_of(store).manifest(ids[3]).values())
    store.close()


def test_what_one_carries_of_another_is_not_signed_until_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        write(path, 0, b"theirs", name="strange")
    for n in (1, 2):
        write(path, n, b"%d" % n, parent=ids[n - 1], name=f"x{n}")

    pruned(path, 1)

    store = Store.open(path)
    assert trusted_in(path) == {ids[2]: True}
    manifest = timeline_of(store).manifest(ids[2])
    assert {n: v.trusted for n, v in manifest.items()} == {"strange": False, "x1": True, "x2": True}
    assert store.trust.untrusted()
    pruned(path, 1)
    assert not timeline_of(store).manifest(ids[2])["strange"].trusted

    store.trust.vouch()

    assert timeline_of(store).manifest(ids[2])["strange"].trusted
    assert not store.trust.untrusted()
    store.close()
    pruned(path, 1)
    later = Store.open(path)
    assert timeline_of(later).manifest(ids[2])["strange"].trusted
    later.close()


def test_what_one_trusts_is_not_counted_because_another_has_written_it_once_more(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s"
    write(path, 0, b"own")
    (journal,) = (path / "journal").iterdir()
    copied = journal.with_name(f"{'f' * 12}-{'0' * 8}.jsonl")
    lines = [line for line in journal.read_bytes().splitlines(keepends=True) if b"checkp" in line]
    copied.write_bytes(b"".join(lines))
    unsigned(path, copied)

    store = Store.open(path)

    assert trusted_in(path) == {ids[0]: True}
    found = store.trust.untrusted()
    assert (found.records, found.checkpoints) == (len(lines), 0)
    store.close()


def unsigned(path: Path, *only: Path) -> None:
    """Make journals what anybody could have written."""
    for journal in only or (path / "journal").iterdir():
        lines, signer = [], Signer()
        for n, line in enumerate(journal.read_bytes().splitlines()):
            text = line[: line.rindex(b',"n":')].decode()
            lines.append(signer.line(text, n))
        journal.write_bytes(b"".join(lines))


@pytest.mark.parametrize("is_vouched", [True, False])
def test_what_nobody_signed_is_signed_by_a_prune_if_it_is_trusted(
    tmp_path: Path, is_vouched: bool
) -> None:
    path = tmp_path / "s"
    for n in range(3):
        write(path, n, b"%d" % n, parent=ids[n - 1] if n else "", name=f"x{n}")
    unsigned(path)
    store = Store.open(path)
    if is_vouched:
        store.trust.vouch()

    prune(store, Retention(keep_last=1))

    (journal,) = (path / "journal").iterdir()
    store.close()
    assert trusted_in(path) == {ids[2]: is_vouched}
    lines = journal.read_bytes().splitlines()
    assert all((b'"mac"' in line) == is_vouched for line in lines[1:-1])
    assert b'"mac"' in lines[0]
    with user(tmp_path / "other"):
        assert trusted_in(path) == {ids[2]: False}


def test_many_journals_of_several_users_are_made_one_for_each_that_may_be(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        write(path, 0, b"theirs", name="strange")
    for n in range(MANY_JOURNALS):
        store = Store.open(path)
        store.append([{"kind": "event", "event": "e", "at": 2000.0 + n}]).result()
        store.close()

    pruned(path, 9)

    assert len(list((path / "journal").iterdir())) == 2
    store = Store.open(path)
    assert [is_trusted(r) for r in store.records("event")].count(False) == 0
    assert trusted_in(path) == {ids[0]: False}
    store.close()


def test_a_variable_keeps_its_mark_in_a_record_of_ones_own(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    made = checkpoint_from(checkpoint(store, 1, b"some")[0])
    strange = {n: v._replace(trusted=False) for n, v in made.changed.items()}

    again = checkpoint_from(checkpoint_record(replace(made, changed=strange)))

    assert again.trusted
    assert [v.trusted for v in again.changed.values()] == [False]
    assert dict(again.changed) == strange
    store.close()
