"""What stands beside the cells of a notebook, for the place where the session stands."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from nbckpt.jupyter.shell import load, unload
from nbckpt.notebook.marks import Marks
from nbckpt.notebook.present import Present
from tests.notebook.cells import Notebook

CELLS = {
    "setup": "k = 3",
    "load": "%%checkpoint load\ndf = [1, 2] * k",
    "embed": "%%checkpoint embed\nm = sum(df)",
    "train": "%%checkpoint train\nt = m + k",
}


def notebook_that_ran(shell: Any) -> Notebook:
    notebook = Notebook(shell, CELLS)
    notebook.run_all()
    return notebook


def new_session(shell: Any) -> Notebook:
    """The same notebook in a new kernel: another namespace, another session."""
    unload(shell)
    for name in [n for n in shell.user_ns if not n.startswith("_")]:
        if name not in shell.user_ns_hidden:
            del shell.user_ns[name]
    load(shell)
    return Notebook(shell, CELLS)


def test_cells_that_ran_are_checkpointed_and_those_before_them_joined(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    marks = notebook.marks()

    assert notebook.states() == dict.fromkeys(CELLS, "checkpointed")
    assert [m["name"] for m in marks.values()] == ["load", "load", "embed", "train"]
    assert marks["setup"]["took_s"] is None
    assert marks["load"]["source_crc"] == zlib.crc32(CELLS["load"].encode())


def test_a_cell_that_ran_and_is_not_kept_yet_has_no_mark(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(plot="print(t)")

    assert "plot" not in notebook.marks()


def test_running_all_again_leaves_no_cell_without_a_mark_on_the_way(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run("load")

    states = notebook.states()
    assert states["load"] == "restored"
    assert states["embed"] == states["train"] == "checkpointed"


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


def test_marks_hold_after_a_prune(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run("train", load="%%checkpoint load\ndf = [5] * k")
    before = notebook.states()

    shell.run_cell("%nbckpt prune --keep-last 1")

    assert before["embed"] == "stale: df changed"
    assert notebook.states()["load"] == "checkpointed"


def test_several_variables_are_counted(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(a="a, b, c = 1, 2, 3", use="%%checkpoint use\nd = a + b + c")

    notebook.run(a="a, b, c = 2, 3, 4")

    assert notebook.states()["use"] == "stale: a and 2 more changed"


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


def test_after_a_rewind_the_marks_are_those_of_the_moment(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(setup="k = 4")

    notebook.session.rewind("embed")

    assert notebook.states() == dict.fromkeys(("setup", "load", "embed"), "checkpointed")


def test_values_given_by_hand_make_the_cells_stale_that_read_them(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.session.fork("embed", "try", {"k": 9})

    states = notebook.states()
    assert states["train"] == "stale: k changed"
    assert states["embed"] == "checkpointed"


def test_after_a_restart_there_are_no_marks_until_something_is_brought_back(shell: Any) -> None:
    notebook_that_ran(shell)

    notebook = new_session(shell)
    before = notebook.states()
    notebook.session.resume()

    assert before == {}
    assert notebook.states() == dict.fromkeys(CELLS, "restored")
    assert all(m["took_s"] > 0 for m in notebook.marks().values())


def test_cells_that_run_all_restores_one_by_one_are_restored(shell: Any) -> None:
    notebook_that_ran(shell)

    notebook = new_session(shell)
    notebook.run("setup", "load", "embed")

    assert notebook.states() == dict.fromkeys(("load", "embed"), "restored")


def test_a_cell_that_failed_says_why_until_it_runs_well(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(bad="%%checkpoint bad\n1 / 0")
    failed = notebook.states()["bad"]
    notebook.run(bad="%%checkpoint bad\n1 / 1")

    assert failed == "failed: ZeroDivisionError: division by zero"
    assert notebook.states()["bad"] == "checkpointed"


def test_the_very_first_cell_may_fail(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")

    assert notebook.states() == {"bad": "failed: ZeroDivisionError: division by zero"}
    assert new_session(shell).states() == {}


def test_after_a_rerun_the_marks_are_those_of_its_line(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.session.fork("load", "small", {"df": [7]})

    shell.run_cell("%rerun")

    states = notebook.states()
    assert states["embed"] == states["train"] == "checkpointed"
    assert shell.user_ns["t"] == 10


def test_a_move_that_nothing_tells_of_is_seen(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = notebook_that_ran(shell)
    monkeypatch.setattr("nbckpt.notebook.happened.LATE_S", 0.0)
    before = notebook.states()

    notebook.session.go_to(notebook.session.get("load"))
    notebook.marks()
    notebook._marks.arrange([])

    assert "train" in before
    assert set(notebook.states()) == {"setup", "load"}


def test_a_failure_that_was_not_there_yet_is_not_told_after_a_rewind(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")

    notebook.session.rewind("embed")

    assert "bad" not in notebook.marks()


def test_a_page_may_tell_the_order_of_the_cells(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(use="k = 1\n")
    notebook.run(use="%%checkpoint use\ny = k")
    notebook.run(late="%%checkpoint late\nk = 2")
    by_runs = notebook.states()["use"]

    notebook._marks.arrange(["late", "use"])

    assert by_runs == "checkpointed"
    assert notebook.states()["use"] == "stale: k changed"
