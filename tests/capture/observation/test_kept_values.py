"""Cells that ask nbckpt for what it kept: they come back only where they would get the same."""

from __future__ import annotations

from typing import Any

import pytest


def run(shell: Any, source: str) -> None:
    shell.run_cell(source).raise_error()


@pytest.fixture
def two(shell: Any) -> Any:
    run(shell, "import nbckpt")
    run(shell, "%%checkpoint one\nk = 1")
    run(shell, "%%checkpoint two\nk = 2")
    return shell


def best(shell: Any, ref: str) -> tuple[int, bool]:
    """What the cell makes, and whether it was brought back."""
    source = f"%%checkpoint best\nbest = nbckpt.get({ref}).values['k'] * 10"
    before = len(shell.user_ns["nbckpt"].history())
    run(shell, source)
    return shell.user_ns["best"], len(shell.user_ns["nbckpt"].history()) == before


@pytest.mark.parametrize("ref", ["'one'", "nbckpt.get('one')", "ref"])
def test_a_cell_comes_back_where_the_name_means_the_same(two: Any, ref: str) -> None:
    two.user_ns["ref"] = "one"
    assert best(two, ref) == (10, False)

    assert best(two, ref) == (10, True)


@pytest.mark.parametrize("ref", ["'one'", "nbckpt.get('one')", "ref"])
def test_a_cell_runs_where_the_name_means_another_one(two: Any, ref: str) -> None:
    two.user_ns["ref"] = "one"
    assert best(two, ref) == (10, False)
    run(two, "%%checkpoint one\nk = 5")
    run(two, "%%checkpoint two\nk = 2")

    assert best(two, ref) == (50, False)
    assert best(two, ref) == (50, True)


def test_a_cell_runs_where_it_means_a_step_relative_to_it(two: Any) -> None:
    assert best(two, "'~1'") == (10, False)
    run(two, "%%checkpoint three\nk = 3")

    assert best(two, "'~1'")[0] == 20


def test_a_function_asks_too(two: Any) -> None:
    run(two, "def kept(name):\n    return nbckpt.get(name).values['k']")
    source = "%%checkpoint best\nbest = kept('one') * 10"
    run(two, source)
    run(two, "%%checkpoint one\nk = 5")
    run(two, "%%checkpoint two\nk = 2")

    run(two, source)

    assert two.user_ns["best"] == 50


def test_a_cell_runs_where_a_name_means_something_that_meant_nothing(two: Any) -> None:
    source = (
        "%%checkpoint best\n"
        "try:\n    best = nbckpt.get('three').values['k']\n"
        "except LookupError:\n    best = 0"
    )
    run(two, source)
    assert two.user_ns["best"] == 0
    run(two, "%%checkpoint three\nk = 3")

    run(two, source)

    assert two.user_ns["best"] == 3


def test_a_loop_that_asks_what_it_made_itself_comes_back(two: Any) -> None:
    source = "for i in range(2):\n    with nbckpt.checkpoint(f'part{i}'):\n        part = i\n"
    source = f"%%checkpoint best\n{source}best = nbckpt.get('part1').values['part']"
    run(two, source)
    assert two.user_ns["best"] == 1
    run(two, source)

    assert two.user_ns["best"] == 1
