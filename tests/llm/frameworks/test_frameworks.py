"""Frameworks run again in a new kernel, with a provider that refuses: nothing is sent.

One is tried by its name: ``pytest -m versions tests/llm/frameworks -k dspy``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.llm.beside import beside
from tests.llm.frameworks.replays import replays
from tests.llm.frameworks.requirements import REQUIREMENTS
from tests.running import SOURCE


@pytest.fixture(scope="module")
def environments(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments stay between runs."""
    cache = getattr(request.config, "cache", None)
    name = "frameworks"
    return tmp_path_factory.mktemp(name) if cache is None else Path(cache.mkdir(name))


@pytest.mark.versions
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("framework", REQUIREMENTS)
def test_what_ran_sends_nothing_when_it_runs_again(
    framework: str, environments: Path, tmp_path: Path
) -> None:
    python = beside(environments, *REQUIREMENTS[framework]).python

    ran = replays(python, framework, tmp_path)

    for one in ran:
        print(f"{one.way}: {one.recorded} recorded, {one.sent} sent again {one.limit}")
    assert ran
    assert {one.way: one.problem for one in ran if one.problem} == {}


def test_each_framework_has_its_ways_and_its_row_in_the_table() -> None:
    table = Path(SOURCE, "docs", "frameworks.md").read_text()
    folder = Path(__file__).parent

    assert {path.name.removesuffix("_ways.py") for path in folder.glob("*_ways.py")} == {
        *REQUIREMENTS
    }
    pins = {re.sub(r"(\[.*\])?==", " ", pin) for own in REQUIREMENTS.values() for pin in own}
    assert [pin for pin in sorted(pins) if pin not in table] == []
