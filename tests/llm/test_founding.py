"""Fifty documents, a model, and a kernel that is killed at random instants: paid for once.

The long form (``pytest -m long tests/llm/test_founding.py``) kills 100 times.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.llm.founding import AT_ONCE, ONE_BY_ONE, STREAMED, Founding, ProviderProcess

AT_ONCE_20 = AT_ONCE.format(in_flight=20)
CASES = pytest.mark.parametrize(
    ("cell", "in_flight"),
    [
        pytest.param(ONE_BY_ONE, 1, id="one-by-one"),
        pytest.param(STREAMED, 1, id="streamed"),
        pytest.param(AT_ONCE_20, 20, id="twenty-at-once"),
    ],
)


def killed_at_least(times: int, folder: Path, cell: str, in_flight: int, seed: int) -> None:
    chance, kills, runs = random.Random(seed), 0, 0
    while kills < times:
        runs += 1
        run = folder / f"run-{runs}"
        run.mkdir()
        with ProviderProcess("--first", "0.02", "--between", "0.001") as provider:
            founding = Founding(run, provider, cell, in_flight=in_flight)
            founding.killed(chance, times - kills)
            founding.check_end()
        kills += founding.kills


@pytest.mark.slow
@CASES
def test_no_answer_is_paid_for_twice_but_those_in_flight_at_a_kill(
    tmp_path: Path, cell: str, in_flight: int
) -> None:
    killed_at_least(3, tmp_path, cell, in_flight, seed=4)


@pytest.mark.long
@pytest.mark.timeout(3600)
@CASES
def test_a_hundred_kills_cost_a_hundred_answers_at_most(
    tmp_path: Path, cell: str, in_flight: int
) -> None:
    killed_at_least(100, tmp_path, cell, in_flight, seed=5)
