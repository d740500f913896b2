"""What became of each cell, told from the events of its session. And the parameters of a run."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.runner import ipynb, parameters
from nbckpt.timeline.cell_outcomes import (
    Ending,
    Outcome,
    label_of,
    summary_text,
    table,
    told,
)


def cell(ending: Ending, took_s: float) -> Outcome:
    return Outcome(4, "read-docs", "read-docs", ending, took_s=took_s)


def event(kind: str, name: str = "cell-read-doc", cell_id: str | None = "read-docs", **more: Any):  # type: ignore[no-untyped-def]
    return {"event": kind, "name": name, "cell_id": cell_id, **more}


def test_a_cell_with_no_event_ran() -> None:
    outcome = told(cell("done", 0.5), [])

    assert (outcome.text, outcome.took_s, outcome.saved_s) == ("ran", 0.5, 0.0)


def test_a_restored_cell_has_its_own_name_and_what_it_saved() -> None:
    outcome = told(cell("done", 0.1), [event("restored", "read", saved_s=4.0)])

    assert (outcome.label, outcome.text, outcome.saved_s) == ("read", "restored", 4.0)


def test_a_loop_that_went_on_says_at_which_item() -> None:
    events = [
        event("continued", "inner", None, saved_s=4.0, done=20, total=40),
        event("ran", "inner", None),
        event("ran"),
    ]

    outcome = told(cell("done", 4.0), events)

    assert (outcome.label, outcome.text) == ("read-docs", "went on at item 21 of 40")
    assert outcome.saved_s == 4.0


def test_a_cell_whose_only_steps_were_restored_was_restored() -> None:
    events = [event("restored", "inner", None, saved_s=2.0), event("ran")]

    assert told(cell("done", 0.1), events).text == "restored"


def test_a_cell_of_which_a_step_ran_ran() -> None:
    events = [event("restored", "one", None, saved_s=2.0), event("ran", "two", None), event("ran")]

    assert told(cell("done", 0.1), events).text == "ran"


def test_a_cell_that_went_on_and_died_says_both() -> None:
    events = [event("continued", "inner", None, saved_s=4.0, done=20, total=-1)]

    outcome = told(cell("died", 4.0), events)

    assert outcome.text == "went on at item 21, then kernel died"


def test_a_restore_that_took_longer_than_the_run_saved_nothing() -> None:
    assert told(cell("done", 1.0), [event("restored", saved_s=-1.0)]).saved_s == 0.0


@pytest.mark.parametrize(
    ("source", "cell_id", "label"),
    [
        ("x = 1", "train-model", "train-model"),
        ("# why\n\nx = 1\ny = 2", "6f1c2a9b", "x = 1"),
        ("%%time\nfit()", "0f3d1c22-aaaa-4bbb-8ccc-1234567890ab", "fit()"),
        ("# only a comment", "6f1c2a9b", "6f1c2a9b"),
        ("x = " + "1 + " * 20, "", "x = 1 + 1 + 1 + 1 + 1 + 1 + 1 +…"),
    ],
)
def test_a_cell_is_called_by_its_id_if_somebody_chose_it(
    source: str, cell_id: str, label: str
) -> None:
    assert label_of(source, cell_id) == label


def test_the_summary_counts_cells_and_time() -> None:
    outcomes = [
        Outcome(1, "load", "a", "done", "restored", saved_s=122.0),
        Outcome(2, "read", "b", "done", "continued", saved_s=4.0, done=20, total=40),
        Outcome(3, "train", "c", "done"),
    ]

    assert summary_text(outcomes) == (
        "restored 1 of 3 cells, 'read' went on at item 21, saved 2 min 6 s"
    )
    assert table(outcomes).splitlines()[2].split()[:2] == ["2", "read"]


def notebook_of(*sources: str, tags: dict[int, str] | None = None) -> Any:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    for i, tag in (tags or {}).items():
        cells[i].metadata["tags"] = [tag]
    return nbformat.v4.new_notebook(cells=cells)


def test_parameters_come_right_after_the_defaults_and_replace_older_ones() -> None:
    notebook = notebook_of("import x", "n: int = 1", "n + 1", tags={1: "parameters"})

    parameters.inject(notebook, {"n": 2})
    unknown = parameters.inject(notebook, {"n": float("inf"), "who": None})

    sources = [cell.source for cell in notebook.cells]
    assert sources == [
        "import x",
        "n: int = 1",
        '# Parameters\nn = float("inf")\nwho = None',
        "n + 1",
    ]
    assert unknown == ("who",)


def test_without_a_cell_of_defaults_parameters_come_first() -> None:
    notebook = notebook_of("n + 1")

    unknown = parameters.inject(notebook, {"n": "two"})

    assert notebook.cells[0].source == "# Parameters\nn = 'two'"
    assert unknown == ("n",)


@pytest.mark.parametrize("name", ["two words", "1st", "class", ""])
def test_what_no_variable_can_be_called_is_no_parameter(name: str) -> None:
    notebook = notebook_of("a = 1")

    with pytest.raises(UsageError, match="no name that a variable can have"):
        parameters.inject(notebook, {name: 1})

    assert len(notebook.cells) == 1


def test_cells_of_an_old_notebook_have_the_same_ids_each_time(tmp_path: Any) -> None:
    old = notebook_of("a = 1", "a = 1", "b = 2")
    old.nbformat_minor = 4
    for cell in old.cells:
        del cell["id"]
    (tmp_path / "old.ipynb").write_text(nbformat.writes(old))

    once, again = (ipynb.read(tmp_path / "old.ipynb") for _ in range(2))

    ids = [cell.id for cell in once.cells]
    assert len(set(ids)) == 3
    assert ids == [cell.id for cell in again.cells]
