"""Of a long journal, what recordings say is read again when somebody asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbckpt.errors import FormatError
from nbckpt.model import Record
from nbckpt.storage import journal_follower as journals
from nbckpt.storage.check import check
from nbckpt.storage.journal_lines import Unread
from nbckpt.storage.line_signatures import Opened
from nbckpt.storage.signers import Signers
from nbckpt.storage.store import Store
from nbckpt.timeline.recordings import RECORDING, recording_from, recording_record
from tests.llm.test_records import ONE

MANY = 40


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose journal counts as long."""
    monkeypatch.setattr(journals, "SHELVED_BYTES", 0)
    store = Store.open(tmp_path / "store")
    for n in range(MANY):
        blob = store.put_blob([b"asked %d" % n, memoryview(b"answered %d" % n)])
        one = ONE._replace(id=f"{n:020x}", occurrence=n, blob=blob, summary="é\n" * (n * 200))
        store.append([recording_record(one)])
    store.close()
    return tmp_path / "store"


def recordings_of(store: Store) -> list[Record]:
    store.refresh()
    return list(store.records(RECORDING))


def test_each_comes_back_from_the_disk_whole_and_none_is_kept(filled: Path) -> None:
    store = Store.open(filled)

    found = recordings_of(store)
    whole = [recording_from(record) for record in reversed(found)]

    assert [one.occurrence for one in whole] == list(range(MANY))[::-1]
    assert all(one.summary == "é\n" * (one.occurrence * 200) for one in whole)
    assert not any(isinstance(record, Unread) and record.is_read for record in found)
    store.close()


def test_they_can_be_read_when_a_prune_has_taken_the_journals_name(filled: Path) -> None:
    store = Store.open(filled)
    found = recordings_of(store)
    for path in (filled / "journal").iterdir():
        path.unlink()

    assert [record["url"] for record in found] == [ONE.url] * MANY
    store.close()


def test_a_line_that_was_damaged_since_is_told(filled: Path) -> None:
    store = Store.open(filled)
    found = recordings_of(store)
    [path] = (filled / "journal").iterdir()
    path.write_bytes(path.read_bytes().replace(b'"tokens_in":7', b'"tokens_in":8'))

    with pytest.raises(FormatError, match=f"journal {path.name} is damaged at offset"):
        found[3]["tokens_in"]
    store.close()


def test_a_line_that_is_damaged_when_it_is_first_read_is_told_and_left_out(filled: Path) -> None:
    [path] = (filled / "journal").iterdir()
    path.write_bytes(path.read_bytes().replace(b'"occurrence":7,', b'"occurrence":6,'))

    store = Store.open(filled)

    assert len(recordings_of(store)) == MANY - 1
    assert [path.name in damage for damage in store.damages] == [True]
    store.close()


def test_a_journal_that_could_not_be_read_to_its_end_is_read_again(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = (filled / "journal").iterdir()
    signer, lines = Signers().of(path.stem), 0
    open_line, follower = signer.open, journals.Follower(path, signer)

    def failing(line: bytes) -> Opened | None:
        nonlocal lines
        lines += 1
        if lines == 30:
            raise MemoryError
        return open_line(line)

    monkeypatch.setattr(journals, "PIECE", 1000)
    monkeypatch.setattr(signer, "open", failing)
    with pytest.raises(MemoryError):
        follower.read()

    assert sum(entry.record["kind"] == RECORDING for entry in follower.read()) == MANY
    assert follower.damages == []


def test_a_blob_is_found_by_its_record_before_all_places_are_known(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(filled)
    found = recordings_of(store)
    monkeypatch.setattr(store._index, "_read_frames", lambda: pytest.fail("read all"))

    parts = [store.get_blob(record["blob"], of=record) for record in found]

    assert [bytes(part[1]) for part in parts] == [b"answered %d" % n for n in range(MANY)]
    monkeypatch.undo()
    assert check(store.path).ok
    store.close()
