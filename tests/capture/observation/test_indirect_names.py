from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.capture.observation.notebooks import run

DEFINITIONS = """
import sys
import pandas as pd, patsy, numpy as np
import builtins
def value_of(text): return getattr(builtins, 'ev' + 'al')(text)
frame = pd.DataFrame({'a': [1., 2., 3.]})
query = frame.query
way = globals
def reached(name): return way()[name]
"""

READERS = {
    "eval by its name": "y = value_of('k')",
    "what evaluated code calls": "y = value_of('function()')",
    "a bound query": "y = query('a > @k').a.tolist()",
    "a formula": "y = np.asarray(patsy.dmatrix('I(a * k) - 1', frame)).ravel().tolist()",
    "an alias of globals": "y = reached('k')",
}


IN_SHELL = {
    "evaluated by the shell": "y = shell.ev('k')",
    "a cell inside of a cell": "shell.run_cell('y = k')",
    "a magic by its name": "shell.run_line_magic('time', 'y = k')",
}


@pytest.mark.slow
def test_a_variable_that_the_shell_looks_up_counts(tmp_path: Any) -> None:
    folder = tmp_path / "project"
    folder.mkdir()

    first = run(folder, ["shell = get_ipython()", "k = 1", *IN_SHELL.values()])
    edited = run(folder, ["shell = get_ipython()", "k = 2", *IN_SHELL.values()])

    assert [ran.value for ran in first[2:]] == ["1"] * 3
    assert [ran.value for ran in edited[2:]] == ["2"] * 3


@pytest.mark.slow
def test_a_variable_that_is_looked_up_by_its_name_counts(tmp_path: Any) -> None:
    folder = tmp_path / "project"
    folder.mkdir()

    def cells(value: int) -> list[str]:
        return [DEFINITIONS, "def function(): return k", f"k = {value}", *READERS.values()]

    first = run(folder, cells(1))
    again = run(folder, cells(1))
    edited = run(folder, cells(2))

    assert not any(ran.restored for ran in first)
    assert [ran.value for ran in again] == [ran.value for ran in first]
    for label, one, two in zip(READERS, first[3:], edited[3:], strict=True):
        assert one.value != two.value, label
        assert not two.restored, label
    assert [ran.restored for ran in again[3:5]] == [True, True]


@pytest.fixture
def cell(shell: Any) -> Callable[..., str]:
    """Run a cell under its own name; why it ran, or that it was restored."""
    names: dict[str, str] = {}
    shell.run_cell("%nbckpt auto skip", store_history=True)

    def cell(source: str, name: str = "") -> str:
        label = names.setdefault(name or source, f"cell-{len(names)}")
        done = shell.run_cell(source, store_history=True, cell_id=label)
        assert done.success, done
        step = shell._nbckpt_extension.cells.steps.latest
        return "restored" if step.restored else "; ".join(step.why)

    return cell


@pytest.mark.slow
def test_the_reason_names_the_variable(tmp_path: Any) -> None:
    def cells(value: int) -> list[str]:
        return [DEFINITIONS, f"k = {value}", "y = value_of('k')"]

    run(tmp_path, cells(1))
    edited = run(tmp_path, cells(2))

    assert "'k'" in edited[-1].why


@pytest.mark.slow
def test_what_evaluated_code_changed_in_place_is_kept(tmp_path: Any) -> None:
    cells = [DEFINITIONS, "xs = []", "_ = value_of('xs.append(1)')", "y = list(xs)"]

    run(tmp_path, cells)
    again = run(tmp_path, cells)

    assert [ran.restored for ran in again[1:]] == [True] * 3
    assert again[-1].value == "[1]"


def test_a_plain_cell_that_evaluates_has_its_changes_kept_by_the_next_checkpoint(
    shell: Any,
) -> None:
    shell.run_cell("ask = [eval]; xs = []", store_history=True)
    shell.run_cell("%%checkpoint first\na = 1", store_history=True)
    shell.run_cell("ask[0]('xs.append(1)')", store_history=True)
    shell.run_cell("%%checkpoint second\nb = 1", store_history=True)
    shell.run_cell("xs = 5", store_history=True)

    shell.run_line_magic("rewind", "second")

    assert shell.user_ns["xs"] == [1]


@pytest.mark.slow
def test_a_name_that_the_cell_had_bound_before_is_its_own(tmp_path: Any) -> None:
    own = "k = 1\ny = value_of('k')"

    run(tmp_path, [DEFINITIONS, "", own])
    edited = run(tmp_path, [DEFINITIONS, "k = 9", own])

    assert edited[-1].restored


def test_a_class_that_a_pickle_names_counts(cell: Callable[..., str]) -> None:
    cell("import pickle\ndata = pickle.dumps(complex)\nclass A:\n    k = 1", "class")
    cell("data = pickle.dumps(A())", "dump")
    cell("y = pickle.loads(data).k")

    assert cell("y = pickle.loads(data).k") == "restored"
    cell("import pickle\ndata = pickle.dumps(complex)\nclass A:\n    k = 2", "class")
    cell("data = pickle.dumps(A())", "dump")
    assert cell("y = pickle.loads(data).k") != "restored"


def test_a_list_of_the_names_counts(shell: Any, cell: Callable[..., str]) -> None:
    cell("a_1 = 1")
    listing = "y = sorted(name for name in dir() if name.startswith('a_'))"
    cell(listing)

    assert cell("a_1 = 1") == "restored"
    cell("a_2 = 1")
    assert cell(listing) != "restored"
    assert shell.user_ns["y"] == ["a_1", "a_2"]


QUIET = {
    "named tuple": "import collections\nP = collections.namedtuple('P', 'x y'); y = P(1, 2)",
    "data class": "from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int = 1",
    "log": "import logging\nlogging.getLogger('nbckpt.test').debug('x'); y = 1",
    "aggregate": "y = frame.groupby('a').b.mean()",
    "describe": "y = frame.describe()",
    "query of columns": "y = frame.query('a > 1')",
    "formula": "import patsy\ny = patsy.dmatrix('a + b', frame).shape",
    "model": "import pydantic\nclass M(pydantic.BaseModel):\n    a: int = 1",
    "sql": "import duckdb\ny = duckdb.sql('select sum(a) s from frame').fetchall()",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", QUIET.values(), ids=QUIET)
def test_common_calls_do_not_look_everything_up(
    shell: Any, cell: Callable[..., str], source: str
) -> None:
    cell("import pandas as pd\nframe = pd.DataFrame({'a': [1, 2], 'b': [3., 4.]})")
    cell(source)
    shell.user_ns["unrelated"] = 1

    session = shell._nbckpt_extension.session
    names = session.timeline.checkpoints[session.position.id].observed.get("names", {})

    assert "all" not in names
    assert cell(source) == "restored"
