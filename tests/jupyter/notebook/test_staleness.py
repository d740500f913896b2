"""Which cells are stale, and of which nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.jupyter.notebook.marks import Marks
from nbckpt.jupyter.notebook.present_values import Present
from tests.jupyter.notebook.cells import Notebook, notebook_that_ran


def test_a_cell_above_that_made_another_value_makes_its_readers_stale(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(load="%%checkpoint load\ndf = [1, 2, 3] * k")
    first = notebook.states()
    notebook.run("embed")
    then = notebook.states()
    notebook.run("train")

    assert first["embed"] == "stale: df changed"
    assert first["train"] == "checkpointed"
    assert (then["embed"], then["train"]) == ("checkpointed", "stale: m changed")
    assert notebook.states()["train"] == "checkpointed"


def test_a_plain_cell_above_makes_its_readers_stale(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(setup="k = 4")
    stale = notebook.states()
    notebook.run(setup="k = 3")

    assert stale["load"] == stale["train"] == "stale: k changed"
    assert "setup" not in stale
    assert "stale" not in " ".join(notebook.states().values())


def test_the_same_value_made_once_more_makes_nothing_stale(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(load="%%checkpoint load\ndf = list(range(1, 3)) * k")

    assert "stale" not in " ".join(notebook.states().values())


def test_a_cell_below_that_changes_a_variable_makes_nobody_above_stale(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(more="%%checkpoint more\ndf.append(9)", last="k = 9")

    assert "stale" not in " ".join(notebook.states().values())


def test_a_function_that_was_defined_anew_makes_its_callers_stale(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(define="def f(x):\n    return x", use="%%checkpoint use\ny = f(2)")

    notebook.run(define="def f(x):\n    return x + 1")

    assert notebook.states()["use"] == "stale: f changed"


@pytest.mark.parametrize("made", ["np.zeros(500_000)", "pd.DataFrame({'a': np.zeros(500_000)})"])
def test_large_tables_and_arrays_are_told_by_what_was_noted_of_them(shell: Any, made: str) -> None:
    notebook = Notebook(shell)
    imports = "import numpy as np, pandas as pd"
    notebook.run(imports=imports, load=f"%%checkpoint load\ndf = {made}")
    notebook.run(use="%%checkpoint use\ny = len(df)")

    notebook.run(load=f"%%checkpoint load\ndf = {made} + 1")

    assert notebook.states()["use"] == "stale: df changed"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("first", "then", "is_known"),
    [
        ("{1, 2}", "{1, 3}", True),
        ("np.arange(3)", "np.arange(4)", True),
        ("pd.DataFrame({'a': [1]})", "pd.DataFrame({'a': [2]})", True),
        ("pd.Series([1.5])", "pd.Series([2.5])", True),
        ("np.array([C(1)], object)", "np.array([C(2)], object)", True),
        ("C(1)", "C(2)", False),
        ("[C(1)]", "[C(2)]", False),
        ("{C}", "{int}", False),
        ("'a' * 2_000_000", "'b' * 2_000_000", False),
        ("list(range(500_000))", "list(range(1, 500_001))", False),
    ],
)
def test_what_is_told_of_which_values(shell: Any, first: str, then: str, is_known: bool) -> None:
    notebook = Notebook(shell)
    own = "class C:\n    def __init__(self, n): self.n = n\nimport numpy as np, pandas as pd"
    notebook.run(own=own, load=f"%%checkpoint load\nx = {first}")
    notebook.run(use="%%checkpoint use\ny = str(type(x))")

    notebook.run(load=f"%%checkpoint load\nx = {then}")

    assert notebook.states()["use"] == ("stale: x changed" if is_known else "checkpointed")


def test_a_variable_that_is_gone_makes_nobody_stale(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(setup="del k")

    assert "stale" not in " ".join(notebook.states().values())


def test_a_variable_that_changes_while_it_is_looked_at_is_not_told_of(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    session = notebook.session

    class Changing(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            message = "dictionary changed size during iteration"
            raise RuntimeError(message)

    present = Present(session, lambda: 1)
    session.namespace = Changing(session.namespace)

    assert present.is_another("k", session.get("load")) is None


def test_several_variables_are_counted(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(a="a, b, c = 1, 2, 3", use="%%checkpoint use\nd = a + b + c")

    notebook.run(a="a, b, c = 2, 3, 4")

    assert notebook.states()["use"] == "stale: a and 2 more changed"


@pytest.mark.slow
def test_of_a_value_that_only_its_own_code_can_tell_nothing_is_said(shell: Any) -> None:
    notebook = Notebook(shell)
    own = "class C:\n    def __reduce__(self):\n        asked.append(1); return C, ()\nasked = []"
    notebook.run(kind=own, load="%%checkpoint load\nc = C()", use="%%checkpoint use\ny = str(c)")
    notebook.run(kind=own, load="%%checkpoint load\nc = C(); z = 1")
    asked = len(shell.user_ns["asked"])

    states = notebook.states()

    assert states["use"] != "stale: c changed"
    assert len(shell.user_ns["asked"]) == asked


def test_while_a_cell_runs_nothing_is_looked_at_and_what_was_stale_stays(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    session = notebook.session
    now: list[int | None] = [1]
    marks = Marks(session, lambda: now[0])
    notebook.run(setup="k = 4")
    marks.now()
    assert marks.now()["load"]["state"] == "stale"

    now[0] = None
    shell.user_ns["df"] = "another"
    session.checkpoint("by-hand")
    states = {i: m["state"] for i, m in marks.now().items()}

    assert (states["load"], states["embed"]) == ("stale", "checkpointed")


def test_nothing_is_told_of_what_was_looked_at_while_a_cell_began(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    ticks = iter(range(100))
    present = Present(notebook.session, lambda: next(ticks))
    shell.user_ns["k"] = 4

    assert present.is_another("k", notebook.session.get("load")) is None


def test_values_given_by_hand_make_the_cells_stale_that_read_them(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.session.fork("embed", "try", {"k": 9})

    states = notebook.states()
    assert states["train"] == "stale: k changed"
    assert states["embed"] == "checkpointed"


def test_a_page_may_tell_the_order_of_the_cells(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(use="k = 1\n")
    notebook.run(use="%%checkpoint use\ny = k")
    notebook.run(late="%%checkpoint late\nk = 2")
    by_runs = notebook.states()["use"]

    notebook._marks.arrange(["late", "use"])

    assert by_runs == "checkpointed"
    assert notebook.states()["use"] == "stale: k changed"
