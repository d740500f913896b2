"""What the tables say of records that are given, and of systems that are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.bench.document import document_of
from tests.bench.figures import Figure, figure_of
from tests.bench.namespaces import broken, difference, digests_of
from tests.bench.rounds import Plan, records_of
from tests.bench.standing import standings
from tests.bench.systems import split_by_presence

MACHINE = {
    "kind": "machine",
    "date": "2026-01-01",
    "cores": 2,
    "architecture": "x86_64",
    "memory_gib": 8,
    "system": "Linux",
    "python": "3.11",
    "versions": {"nbckpt": "0.1"},
}


def _run(system: str, cells_ms: list[float], **members: Any) -> dict[str, Any]:
    visit = {"cell": 1, "ms": 4.0, "ok": True}
    live = {
        "cells_ms": cells_ms,
        "errors": [],
        "bytes": 1_000_000,
        "peak_mb": 100.0,
        "restores": {"last": visit},
    }
    record = {"kind": "run", "system": system, "workload": "llm", "scale": "m", "about": "chat"}
    cold = {"last": {**visit, "start_ms": 9.0}}
    return {**record, "setup": 0, "round": 0, "live": live, "cold": cold, **members}


def test_what_is_added_is_the_median_of_the_rounds_less_the_bare_notebook() -> None:
    runs = [_run("bare", [1.0, 2.0]), *(_run("nbckpt", [x, 12.0]) for x in (3.0, 4.0, 90.0))]

    ours = {s.system: s for s in standings(runs)}["nbckpt"]

    assert list(ours.added_ms) == [3.0, 10.0]
    assert ours.rounds == 3
    assert ours.is_right


def test_cells_that_make_something_large_are_told_apart() -> None:
    runs = [_run("nbckpt", [1.0, 50.0, 2.0], cells_bytes=[10, 80_000_000, 20])]

    (ours,) = standings(runs)

    assert list(ours.small_ms or ()) == [1.0, 2.0]


def test_a_state_that_came_back_wrong_is_counted() -> None:
    run = _run("nbckpt", [1.0])
    run["cold"]["last"] = {"cell": 1, "ms": 4.0, "ok": False, "wrong": ["x"]}

    (ours,) = standings([run])

    assert (ours.right, ours.states, ours.is_right) == (1, 2, False)


def test_a_goal_says_whether_it_was_reached_and_by_how_much() -> None:
    peer = _run("cloudpickle", [1.7])
    limits = [Figure("held", "x", [3.0], 1.5), Figure("loop", "x", [1.0], 1.02)]
    figures = [{"kind": "limit", "measure": "m", "figure": figure.as_record()} for figure in limits]
    missing = {"kind": "absent", "system": "chipmink", "why": "CHIPMINK_SRC is not set"}
    runs = [_run("bare", [1.0]), _run("nbckpt", [1.5]), peer]

    text = document_of([MACHINE, missing, *runs, *figures])

    assert "| held | <= 1.50 x | 3.00 x | **no**, 2.00 times it |  |" in text
    assert "| loop | <= 1.02 x | 1.00 x | yes, 0.98 of it |  |" in text
    added = "llm: added per cell, median | <= 1.0 ms | 0.5 ms | yes, 0.50 of it"
    assert f"| {added} | 0.7 ms (cloudpickle) |" in text
    assert "| llm: slowest restore, warm | <= 2.0 ms | 4.0 ms | **no**, 2.00 times it" in text
    assert "| chipmink | CHIPMINK_SRC is not set |" in text


def test_a_figure_is_the_same_after_its_way_through_json() -> None:
    figure = Figure("a", "s", [1.0, 2.0], 3.0)

    assert figure_of(figure.as_record()) == figure


def test_a_variable_that_differs_only_in_what_it_shares_is_told() -> None:
    row = [1]
    want = digests_of({"a": [row, row], "b": 1, "c": 1})
    got = digests_of({"a": [row, [1]], "b": 1, "d": 1})

    assert difference(want, got) == {"wrong": ["a"], "missing": ["c"], "extra": ["d"]}


def test_what_lies_between_the_fields_of_an_array_is_no_value() -> None:
    records = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "itemsize": 24})
    one, same = np.zeros(3, records), np.full(3 * 24, 7, np.uint8).view(records)
    same["a"], same["b"] = 0, 0
    other = same.copy()
    other["b"][2] = 1

    digests = digests_of({"one": one, "same": same, "other": other})

    assert digests["one"] == digests["same"] != digests["other"]


def test_an_invariant_that_cannot_be_asked_is_broken() -> None:
    assert broken(["a == 1", "a is gone"], {"a": 1}) == ["a is gone (NameError)"]


def test_a_system_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHIPMINK_SRC", raising=False)

    there, lacking = split_by_presence(["bare", "nbckpt", "chipmink"])

    assert there == ["bare", "nbckpt"]
    assert lacking == {"chipmink": "CHIPMINK_SRC is not set"}


@pytest.mark.slow
def test_one_round_runs_each_system_and_finds_its_states_right() -> None:
    plan = Plan(["bare", "nbckpt", "rerun"], ["shared-refs"], scale="s", rounds=1)

    found = {s.system: s for s in standings(list(records_of(plan)))}

    assert found["nbckpt"].is_right, found["nbckpt"]
    assert found["nbckpt"].states == 6
    assert len(found["nbckpt"].small_ms or ()) == 21
    assert found["rerun"].is_right, found["rerun"]
