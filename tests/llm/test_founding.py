"""Fifty documents, a model, and a kernel that is killed at random instants: paid for once.

The long form (``pytest -m long tests/llm/test_founding.py``) kills 108 times, over nine ways to ask.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.llm.founding import WAYS, Founding, ProviderProcess, Way


def killed_at_least(times: int, folder: Path, way: Way, seed: int) -> None:
    chance, kills, runs = random.Random(seed), 0, 0
    while kills < times:
        runs += 1
        run = folder / f"run-{runs}"
        run.mkdir()
        with ProviderProcess("--first", "0.02", "--between", "0.001") as provider:
            founding = Founding(run, provider, way)
            founding.killed(chance, times - kills)
            founding.check_end()
        kills += founding.kills


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_no_answer_is_paid_for_twice_but_those_in_flight_at_a_kill(
    tmp_path: Path, name: str
) -> None:
    killed_at_least(3, tmp_path, WAYS[name], seed=4)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WAYS)
def test_a_hundred_kills_cost_a_hundred_answers_at_most(tmp_path: Path, name: str) -> None:
    killed_at_least(12, tmp_path, WAYS[name], seed=5)
