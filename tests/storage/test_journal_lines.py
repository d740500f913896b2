"""Of a checkpoint's line, only what is asked for is decoded; what is read is what was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.model import Cell, Checkpoint, Key, Refusal, State, Variable
from nbckpt.storage.journal_lines import Unread, encode, read_text
from nbckpt.storage.line_signatures import Signer
from nbckpt.timeline.checkpoint_records import checkpoint_from, checkpoint_record

texts = st.text(max_size=20) | st.just('","cell":{"source":"x"},"state":"failed') | st.just("\\")
states = st.sampled_from(["done", "failed", "partial"])


SIGNER = Signer()


def written(record: object) -> bytes:
    """The text of the record's line."""
    line = SIGNER.line(json.dumps(record, separators=(",", ":"))[:-1], 7)
    opened = SIGNER.open(line[:-1])
    assert opened is not None
    return opened[0]


def made(
    name: str = "a", note: str = "", source: str = "x = 1", state: State = "done"
) -> Checkpoint:
    variable = Variable("x", "b" * 64, "v" * 64, "int", 0, None, "1", ("x", "y"), ("f",), True)
    alone = Variable("z", "c" * 64, "c" * 64, "int", 3, group=("z",))
    return Checkpoint(
        "id", None, name, "main", "s", "", 1.5, 0.0, Cell(source, 0), state,
        Key("c" * 64, {"x": "d" * 64}, shares=("x, y",)), {"x": variable, "z": alone},
        removed=("old",), refused=(Refusal("con", "con", "Connection", "cannot be pickled"),),
        progress=(0, 0, -1), note=note, inherited={"first": ("a", "b")},
    )  # fmt: skip


@given(texts, texts, texts, states)
def test_a_checkpoint_reads_back_as_it_was(name: str, note: str, source: str, state: State) -> None:
    checkpoint = made(name, note, source, state)

    line = SIGNER.line(encode(checkpoint_record(checkpoint)), 3)
    opened = SIGNER.open(line[:-1])
    assert opened is not None
    text = opened[0]
    record = read_text(text)

    assert isinstance(record, Unread)
    assert record["name"] == name if name else "name" not in record
    assert checkpoint_from(record) == checkpoint


def test_what_places_a_checkpoint_is_there_without_the_rest() -> None:
    record = read_text(written(checkpoint_record(made())))

    assert isinstance(record, Unread)
    assert [record["id"], record["name"], record["state"]] == ["id", "a", "done"]
    assert record.get("parent") is None  # not in the line: the first checkpoint has none
    assert record.get("notebook", "") == ""
    before = record.is_read
    assert [variable["name"] for variable in record["changed"]] == ["x", "z"]
    assert (before, record.is_read) == (False, True)
    assert "n" not in record
    assert record["kind"] == "checkpoint"


def test_a_member_that_no_line_names_is_not_looked_for_in_all_of_it() -> None:
    record = read_text(written(checkpoint_record(made(source='d = {"carried":1}'))))

    assert isinstance(record, Unread)
    assert record.get("carried") is None
    assert not record.is_read
    assert record.get("blob", "nowhere") == "nowhere"  # but its variables have one
    assert record.is_read


@pytest.mark.parametrize("state", ["done", "failed", "partial"])
def test_a_line_of_an_older_nbckpt_has_its_state_behind_the_cell(state: State) -> None:
    members = dict(checkpoint_record(made(state=state)))
    del members["state"], members["name"]
    record = read_text(written({**members, "state": state, "name": "late"}))

    assert record is not None
    assert checkpoint_from(record).state == state
    assert checkpoint_from(record).name == "late"


def test_an_event_is_read_when_somebody_asks_what_it_was() -> None:
    event = {"kind": "event", "event": "ran", "at": 12.5, "name": "a"}
    record = read_text(written(event))

    assert isinstance(record, Unread)
    assert (record["kind"], record["event"], record["at"]) == ("event", "ran", 12.5)
    assert not record.is_read
    assert record == event


@pytest.mark.parametrize(
    "text", ['{"kind":"later","n":3', "[1", '{"id":"no kind","n":0', '{"kind":1}']
)
def test_what_is_no_record_is_none(text: str) -> None:
    assert (read_text(text.encode()) is None) == (not text.startswith('{"kind":"later"'))


def test_a_checkpoint_of_a_small_cell_takes_a_short_line() -> None:
    blobs = ["a" * 64, "b" * 64]
    changed = {
        n: Variable(n, b, b, "int", 28, preview="1", group=(n,))
        for n, b in zip("xy", blobs, strict=True)
    }
    checkpoint = Checkpoint(
        "i" * 20, "p" * 20, "cell-12345678", "main", "s" * 12, "", 1795220285.99, 0.000302,
        Cell("x += 1", 3), key=Key("c" * 64, {"x": "d" * 64}), changed=changed, bound=("x", "y"),
    )  # fmt: skip

    assert len(SIGNER.line(encode(checkpoint_record(checkpoint)), 1000)) < 800
