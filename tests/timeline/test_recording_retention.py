"""Which calls a prune takes, told from records alone."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.model import Record
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recording_retention import forgotten, scope_name

ALL = Retention(calls_days=0.0)


def call(step: str, at: float, **more: Any) -> Record:
    return {"kind": "recording", "id": f"{step}{at}", "step": step, "created_at": at, **more}


def kept_call(name: str, step: str | None, at: float, **more: Any) -> Record:
    return {
        "kind": "step",
        "name": name,
        "arguments": "a" * 64,
        "occurrence": 0,
        "step": step,
        "created_at": at,
        "state": "done",
        **more,
    }


def ended(step: str, at: float) -> Record:
    return {"kind": "event", "event": "model_calls", "name": step, "at": at}


def gone(
    records: list[Record], retention: Retention = ALL, kept: tuple[str, ...] = (), **removed: float
) -> list[Record]:
    return forgotten(records, retention, kept=kept, removed=removed, now=1000.0)


def test_nothing_goes_unless_it_is_asked_for() -> None:
    records = [call("a", 1.0), ended("a", 2.0)]

    assert gone(records, Retention(keep_last=1), a=3.0) == []


def test_a_step_that_has_a_checkpoint_keeps_its_calls() -> None:
    records = [call("a", 1.0), call("b", 1.0), ended("a", 2.0), ended("b", 2.0)]

    assert gone(records, kept=("a",)) == [records[1]]


@pytest.mark.parametrize(("at", "goes"), [(1.0, True), (2.0, True), (3.0, False)])
def test_what_came_after_the_last_run_that_ended_is_of_one_that_died(at: float, goes: bool) -> None:
    records = [call("a", at), ended("a", 2.0)]

    assert gone(records) == (records[:1] if goes else [])


def test_an_earlier_prune_tells_which_steps_lost_their_checkpoints() -> None:
    records = [call("a", 1.0), {"kind": "event", "event": "pruned", "steps": ["a"], "at": 2.0}]

    assert gone(records) == records[:1]


def test_a_kept_call_goes_with_its_step_and_the_model_calls_in_it() -> None:
    one, other = kept_call("f", "a", 1.0), kept_call("f", "b", 1.0, arguments="b" * 64)
    within = [call(scope_name(one), 1.0), call(scope_name(other), 1.0)]
    records = [one, other, *within]

    assert gone(records, kept=("b",), a=2.0, b=2.0) == [one, within[0]]


def test_results_of_maps_go_with_their_step() -> None:
    items = [{"kind": "items", "step": step, "created_at": 1.0} for step in "ab"]

    assert gone(items, kept=("b",), a=2.0, b=2.0) == [items[0]]


def test_a_call_that_several_steps_made_stays_while_one_is_there() -> None:
    one, again = kept_call("f", "a", 1.0), kept_call("f", "b", 1.0)
    within = call(scope_name(one), 1.0)

    assert gone([one, again, within], kept=("b",), a=2.0) == [one]


def test_what_must_not_be_repeated_stays() -> None:
    assert gone([kept_call("send", "a", 1.0, once=True)], a=2.0) == []


def test_a_call_outside_of_steps_stays() -> None:
    assert gone([kept_call("f", None, 1.0)], a=2.0) == []


def test_a_tag_takes_calls_of_steps_that_are_there() -> None:
    records = [call("a", 1.0, tags=["nightly", "x"]), call("a", 2.0, tags=["y"]), call("a", 3.0)]

    assert gone(records, Retention(forget=("nightly",)), kept=("a",)) == records[:1]
