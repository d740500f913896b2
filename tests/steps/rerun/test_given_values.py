"""Values that were given by hand, by a fork or an update, are not taken back by the cells after it."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.model import Cell, Checkpoint
from nbckpt.session.history.recorded_cells import Recorded
from nbckpt.steps import current_session
from nbckpt.steps.rerun.given_values import binds_only, overwritten
from tests.jupyter.test_rerunning import rerun, run_all, states
from tests.notebooks import run

CELLS = ("d = 1", "n = 30", "m = 2", "fit = [d] * n")
OF_NOBODY: dict[str, Any] = {"session": "s", "notebook": "", "duration_s": 0.0}
NAMES = ("base", "set", "other", "train")


def marked(*cells: str) -> list[str]:
    return [f"%%checkpoint {name}\n{cell}" for name, cell in zip(NAMES, cells, strict=True)]


@pytest.mark.parametrize("ways", ["fork", "update"])
def test_a_cell_that_only_binds_what_was_given_is_skipped(ways: str, shell: Any) -> None:
    run_all(shell, *marked(*CELLS))
    session = current_session.session()
    if ways == "fork":
        session.fork("base", values={"n": 60})
    else:
        session.update("base", {"n": 60})

    done = rerun(shell)

    assert (shell.user_ns["n"], len(shell.user_ns["fit"])) == (60, 60)
    assert states(done) == {"set": "skipped", "other": "restored", "train": "run"}
    assert next(cell.why for cell in done.cells if cell.name == "set") == "n was given by hand"
    again = rerun(shell, "base")
    assert (shell.user_ns["n"], len(shell.user_ns["fit"])) == (60, 60)
    assert "run" not in states(again).values()


def test_so_it_is_of_cells_that_nobody_marked(shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    run_all(shell, *CELLS)
    current_session.session().fork("~3", values={"n": 60})

    done = rerun(shell)

    assert (shell.user_ns["n"], len(shell.user_ns["fit"]), shell.user_ns["m"]) == (60, 60, 2)
    assert [cell.state for cell in done.cells] == ["skipped", "restored", "run"]


def test_so_it_is_of_cells_that_were_kept_with_the_next_one(shell: Any) -> None:
    base, setting, _, train = marked(*CELLS)
    run_all(shell, base, setting.partition("\n")[2], "m = 2", train)
    current_session.session().fork("base", values={"n": 60})

    rerun(shell)

    assert (shell.user_ns["n"], len(shell.user_ns["fit"]), shell.user_ns["m"]) == (60, 60, 2)


def test_a_cell_that_does_more_runs_and_says_what_it_overwrites(shell: Any) -> None:
    run_all(shell, *marked("d = 1", "n = 30", "n = len('x' * 20)\nm = 2", "fit = [d] * n"))
    current_session.session().fork("base", values={"n": 60})

    done = rerun(shell)

    assert shell.user_ns["n"] == 20
    assert states(done)["set"] == "skipped"
    why = next(cell.why for cell in done.cells if cell.name == "other")
    assert why.endswith("it overwrites n, given by hand")


@pytest.mark.parametrize("answer", [True, False])
def test_a_cell_that_does_more_is_asked_about(
    answer: bool, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def confirmed(_: object, question: str) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr("nbckpt.jupyter.rerunning.confirmed", confirmed)
    run_all(shell, *marked("d = 1", "n = 30", "n = len('x' * 20)\nm = 2", "fit = [d] * n"))
    current_session.session().fork("base", values={"n": 60})

    run(shell, "%rerun")

    assert asked == ["'other' overwrites n, given by hand. Run it?"]
    assert shell.user_ns["n"] == (20 if answer else 60)
    assert len(shell.user_ns["fit"]) == shell.user_ns["n"]


@pytest.mark.parametrize(
    "middle", ["n = len('ab')", "for n in range(3): pass", "del n", "n = 30; m = 2"]
)
def test_once_a_cell_took_it_back_the_cells_after_it_count_again(middle: str, shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    run_all(shell, "d = 1", "n = 30", middle, "n = 7", "r = n")
    current_session.session().fork("~4", values={"n": 60})

    done = rerun(shell)

    assert (shell.user_ns["n"], shell.user_ns["r"]) == (7, 7)
    assert [cell.state for cell in done.cells].count("skipped") == 1
    assert done.error is None


@pytest.mark.parametrize("cell", ["n = n * 2", "n *= 2", "n = n * d * 2"])
def test_a_cell_that_makes_it_of_what_was_given_runs(cell: str, shell: Any) -> None:
    run_all(shell, *marked("d = 1; n = 10", cell, "m = n + 1", "fit = [d] * n"))
    current_session.session().fork("base", values={"n": 60})

    rerun(shell)

    assert (shell.user_ns["n"], shell.user_ns["m"], len(shell.user_ns["fit"])) == (120, 121, 120)


def test_two_forks_in_a_row_give_both_values(shell: Any) -> None:
    run_all(shell, *marked("n = 10; d = 1", "n = 20", "d = 2", "fit = n + d"))
    current_session.session().fork("base", values={"n": 60})
    current_session.session().fork("base", values={"d": 5})

    rerun(shell)

    assert shell.user_ns["fit"] == 65


def test_what_a_cell_bound_after_the_fork_is_no_longer_given(shell: Any) -> None:
    run_all(shell, *marked(*CELLS))
    current_session.session().fork("base", values={"n": 60})
    run_all(shell, "%%checkpoint mine\nn = 7", "%%checkpoint later\nk = n")

    done = rerun(shell, "base")

    assert (shell.user_ns["n"], shell.user_ns["k"]) == (7, 7)
    assert "skipped" not in states(done).values()


@pytest.mark.parametrize(
    ("source", "only", "names"),
    [
        ("n = 3", True, {"n"}),
        ("n: int = 3", True, {"n"}),
        ("n = k = 3", True, {"n", "k"}),
        ("%%checkpoint set\nn = 3\nk = n + 1", True, {"n", "k"}),
        ("# %%checkpoint set\nn = 3", True, {"n"}),
        ("n = f()", False, {"n"}),
        ("n = 3; m = 4", False, {"n"}),
        ("n += 1", False, set()),
        ("for n in range(3): pass", False, {"n"}),
        ("n: int", False, set()),
        ("x.n = 3", False, set()),
        ("(n, k) = 1, 2", True, {"n", "k"}),
        ("[n, (k, m)] = 1, (2, 3)", False, {"n", "k"}),
        ("n, *k = 1, 2", False, {"n", "k"}),
        ("del n", False, {"n"}),
        ("n = n * 2", False, set()),
        ("n = n * 2; n = 3", False, {"n"}),
        ("n = n * 2\nfor n in range(3): pass", False, {"n"}),
        ("n = n * 2\nimport m as n", False, {"n"}),
        ("n = n * 2\ndef n(): pass", False, {"n"}),
        ("n, k = k, n", False, {"n", "k"}),
        ("k = sorted(score, key=lambda k: score[k])[0]", False, {"k"}),
        ("n = [n for n in score]", False, {"n"}),
        ("n = [k for _ in n]", False, set()),
        ("try: pass\nexcept OSError as n: n = n + 1", False, {"n"}),
        ("k = n + 1", False, {"k"}),
        ("k = n + 1\nn = 3", False, {"n", "k"}),
        ("n = m\nk = n", True, {"n", "k"}),
        ("k = [n for n in range_]", False, {"k"}),
        ("", False, set()),
        ("n = (", False, set()),
        ("m = 3", False, set()),
    ],
)
def test_what_a_cell_overwrites_is_read_from_its_text(
    source: str, only: bool, names: set[str]
) -> None:
    cell = Cell(source, cell_id="c")
    made = Checkpoint(
        id="1", parent=None, branch="main", name="set", cell=cell, created_at=0.0, **OF_NOBODY
    )
    piece = Recorded(made, cell, "cell", None)

    assert binds_only(piece, {"n", "k"}) is only
    if source != "n: int":
        assert overwritten(piece, {"n", "k"}) == names
