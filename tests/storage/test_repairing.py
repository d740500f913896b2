"""A repair rebuilds what can be rebuilt, says what is lost, and takes nothing that was readable."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from nbckpt.errors import BlobNotFoundError, FormatError
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.index_frames import FRAME_MAGIC
from nbckpt.storage.mark_repair import ASIDE, mend_mark
from nbckpt.storage.repairing import repair
from nbckpt.storage.rewriting import folded
from nbckpt.storage.store import Store

VALUE = random.Random(1).randbytes(100_000)


def made(path: Path) -> Store:
    """The store of a session that has ended: `one`, then `two`, then `three`."""
    session = Session(Store.open(path), {"a": 1, "big": VALUE}, notebook="nb")
    session.checkpoint("one", sync=True)
    session.namespace["b"] = [2]
    session.checkpoint("two", sync=True)
    session.namespace["c"] = {3}
    session.checkpoint("three", sync=True)
    session.store.wait()
    session.store.close()
    return Store.open(path)


def only(folder: Path) -> Path:
    (path,) = (path for path in folder.iterdir() if not path.name.startswith("."))
    return path


def values(store: Store) -> dict[str, dict[str, bytes | None]]:
    """Name of each checkpoint → its variables and their first bytes, None where these are lost."""
    timeline = folded(store.refresh())
    found: dict[str, dict[str, bytes | None]] = {}
    for checkpoint in timeline.checkpoints.values():
        own = found[checkpoint.name] = {}
        for name, variable in timeline.manifest(checkpoint.id).items():
            try:
                own[name] = bytes(store.get_blob(variable.blob)[0])
            except (FormatError, BlobNotFoundError):
                own[name] = None
    return found


def repaired(store: Store) -> tuple[dict[str, dict[str, bytes | None]], Store]:
    """What a new reader finds after a repair, which leaves nothing for a second one."""
    repair(store)
    store.close()
    again = Store.open(store.path)
    assert repair(again).mended == ()
    assert again.damages == []
    assert not [p for p in check(again.path).problems if p.kind == "damaged"]
    return values(again), again


def test_a_sound_store_is_left_as_it_is(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    before = {p: p.read_bytes() for p in store.path.rglob("*") if p.is_file()}

    done = repair(store)

    assert (done.mended, done.lost, done.left, done.aside) == ((), (), (), None)
    assert {p: p.read_bytes() for p in store.path.rglob("*") if p.is_file()} == before
    store.close()


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def in_header(pack: bytes) -> int:
    return 3


def in_frame(pack: bytes) -> int:
    return pack.rindex(FRAME_MAGIC) + 20


def in_entry(pack: bytes) -> int:
    return pack.rindex(FRAME_MAGIC) + 64 + 5


@pytest.mark.parametrize("at", [in_header, in_frame, in_entry])
def test_a_pack_whose_description_is_damaged_is_written_anew_with_all_in_it(
    tmp_path: Path, at: Callable[[bytes], int]
) -> None:
    store = made(tmp_path / "s")
    before = values(store)
    pack = only(store.path / "packs")
    data = pack.read_bytes()
    flip(pack, at(data))
    store.close()

    after, store = repaired(Store.open(store.path))

    assert after == before
    assert None not in before["three"].values()
    assert check(store.path).ok
    assert not pack.exists()
    assert [p.name for p in (store.path / ASIDE).rglob("*.pack")] == [pack.name]
    store.close()


def test_a_damaged_chunk_is_lost_alone_and_told_by_the_check(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    before = values(store)
    pack = only(store.path / "packs")
    flip(pack, pack.read_bytes().index(VALUE) + 1000)
    store.close()

    after, store = repaired(Store.open(store.path))

    lost = {(c, n) for c, own in before.items() for n in own if after[c][n] != own[n]}
    assert {n for _, n in lost} <= {"big"}
    problems = [p for p in check(store.path).problems if p.kind != "unreachable"]
    assert all(p.kind == "missing" and "'big'" in p.what for p in problems)
    assert problems
    store.close()


def test_what_follows_a_lost_record_stands_without_it(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    before = values(store)
    journal = only(store.path / "journal")
    text = journal.read_bytes()
    flip(journal, text.index(b'"name":"two"') + 9)
    store.close()

    store = Store.open(store.path)
    done = repair(store)
    after = values(store)

    assert set(after) == {"one", "three"}
    assert after["one"] == before["one"]
    assert after["three"] == {n: v for n, v in before["three"].items() if n in after["three"]}
    assert "c" in after["three"]
    assert any("line" in told for told in done.lost)
    assert any("'three'" in told for told in done.lost)
    timeline = folded(store.all_records())
    (three,) = timeline.named("three")
    assert timeline.branches["main"] == three.id
    assert "damaged record" in str(three.refused[-1])
    assert check(store.path).ok
    store.close()


def test_without_a_journal_line_that_names_a_batch_its_bytes_are_relied_on_again(
    tmp_path: Path,
) -> None:
    store = made(tmp_path / "s")
    blob = store.refresh() and next(
        v["blob"] for r in store.records("checkpoint") for v in r.get("changed", ())
    )
    journal = only(store.path / "journal")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(x.replace(b"batch", b"bitch") for x in lines))
    store.close()

    store = Store.open(store.path)
    store.refresh()
    assert not store.blobs.can_rely_on(blob)
    repair(store)
    store.refresh()

    assert store.blobs.can_rely_on(blob)
    assert check(store.path).ok
    store.close()


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_journal_that_lost_its_end_is_told_by_the_next_session(tmp_path: Path, harm: str) -> None:
    made(tmp_path / "s").close()
    journal = only(tmp_path / "s" / "journal")
    other = Session(Store.open(tmp_path / "s"), {"x": 1}, notebook="other")
    other.checkpoint("own", sync=True)
    other.store.close()
    lines = journal.read_bytes().splitlines(keepends=True)
    if harm == "cut":
        journal.write_bytes(b"".join(lines[:-2]))
    else:
        journal.unlink()

    store = Store.open(tmp_path / "s")
    (problem,) = (p for p in check(store.path).problems if p.kind != "unreachable")

    assert problem.kind == "damaged"
    assert problem.where == f"journal {journal.name}"
    assert ("2 records at its end" if harm == "cut" else f"{len(lines)} records") in problem.what
    _, store = repaired(store)
    store.close()


def test_who_writes_keeps_his_damaged_journal(tmp_path: Path) -> None:
    session = Session(Store.open(tmp_path / "s"), {"a": 1})
    session.checkpoint("one", sync=True)
    flip(only(tmp_path / "s" / "journal"), 5)

    store = Store.open(tmp_path / "s")
    done = repair(store)

    assert done.mended == ()
    assert "a session writes it" in done.left[0]
    store.close()
    session.store.close()


@pytest.mark.parametrize("text", [None, "", "{oops", '{"nbckpt": 1, "sum": "0"}', '{"nbckpu": 1}'])
def test_a_lost_mark_is_written_anew(tmp_path: Path, text: str | None) -> None:
    made(tmp_path / "s").close()
    mark = tmp_path / "s" / "format.json"
    whole = mark.read_bytes()
    if text is None:
        mark.unlink()
    else:
        mark.write_text(text)
    with pytest.raises(FormatError, match="check --repair"):
        Store.open(tmp_path / "s")

    assert mend_mark(tmp_path / "s") == "format.json: written anew"

    assert mark.read_bytes() == whole
    assert mend_mark(tmp_path / "s") == ""
    assert text is None or next((tmp_path / "s" / ASIDE).rglob("format.json")).read_text() == text


def test_a_folder_that_is_no_store_gets_no_mark(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    assert mend_mark(tmp_path) == ""
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
