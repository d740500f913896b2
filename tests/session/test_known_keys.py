"""An unchanged notebook in a new kernel is restored without a walk through its values."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from nbckpt.fingerprint.values.walking import Walk
from nbckpt.model import Checkpoint
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from tests.notebooks import restart

pytestmark = pytest.mark.sampled(7)

NOTEBOOK = [
    "data = {'a': [1, 2, 3]}\nalso = data['a']",
    "class Point:\n    def __init__(self, x):\n        self.x = x",
    "def total(d):\n    return sum(d['a'])",
    "points = [Point(i) for i in data['a']]",
    "t = total(data)\nalso.append(t)",
    "print(t, data, points[0].x)",
]


def run_all(shell: Any, cells: list[str]) -> list[bool]:
    """Run cells under ``%nbckpt auto skip``; of each, whether it was restored."""
    shell.run_cell("%nbckpt auto skip")
    restored = []
    for number, source in enumerate(cells):
        before = set(current_session.session().state(StepState).latest.values())
        assert shell.run_cell(source, store_history=True, cell_id=f"c{number}").success
        step = next(
            s for s in current_session.session().state(StepState).latest.values() if s not in before
        )
        restored.append(not step.todo)
    current_session.session().wait()
    return restored


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The values that are walked through from now on."""
    seen: list[object] = []
    digest = Walk.digest

    def noted(walk: Walk, value: object) -> str:
        seen.append(value)
        return digest(walk, value)

    monkeypatch.setattr(Walk, "digest", noted)
    return seen


def checkpoints(name: str) -> list[Checkpoint]:
    """Newest first."""
    return current_session.session().timeline.named(name)


@pytest.mark.slow
@pytest.mark.skipif("NBCKPT_VERIFY" in os.environ, reason="walks through everything to compare")
def test_nothing_is_walked_through_while_all_is_restored(
    shell: Any, walks: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, NOTEBOOK)
    restart(shell)
    walks.clear()
    capsys.readouterr()

    restored = run_all(shell, NOTEBOOK)

    assert all(restored)
    assert not any(value is shell.user_ns["data"] or type(value) is tuple for value in walks)
    assert len(walks) <= 2  # a glance between cells
    assert "6 {'a': [1, 2, 3, 6]} 1" in capsys.readouterr().out
    assert shell.user_ns["also"] is shell.user_ns["data"]["a"]


@pytest.mark.slow
@pytest.mark.parametrize("edited", range(5))
def test_what_comes_after_an_edited_cell_is_looked_at(shell: Any, edited: int) -> None:
    changes = [
        ("3]", "4]"),
        ("self.x = x", "self.x = 10 * x"),
        ("sum(", "2 * sum("),
        ("data['a']]", "data['a'][1:]]"),
        ("append(t)", "append(0)"),
    ]
    run_all(shell, NOTEBOOK)
    cells = list(NOTEBOOK)
    cells[edited] = cells[edited].replace(*changes[edited])
    assert cells != NOTEBOOK
    restart(shell)

    restored = run_all(shell, cells)

    plain: dict[str, Any] = {}
    for source in cells:
        exec(source, plain)
    assert restored[:edited] == [True] * edited
    assert not restored[edited]
    assert shell.user_ns["data"] == plain["data"]
    assert shell.user_ns["t"] == plain["t"]
    assert [p.x for p in shell.user_ns["points"]] == [p.x for p in plain["points"]]


@pytest.mark.slow
def test_of_several_beginnings_the_one_that_is_here_counts(shell: Any) -> None:
    texts = {value: [f"a = {value}", "b = [a, a + 1]", "c = sum(b)"] for value in (1, 5, 9)}
    for cells in texts.values():
        run_all(shell, cells)
        restart(shell)
    for value in (5, 1, 9):
        assert run_all(shell, texts[value]) == [True] * 3
        assert shell.user_ns["c"] == 2 * value + 1
        restart(shell)


def test_what_a_variable_behind_the_back_of_all_cells_holds_is_seen(shell: Any) -> None:
    cells = ["a = [1]", "b = len(a)"]
    run_all(shell, cells)
    restart(shell)
    run_all(shell, cells[:1])
    shell.user_ns["a"].append(2)

    assert shell.run_cell(cells[1], store_history=True, cell_id="c1").success

    assert shell.user_ns["b"] == 2


def test_a_new_variable_that_hides_a_builtin_is_seen(shell: Any) -> None:
    cells = ["a = [1, 2]", "b = len(a)"]
    run_all(shell, cells)
    restart(shell)
    run_all(shell, cells[:1])
    shell.user_ns["len"] = str

    assert shell.run_cell(cells[1], store_history=True, cell_id="c1").success

    assert shell.user_ns["b"] == "[1, 2]"


@pytest.mark.slow
def test_a_module_beside_the_notebook_counts_as_it_is(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # Within a second, bytecode of before would be taken for that of a text of the same size.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = tmp_path / "rates_of_known_keys.py"
    cells = ["import rates_of_known_keys as rates", "x = [2]", "y = rates.RATE * x[0]"]
    found = []
    for rate in (3, 4):
        module.write_text(f"RATE = {rate}\n")
        run_all(shell, cells)
        found.append(shell.user_ns["y"])
        restart(shell)
        sys.modules.pop("rates_of_known_keys", None)

    assert found == [6, 8]


def test_a_file_that_is_read_counts_as_it_is(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [
        "name = 'numbers.txt'",
        "with open(name) as file:\n    text = file.read()\ndel file",
        "n = len(text)",
    ]
    found = []
    for text in ("1", "22"):
        (tmp_path / "numbers.txt").write_text(text)
        run_all(shell, cells)
        found.append(shell.user_ns["n"])
        restart(shell)

    assert found == [1, 2]


def test_where_something_cannot_be_told_or_kept_nothing_is_taken_for_known(shell: Any) -> None:
    cells = ["a = [1]", "g = (i for i in range(3)); next(g)", "b = a * 2"]

    run_all(shell, cells)

    began = [checkpoints(f"cell-c{i}")[0].began_as for i in range(3)]
    assert began[0]
    assert began[1]
    assert not began[2]


@pytest.mark.slow
def test_after_a_cell_that_ran_values_are_looked_at(shell: Any, walks: list[object]) -> None:
    cells = ["a = [1]", "import threading\nlock = threading.Lock()", "b = a * 2", "c = b * 2"]
    run_all(shell, cells)
    restart(shell)
    run_all(shell, cells[:1])
    assert current_session.session().workspace.has_only_restored
    walks.clear()

    shell.run_cell("a.append(2)", store_history=True, cell_id="new")
    run_all(shell, cells[2:])

    assert not current_session.session().workspace.has_only_restored
    assert walks
    assert shell.user_ns["c"] == [1, 2] * 4


@pytest.mark.slow
def test_what_could_not_be_kept_is_not_taken_for_what_never_was(shell: Any) -> None:
    reader = "try:\n    n = next(g)\nexcept NameError:\n    n = -1"
    run_all(shell, ["a = [1]", "pass", reader])
    assert shell.user_ns["n"] == -1
    restart(shell)
    cells = ["a = [1]", "g = (i for i in range(3))\nnext(g)", reader]
    for _ in range(2):
        run_all(shell, cells)
        assert shell.user_ns["n"] == 1
        restart(shell)


@pytest.mark.slow
def test_a_result_that_nobody_reads_and_that_is_lost_does_not_count(
    shell: Any, walks: list[object]
) -> None:
    cells = ["a = [[1], 2]", "(x for x in range(3))", "b = a * 2"]
    run_all(shell, cells)
    restart(shell)
    walks.clear()

    assert run_all(shell, cells) == [True] * 3

    assert not any(value is shell.user_ns["a"] for value in walks)


OPTIONAL = {
    "import in a function": "def rate():\n    try:\n        import {m}; return {m}.RATE\n"
    "    except ImportError:\n        return 1",
    "import by name": "import importlib\ndef rate():\n    try:\n"
    "        return importlib.import_module('{m}').RATE\n    except ImportError:\n        return 1",
    "a spec": "import importlib.util as u\ndef rate():\n    return 1 if u.find_spec('{m}') is None else 7",
}


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", OPTIONAL)
@pytest.mark.parametrize("place", ["{m}.py", "{m}/__init__.py"])
def test_a_module_that_is_new_beside_the_notebook_counts(
    shell: Any, tmp_path: Path, how: str, place: str
) -> None:
    sys.path.insert(0, str(tmp_path))
    module = f"optional_{abs(hash((how, place))) % 10**6}"
    cells = [OPTIONAL[how].format(m=module), "r = rate()"]
    run_all(shell, cells)
    assert shell.user_ns["r"] == 1
    restart(shell)
    file = tmp_path / place.format(m=module)
    file.parent.mkdir(exist_ok=True)
    file.write_text("RATE = 7")

    run_all(shell, cells)

    assert shell.user_ns["r"] == 7


def hide(shell: Any, source: str) -> None:
    """Run `source` as a startup file does: what it makes is no variable of the notebook."""
    made: dict[str, Any] = {}
    exec(source, made)
    del made["__builtins__"]
    for value in made.values():
        if hasattr(value, "__module__"):
            value.__module__ = "__main__"
    shell.push(made, interactive=False)


@pytest.mark.parametrize(
    ("before", "after", "reader"),
    [
        ("def helper(): return 1", "def helper(): return 2", "r = helper()"),
        ("class K:\n    v = 1", "class K:\n    v = 2", "r = K.v"),
        ("", "def len(x): return 2", "r = len(a)"),
    ],
)
def test_what_a_startup_file_makes_counts(shell: Any, before: str, after: str, reader: str) -> None:
    cells = ["a = [1]", reader]
    hide(shell, before)
    run_all(shell, cells)
    assert shell.user_ns["r"] == 1
    restart(shell)
    hide(shell, after)

    run_all(shell, cells)

    assert shell.user_ns["r"] == 2


def test_a_builtin_that_is_new_counts(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ["a = [1]", "try:\n    r = helper_of_builtins\nexcept NameError:\n    r = -1"]
    run_all(shell, cells)
    restart(shell)
    monkeypatch.setattr(builtins, "helper_of_builtins", 5, raising=False)

    run_all(shell, cells)

    assert shell.user_ns["r"] == 5


@pytest.mark.slow
def test_what_runs_between_cells_has_values_looked_at(shell: Any) -> None:
    cells = ["rows = [str(i) for i in range(400_000)]", "n = len(rows)"]
    run_all(shell, cells)
    restart(shell)
    run_all(shell, cells[:1])
    shell.events.trigger("pre_execute")
    shell.user_ns["rows"].append("0")
    shell.events.trigger("post_execute")

    run_all(shell, ["pass", cells[1]])

    assert shell.user_ns["n"] == 400_001
