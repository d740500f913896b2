"""What somebody else's records may say, and what is damage."""

from __future__ import annotations

import json

import pytest

from nbckpt.model import Cell, Checkpoint, Key, Refusal, Variable
from nbckpt.storage.journal_lines import read_text
from nbckpt.storage.record_shapes import wrong_member
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.recordings import recording_record
from tests.llm.test_records import ONE

VARIABLE = Variable("x", "a" * 64, "b" * 64, "list", 3, "3", "[1, 2, 3]", ("x", "y"), ("f",))
FULL = Checkpoint(
    "id1", "id0", "one", "main", "s", "nb", 1.5, 0.25, Cell("x = 1", 1, "c"),
    key=Key("c" * 64, {"x": "d" * 64}, shares=("a, b",)), changed={"x": VARIABLE},
    carried={"x": VARIABLE}, removed=("z",), refused=(Refusal("c", "c.lock", "lock", "no"),),
    passive={"x": ("e" * 64, "f" * 64, "")}, progress=(1, 2, -1), inherited={"id0": ("q",)},
    joined=(Cell("y = 2"),), error="E: e", outputs="a" * 64, tags=("t",),
)  # fmt: skip


def as_read(record: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(json.dumps(record))
    return found


def test_what_nbckpt_writes_is_as_expected() -> None:
    for record in (checkpoint_record(FULL), recording_record(ONE)):
        assert wrong_member(as_read(record)) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 1),
        ("created_at", "now"),
        ("created_at", float("nan")),
        ("created_at", 1e300),
        ("created_at", True),
        ("cell", "x = 1"),
        ("cell", {}),
        ("changed", {"x": 1}),
        ("changed", [{"name": "x"}]),
        ("key", {"code": 1}),
        ("refused", [{}]),
        ("inherited", {"id0": "q"}),
        ("passive", {"x": ["a"]}),
        ("progress", [1]),
        ("tags", "t"),
    ],
)
def test_a_checkpoint_with_another_kind_of_member_is_none(name: str, value: object) -> None:
    record = {**as_read(checkpoint_record(FULL)), name: value}

    assert wrong_member(record) == name
    text = json.dumps(record, separators=(",", ":"))[:-1].encode()
    assert read_text(text, trusted=False) is None


@pytest.mark.parametrize(
    "record",
    [
        {"kind": ["checkpoint"]},
        {"kind": "head", "branch": "main", "checkpoint": None, "at": 1.0},
        {"kind": "tag", "tag": "t", "at": 1.0},
        {"kind": "price", "costs": {"a": "b"}, "price": "p", "at": 1.0},
        {"kind": "event", "event": "x", "at": 1.0, "took_s": "long"},
        {"kind": "event", "event": "x", "at": 1.0, "size_bytes": "much"},
        {"kind": "table", "value": "a", "at": 1.0},
        {"kind": "recording", "id": "x"},
    ],
)
def test_a_record_that_nobody_could_read_is_damage(record: dict[str, object]) -> None:
    text = json.dumps(record, separators=(",", ":"))[:-1].encode()

    assert read_text(text, trusted=False) is None


def test_kinds_and_members_to_come_are_let_be() -> None:
    assert wrong_member({"kind": "later", "id": 7}) is None
    assert wrong_member({"kind": "drop", "branch": "b", "at": 1.0, "later": [1]}) is None
