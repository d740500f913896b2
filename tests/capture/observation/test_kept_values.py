"""Cells that ask nbckpt for what it kept: they come back only where they would get the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import CheckpointNotFoundError
from tests.notebooks import restart


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


def test_a_look_that_a_variable_holds_is_an_input(two: Any) -> None:
    source = "%%checkpoint best\nbest = look.values['k'] * 10"
    run(two, "look = nbckpt.get('one')")
    run(two, source)
    run(two, "%%checkpoint one\nk = 5")
    run(two, "look = nbckpt.get('one')")

    run(two, source)

    assert two.user_ns["best"] == 50


@pytest.mark.parametrize("held", ["nbckpt.get('one')", "{'a': nbckpt.get('one')}['a']"])
def test_a_look_comes_back_as_it_was(two: Any, held: str) -> None:
    run(two, "%nbckpt tag one gold")
    run(two, f"%%checkpoint held\nlook = {held}; values = look.values")
    run(two, "%nbckpt tag one --delete gold")
    restart(two)
    run(two, "%resume")

    look = two.user_ns["look"]
    assert (look.name, look.tags, look.values["k"]) == ("one", ("gold",), 1)
    assert two.user_ns["values"]["k"] == 1


@pytest.mark.parametrize(
    ("asks", "changes"),
    [
        ("tags", "%nbckpt tag one gold"),
        ("note", "%nbckpt note one good"),
        ("heads", "%fork one other"),
        ("metadata", "%nbckpt tag one gold"),
    ],
)
def test_a_cell_runs_where_what_it_asks_has_another_answer(
    two: Any, asks: str, changes: str
) -> None:
    source = f"%%checkpoint told\ntold = nbckpt.get('one').{asks}"
    run(two, source)
    before = two.user_ns["told"]
    run(two, changes)

    run(two, source)

    assert two.user_ns["told"] != before


def test_a_cell_comes_back_where_another_checkpoint_has_equal_values(two: Any) -> None:
    assert best(two, "'one'") == (10, False)
    run(two, "%%checkpoint one --rerun\nk = 1")
    run(two, "%%checkpoint two\nk = 2")

    assert best(two, "'one'") == (10, True)


def test_a_cell_that_asks_its_own_branch_comes_back(two: Any) -> None:
    assert best(two, "'main'") == (20, False)

    assert best(two, "'main'") == (20, True)


def test_a_call_of_a_step_asks_too(two: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(two, "@nbckpt.step\ndef kept(n):\n    return nbckpt.get('one').values['k'] * n")
    run(two, "y = kept(10)")
    run(two, "%%checkpoint one\nk = 5")

    run(two, "y = kept(10)")

    assert two.user_ns["y"] == 50
    assert "'kept' runs again: it asks nbckpt for 'k' of 'one'" in capsys.readouterr().err
    run(two, "y = kept(10)")
    assert two.user_ns["y"] == 50
    assert capsys.readouterr().err == ""


def test_a_replayed_call_asks_for_the_cell_around_it(two: Any) -> None:
    run(two, "@nbckpt.step\ndef kept(n):\n    return nbckpt.get('one').values['k'] * n")
    run(two, "y = kept(10)")
    run(two, "%%checkpoint around\nz = kept(10)")
    run(two, "%%checkpoint one\nk = 5")

    run(two, "%%checkpoint around\nz = kept(10)")

    assert two.user_ns["z"] == 50


def test_items_of_a_map_ask_too(two: Any) -> None:
    source = "%%checkpoint all\nz = nbckpt.map(lambda n: nbckpt.get('one').values['k'] * n, [1, 2])"
    run(two, source)
    run(two, "%%checkpoint one\nk = 5")

    run(two, source)

    assert two.user_ns["z"] == [5, 10]


def test_a_loop_that_asked_begins_anew(
    two: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "%%checkpoint loop\nw = []\nfor i in nbckpt.track(range(3)):\n"
        "    if i == 2 and not os.path.exists('go'): raise KeyError\n"
        "    w.append(nbckpt.get('one').values['k'])"
    )
    monkeypatch.chdir(tmp_path)
    run(two, "import os")
    with pytest.raises(KeyError):
        run(two, source)
    run(two, "%%checkpoint one\nk = 5")
    Path("go").touch()

    run(two, source)

    assert two.user_ns["w"] == [5, 5, 5]


@pytest.mark.parametrize(
    ("before", "asks"),
    [
        ("", "nbckpt.get('one').values['k']"),
        ("import nbckpt as nb", "nb.get('one').values['k']"),
        ("from nbckpt import get as kept", "kept('one').values['k']"),
        ("def f(): return nbckpt.get('one').values['k']", "f()"),
        ("class C:\n    def f(self): return nbckpt.get('one').values['k']", "C().f()"),
    ],
)
def test_a_rerun_runs_an_unmarked_cell_that_asks(two: Any, before: str, asks: str) -> None:
    run(two, before)
    run(two, "%%checkpoint one\nk = 2")
    run(two, f"best = {asks} * 10")
    run(two, "%%checkpoint after\nz = best + 1")
    run(two, "%fork one try k=7")

    run(two, "%rerun")

    assert (two.user_ns["best"], two.user_ns["z"]) == (70, 71)


def test_a_look_at_a_checkpoint_that_was_pruned_costs_itself_alone(two: Any) -> None:
    run(two, "%%checkpoint held\nlooks = {'a': nbckpt.get('one'), 'b': [1, 2]}")
    run(two, "%nbckpt prune --keep-last 1")
    restart(two)
    run(two, "%resume")

    looks = two.user_ns["looks"]
    assert looks["b"] == [1, 2]
    assert "which was pruned" in repr(looks["a"])
    with pytest.raises(CheckpointNotFoundError, match="is there no more"):
        _ = looks["a"].values
