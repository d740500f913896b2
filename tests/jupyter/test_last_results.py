"""`_`, `__` and `___` go on as in plain when what they stood for was changed by a restored cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation.kernels import run

NOTEBOOKS = {
    "last": (["r = [3]\nr", "r.append(4)", "10", "x = _ + 1"], "x"),
    "all three": (["r = [3]\nr", "1", "r.append(4)", "10", "x = (_, __, ___)"], "x"),
    "the same object": (["r = [3]\nr", "r.append(4)", "r.append(5)", "x = _ is r, _"], "x"),
    "another name of it": (["r = [3]\nr", "z = _", "r.append(4)", "pass", "x = z is r, z"], "x"),
    "a part of it": (["r = [[3]]\nr", "z = _[0]", "r[0].append(4)", "pass", "x = z, r"], "x"),
    "in a function": (
        ["r = [3]\nr", "def f():\n    return _1\nz = f()", "r.append(4)", "x = z is r, z"],
        "x",
    ),
    "bound by code": (["r = [3]\nr", "_ = [7]", "r.append(4)", "10", "x = _"], "x"),
}


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS.values(), ids=NOTEBOOKS)
@pytest.mark.parametrize("last", ["", "pass\n"], ids=["unchanged", "edited"])
def test_last_results_are_those_of_the_cells_above(
    notebook: tuple[list[str], str], last: str, tmp_path: Path
) -> None:
    cells, ask = notebook
    plain = run(tmp_path / "plain", cells, ask, mode="plain")
    first = run(tmp_path / "kept", cells, ask, mode="skip")
    again = run(tmp_path / "kept", [*cells[:-1], last + cells[-1]], ask, mode="skip")
    assert (first.errors, again.errors) == ([], [])
    assert plain.value == first.value == again.value


@pytest.mark.slow
def test_results_after_a_resume_are_shown_as_ever(tmp_path: Path) -> None:
    cells, _ = NOTEBOOKS["last"]
    run(tmp_path, cells[:3], "1", mode="skip")
    done = run(tmp_path, ["%resume", "r", "r.append(5)", "20", "x = _, __"], "[*x, r]", mode="skip")
    assert done.errors == []
    assert done.value == [20, [3, 4, 5], [3, 4, 5]]


REMADE = {
    "a variable": ["import os\ng = iter(open(os.devnull))\n'made'", "'seven'", "z = next(g, 1)"],
    "a result": ["r = {'a': [1]}\nr['a']", "top = _\nlen(top)", "z = len(top)"],
}


@pytest.mark.slow
@pytest.mark.parametrize("cells", REMADE.values(), ids=REMADE)
def test_results_go_on_below_a_cell_that_had_something_made_again(
    cells: list[str], tmp_path: Path
) -> None:
    below = ["'nine'", "a = _, __", "'ten'\n'eleven'", "x = a, _, __"]
    plain = run(tmp_path / "plain", [*cells, *below], "x", mode="plain")
    run(tmp_path / "kept", cells, "1", mode="skip")
    edited = [*cells[:-1], f"pass\n{cells[-1]}", *below]
    again = run(tmp_path / "kept", edited, "x", mode="skip")
    assert again.errors == []
    assert again.value == plain.value


def test_a_result_that_is_made_again_is_still_a_part_of_the_variable(tmp_path: Path) -> None:
    cells = [
        "class N:\n    def __init__(self): self.kids = []; self.v = 1\n"
        "n = N(); n.kids.append(N())\nn.kids[0]",
        "_.v = 5\nx = n.kids[0].v, type(n) is N, isinstance(n.kids[0], N)",
    ]
    run(tmp_path, cells[:1], "1", mode="skip")
    again = run(tmp_path, cells, "x", mode="skip", rounds=2)
    assert again.errors == []
    assert again.value == [5, True, True]
