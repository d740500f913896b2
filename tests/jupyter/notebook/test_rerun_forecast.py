"""What would become of the notebook's own cells below a step."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.notebook.documents import Written
from nbckpt.jupyter.notebook.rerun_forecast import rerun_plan
from tests.jupyter.notebook.cells import Notebook

CELLS = {
    "k": "k = 3",
    "load": "%%checkpoint load\ndf = [1, 2]",
    "rewinds": "%rewind load",
    "scale": "%%checkpoint scale\nbig = [d * k for d in df]",
    "look": "seen = len(big)",
    "train": "%%checkpoint train\nt = sum(big)",
    "other": "%%checkpoint other\no = len(df)",
    "empty": "# nothing",
}


def planned(notebook: Notebook, ref: str) -> dict[str, tuple[str, str]]:
    session = notebook.session
    plan = rerun_plan(session, session.get(ref), notebook.document)
    return {cell["cell_id"]: (cell["does"], cell["why"]) for cell in plan["cells"]}


def notebook_that_ran(shell: Any) -> Notebook:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load", "scale", "look", "train", "other")
    return notebook


def test_cells_that_nothing_has_reached_are_restored(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    plan = planned(notebook, "load")

    assert plan == {
        "scale": ("restored", "nothing that it reads has changed"),
        "look": ("runs", "it has no checkpoint of its own"),
        "train": ("restored", "nothing that it reads has changed"),
        "other": ("restored", "nothing that it reads has changed"),
    }


def test_what_an_edited_cell_reaches_runs_and_the_rest_is_restored(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.sources["scale"] = "%%checkpoint scale\nbig = [d * k + 1 for d in df]"

    plan = planned(notebook, "load")

    assert plan["scale"] == ("runs", "edited since")
    assert plan["look"] == plan["train"] == ("runs", "big changed")
    assert plan["other"][0] == "restored"


def test_values_given_by_a_fork_reach_who_reads_them(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.session.fork("load", "small", {"k": 1})

    plan = planned(notebook, "small")

    assert plan["scale"] == ("runs", "k changed")
    assert plan["train"] == ("runs", "big changed")
    assert plan["other"][0] == "restored"


def test_a_forecast_is_what_happens(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.session.fork("load", "small", {"k": 1})
    plan = planned(notebook, "small")

    notebook.run(*plan)
    marks = notebook.marks()

    for cell_id, (does, _) in plan.items():
        if cell_id != "look":
            assert marks[cell_id]["state"] == ("restored" if does == "restored" else "checkpointed")


def test_cells_below_that_stand_as_they_would_are_left_alone(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(load="%%checkpoint load\ndf = [1, 2, 3]")
    session = notebook.session

    plan = planned(notebook, session.position.id or "")

    assert plan["scale"] == plan["other"] == ("runs", "df changed")
    assert plan["train"] == ("runs", "big changed")


def test_a_cell_that_was_run_again_with_the_same_outcome_leaves_those_below_fresh(
    shell: Any,
) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(load="%%checkpoint load\ndf = [1] + [2]")

    plan = planned(notebook, notebook.session.position.id or "")

    assert {does for does, _ in plan.values()} == {"fresh"}


def test_whether_the_session_has_to_go_back_is_told(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    session = notebook.session

    assert rerun_plan(session, session.get("load"), notebook.document)["rewinds"]
    assert not rerun_plan(session, session.get("other"), notebook.document)["rewinds"]


def test_a_step_whose_cell_is_gone_is_refused_in_one_sentence(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    del notebook.sources["scale"]

    with pytest.raises(UsageError, match="the cell of 'scale' is not in this notebook any more"):
        planned(notebook, "scale")


def test_a_cell_that_never_ran_runs(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.sources["new"] = "%%checkpoint new\nn = t"

    assert planned(notebook, "load")["new"] == ("runs", "it never ran")


def test_a_cell_that_failed_is_not_said_never_to_have_run(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")

    assert planned(notebook, "load")["bad"] == ("runs", "it failed")


@pytest.mark.slow
def test_a_cell_with_a_block_is_not_said_to_have_no_checkpoint(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(block="import nbckpt\nwith nbckpt.checkpoint('b') as step:\n    c = len(df)")
    notebook.run(last="%%checkpoint last\nl = c")

    plan = planned(notebook, "load")

    assert plan["block"] == ("runs", "only its block may be restored")
    assert plan["last"] == ("restored", "nothing that it reads has changed")


@pytest.mark.parametrize("cells", [None, "text", [1], [{"source": "x"}], {"cell_id": "a"}])
def test_cells_that_are_none_are_refused(shell: Any, cells: object) -> None:
    from nbckpt.jupyter.notebook.documents import code_cells

    with pytest.raises(UsageError, match="'cells'"):
        code_cells(cells)


def test_cells_whose_ids_were_not_kept_are_known_by_their_texts(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    before = planned(notebook, "load")
    notebook.sources = {f"new-{i}": source for i, source in notebook.sources.items()}

    plan = planned(notebook, "load")

    assert plan == {f"new-{i}": fate for i, fate in before.items()}


@pytest.mark.parametrize(
    ("source", "is_marked"),
    [
        ("%%checkpoint x\ny = 1", True),
        ("%%time\n%%checkpoint x\ny = 1", True),
        ("# %%checkpoint x\ny = 1", True),
        ("\n#%%checkpoint\ny = 1", True),
        ("y = 1\n# %%checkpoint x", False),
        ("# %%checkpointed\ny = 1", False),
    ],
)
def test_a_cell_asks_to_be_restored_by_a_magic_or_a_comment(source: str, is_marked: bool) -> None:
    assert Written("a", source).is_marked is is_marked
