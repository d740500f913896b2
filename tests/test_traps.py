"""Every trap of the benchmark, live and in a fresh process, each in a real shell of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nbckpt.runtime.dirty_pages.tracker import tracker_of_process
from tests.bench.traps import TRAPS
from tests.bench.worker import ANSWER
from tests.running import environment

Outcomes = dict[tuple[str, str], dict[str, Any]]

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each trap runs in a fork"),
    pytest.mark.timeout(1200),  # one fixture plays all of them
]

BATCHES = 2
PHASES = ("live", "cold")

UNSEEN = (
    "to hash it takes too long between two cells, and this kernel does not tell what was written"
)
WRONG = {} if tracker_of_process() else {"thread-in-an-array": UNSEEN}
"""What nbckpt answers wrongly, and why."""

REFUSED = {"duckdb-memory": "db", "hash-object": "h"}
"""What is named and left alone: DuckDB does not say whether a transaction is open, and a hash
object does not say what it was fed."""


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[Outcomes]:
    """The answers of nbckpt to the traps of the tests that were chosen.

    The traps of a batch run one after the other in forks of a process.
    """
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    asked = dict.fromkeys(c.params["trap"] for c in calls if c is not None and "trap" in c.params)
    batches = [[trap for trap in asked if trap in TRAPS][n::BATCHES] for n in range(BATCHES)]
    with ThreadPoolExecutor(BATCHES) as pool:
        found = pool.map(lambda traps: _outcomes("nbckpt", traps), batches)
        yield {key: outcome for batch in found for key, outcome in batch.items()}


def _case(trap: str, phase: str) -> Any:
    marks = [pytest.mark.xfail(reason=WRONG[trap], strict=True)] if trap in WRONG else []
    return pytest.param(trap, phase, marks=marks)


@pytest.mark.sampled(3, by="trap")
@pytest.mark.parametrize(
    ("trap", "phase"), [_case(t, p) for t in TRAPS if t not in REFUSED for p in PHASES]
)
def test_going_back_gives_the_right_answer(trap: str, phase: str, outcomes: Outcomes) -> None:
    outcome = outcomes[trap, phase]

    assert outcome["outcome"] == "right", outcome
    assert "cell_error" not in outcome


@pytest.mark.parametrize(("trap", "variable"), REFUSED.items())
def test_what_is_refused_is_not_there_rather_than_wrong(
    trap: str, variable: str, outcomes: Outcomes
) -> None:
    assert outcomes[trap, "cold"]["why"] == f"NameError: name {variable!r} is not defined"


@pytest.mark.slow
def test_every_answer_is_right_before_anything_is_changed() -> None:
    found = _outcomes("bare", list(TRAPS), "--honest")

    assert {trap: o for (trap, _), o in found.items() if o["outcome"] != "right"} == {}


@pytest.mark.slow
def test_no_answer_is_right_when_nothing_is_brought_back() -> None:
    found = _outcomes("bare", list(TRAPS))

    assert [trap for (trap, _), o in found.items() if o["outcome"] == "right"] == []


def _outcomes(system: str, traps: list[str], *more: str) -> Outcomes:
    command = [sys.executable, "-m", "tests.bench.trapping", "--system", system, *more]
    done = subprocess.run(
        [*command, "--traps", *traps], capture_output=True, text=True, env=environment()
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    assert lines, done.stderr
    found = json.loads(lines[-1].removeprefix(ANSWER))
    return {(outcome["trap"], outcome["phase"]): outcome for outcome in found}
