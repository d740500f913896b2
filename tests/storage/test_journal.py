"""A line counts when it is whole: torn tails are passed over, damage is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbckpt.storage.journal import Journal, is_live, when
from nbckpt.storage.journal_follower import Follower
from nbckpt.storage.journal_lines import encode, read_text, serial_of
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.record_shapes import wrong_member

scalars = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
json_values = st.recursive(
    scalars.filter(lambda x: x not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(st.text().filter(lambda k: k not in ("n", "sum")), json_values).map(
    lambda members: {**members, "kind": "event"}
)


def written(path: Path, count: int) -> Journal:
    journal = Journal(path, Signer())
    journal.add([encode({"kind": "event", "at": float(i), "text": "é" * i}) for i in range(count)])
    journal.write()
    return journal


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, bytes(32)])
@given(records, st.integers(0, 10**9))
def test_a_line_reads_back_as_its_record(
    key: bytes | None, record: dict[str, object], serial: int
) -> None:
    assume(wrong_member(record) is None)
    signer = Signer(key)
    line = signer.line(encode(record), serial)

    assert line.count(b"\n") == 1
    opened = signer.open(line[:-1])
    assert opened is not None
    text, trusted, _ = opened
    assert trusted
    assert read_text(text) == record
    assert serial_of(text) == serial


@pytest.mark.slow
@given(records, st.data())
def test_a_flipped_bit_is_seen(record: dict[str, object], data: st.DataObject) -> None:
    line = bytearray(Signer().line(encode(record), 0)[:-1])
    line[data.draw(st.integers(0, len(line) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    assert Signer().open(bytes(line)) is None


def test_a_journal_cut_at_any_byte_gives_every_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, 5).close()
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]

    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        follower = Follower(path)
        entries = follower.read()

        assert [entry.serial for entry in entries] == list(range(sum(e <= length for e in ends)))
        assert follower.damages == []


def test_a_reader_goes_on_where_the_line_was_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, 3).close()
    whole = path.read_bytes()
    growing = tmp_path / "b.jsonl"
    growing.write_bytes(b"")
    follower = Follower(growing)

    seen = []
    for byte in whole:
        with growing.open("ab") as file:
            file.write(bytes([byte]))
        seen += [entry.serial for entry in follower.read()]

    assert seen == [0, 1, 2]


def test_any_flipped_byte_loses_its_own_line_only_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, 4).close()
    whole = path.read_bytes()
    last_line = whole.rfind(b"\n", 0, -1) + 1

    for i in range(last_line):
        damaged = bytearray(whole)
        damaged[i] ^= 0x55
        path.write_bytes(damaged)
        follower = Follower(path)
        serials = [entry.serial for entry in follower.read()]

        hit = whole[:i].count(b"\n")
        assert set(range(4)) - set(serials) <= {hit, hit + 1}
        assert follower.damages
        assert all("a.jsonl, line" in damage for damage in follower.damages)


def test_a_line_that_is_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, 4).close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[2], lines[3]]))
    follower = Follower(path)

    entries = follower.read()

    assert [entry.serial for entry in entries] == [0, 2, 3]
    assert follower.damages == ["journal a.jsonl, line 2: 1 lines before it are gone"]


def test_what_was_refused_goes_out_before_what_comes_next(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "no folder" / "x" / "a.jsonl", Signer())
    (tmp_path / "no folder").write_text("a file stands where the folder should be")
    journal.add([encode({"kind": "event", "name": "refused"})])
    with pytest.raises(OSError, match="directory"):
        journal.write()

    (tmp_path / "no folder").unlink()
    journal.add([encode({"kind": "event", "name": "next"})])
    journal.write()

    entries = Follower(journal.path).read()
    assert [entry.record["name"] for entry in entries] == ["refused", "next"]
    assert journal.waiting_bytes == 0
    journal.close()


def test_a_journal_is_live_while_its_writer_is(tmp_path: Path) -> None:
    journal = written(tmp_path / "a.jsonl", 1)

    while_open = is_live(journal.path)
    journal.close()

    assert while_open
    assert not is_live(journal.path)
    assert not is_live(tmp_path / "none.jsonl")


def test_records_that_are_not_synced_are_after_a_while(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl", Signer())

    journal.add([encode({"kind": "event", "text": "x" * 1000})])
    journal.write(durable=False)
    waiting = journal.waiting_bytes
    journal.add([encode({"kind": "event", "text": "x" * (2 << 20)})])
    journal.write(durable=False)

    assert waiting > 1000
    assert journal.waiting_bytes == 0
    assert journal.readable_bytes == journal.path.stat().st_size
    journal.close()


@pytest.mark.parametrize(
    ("record", "at"),
    [({"at": 3}, 3.0), ({"created_at": 2.5}, 2.5), ({}, 0.0), ({"at": "today"}, 0.0)],
)
def test_the_time_of_a_record_is_its_at_or_created_at(record: dict[str, object], at: float) -> None:
    assert when(record) == at
