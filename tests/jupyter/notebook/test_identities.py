"""Cells that have another id than the one under which they ran: their marks, names and plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.notebook.identities import Identities
from nbckpt.jupyter.notebook.rerun_forecast import rerun_plan
from nbckpt.jupyter.notebook.resume_forecast import resume_plan
from nbckpt.jupyter.notebook.runs import Run
from nbckpt.model import Cell
from tests.jupyter.notebook.cells import CELLS, Notebook, new_session, notebook_that_ran


def renamed(sources: Mapping[str, str] = CELLS, to: str = "new-{}") -> dict[str, str]:
    """The same cells as a file without ids gives them to a page: each with a new one."""
    return {to.format(cell_id): source for cell_id, source in sources.items()}


# -- restored in this session


def test_a_copy_that_is_restored_has_the_mark_and_not_its_original(shell: Any) -> None:
    made = notebook_that_ran(shell).session.get("load")

    notebook = new_session(shell)
    notebook.run("setup", copy=CELLS["load"])

    [(cell_id, mark)] = notebook.marks().items()
    assert (cell_id, mark["state"], mark["checkpoint"]) == ("copy", "restored", made.id)


def test_a_copy_in_another_notebook_of_the_store_has_the_mark(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook_that_ran(shell)
    monkeypatch.setenv("JPY_SESSION_NAME", "other.ipynb")

    notebook = new_session(shell, {})
    notebook.run(k="k = 3", theirs=CELLS["load"])
    notebook.tell()

    assert notebook.session.notebook == "other"
    assert notebook.states() == {"theirs": "restored"}


def test_a_copy_and_its_original_have_each_their_own_mark(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell)
    notebook.session.resume()
    notebook.tell()

    notebook.run(copy=CELLS["load"])
    notebook.tell()
    both = notebook.marks()
    notebook.run(copy="%%checkpoint load\ndf = [7]")

    assert both["copy"]["state"] == both["load"]["state"] == "restored"
    assert both["copy"]["took_s"] != both["load"]["took_s"] == both["train"]["took_s"]
    assert notebook.states()["copy"] == "checkpointed"
    assert notebook.states()["load"] == "restored"
    assert notebook.marks()["load"]["checkpoint"] == both["load"]["checkpoint"]


def test_another_sessions_cell_did_nothing_here_where_a_copy_was_restored(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell)
    notebook.session.rewind("load")

    notebook.run(copy=CELLS["embed"])

    assert notebook.states() == dict.fromkeys(("setup", "load", "copy"), "restored")


def test_a_restored_copy_with_another_comment_is_not_taken_for_edited(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell)
    commented = f"{CELLS['load']}  # as before"

    notebook.run("setup", copy=commented)

    mark = notebook.marks()["copy"]
    assert (mark["state"], mark["source_crc"]) == ("restored", Cell(commented).source_crc)


def test_a_restored_copy_becomes_stale_and_makes_stale_as_any_cell(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell)
    notebook.move("load", to="copy")
    notebook.run_all()
    notebook.tell()
    restored = notebook.states()

    notebook.run(setup="k = 4")
    upstream = notebook.states()["copy"]
    notebook.run(setup="k = 3", copy="%%checkpoint load\ndf = [5] * k")

    assert restored == dict.fromkeys(("copy", "embed", "train"), "restored")
    assert upstream == "stale: k changed"
    assert notebook.states()["copy"] == "checkpointed"
    assert notebook.states()["embed"] == "stale: df changed"


def test_the_marks_cell_with_a_block_may_be_a_copy(shell: Any) -> None:
    block = "import nbckpt\nwith nbckpt.checkpoint('b'):\n    s = [k]"
    Notebook(shell).run(k="k = 3", block=block)

    notebook = new_session(shell, {})
    notebook.run(k="k = 3", copy=block)

    assert notebook.states() == {"copy": "restored"}


# -- known by its text


def test_a_cell_that_was_cut_and_pasted_keeps_its_mark(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.tell()
    before = notebook.marks()["load"]

    notebook.move("load", to="pasted")
    notebook.tell()
    moved = notebook.marks()["pasted"]
    notebook.run(pasted="%%checkpoint load\ndf = [5] * k")

    assert moved == before
    assert notebook.states()["pasted"] == "checkpointed"
    assert notebook.states()["embed"] == "stale: df changed"


def test_after_a_restart_cells_with_new_ids_are_known_by_their_texts(shell: Any) -> None:
    notebook_that_ran(shell)

    notebook = new_session(shell, renamed())
    notebook.tell()
    before = notebook.states()
    notebook.session.resume()
    marks = notebook.marks()
    notebook.run(**{"new-load": "%%checkpoint load\ndf = [5] * k"})

    assert before == {}
    assert {i: marks[i]["state"] for i in notebook.sources} == dict.fromkeys(renamed(), "restored")
    assert {marks[f"new-{i}"]["name"] for i in ("setup", "load")} == {"load"}
    assert notebook.states()["new-load"] == "checkpointed"
    assert notebook.states()["new-embed"] == "stale: df changed"


def test_a_page_that_is_loaded_again_knows_cells_without_ids(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")
    notebook.tell(page="first")
    before = notebook.states()

    notebook.sources = renamed(notebook.sources)
    notebook.tell(page="second")
    again = notebook.states()
    notebook.sources = renamed(notebook.sources, to="3{}")
    notebook.tell(page="third")
    third = notebook.states()

    assert {i: again[f"new-{i}"] for i in before} == before
    assert {i: third[f"3new-{i}"] for i in before} == before


def test_a_cell_that_was_edited_or_has_a_twin_is_not_known_by_its_text(shell: Any) -> None:
    notebook_that_ran(shell)

    notebook = new_session(shell, {**renamed(), "twin": CELLS["load"], "other": "x = 1"})
    notebook.sources["new-embed"] += "  # edited"
    notebook.session.resume()
    notebook.tell()

    own = {i for i in notebook.states() if i in notebook.sources}
    assert own == {"new-setup", "new-train"}


def test_a_cell_that_is_known_stays_so_when_it_is_edited(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell, renamed())
    notebook.session.resume()
    notebook.tell()
    before = notebook.marks()["new-load"]

    notebook.sources["new-load"] += "  # edited"
    notebook.sources["new"] = ""
    notebook.tell()

    assert notebook.marks()["new-load"] == before
    assert before["source_crc"] == Cell(CELLS["load"]).source_crc


def test_a_copy_whose_original_stands_has_not_run(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.tell()

    notebook.sources["copy"] = CELLS["load"]
    notebook.tell()

    assert "copy" not in notebook.marks()


def test_a_cell_that_comes_back_beside_its_successor_is_another_one(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.move("load", to="pasted")
    notebook.tell()
    gone = notebook.states()

    notebook.sources["load"] = CELLS["load"]
    notebook.tell()

    assert gone["pasted"] == "checkpointed"
    assert "pasted" not in notebook.states()
    assert notebook.states()["load"] == "checkpointed"


def test_a_cell_of_another_notebook_on_the_same_kernel_is_another_one(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.tell(page="one", notebook="a.ipynb")

    notebook.sources = renamed()
    notebook.tell(page="two", notebook="b.ipynb")
    beside = set(notebook.states())
    notebook._marks.forget("one")
    alone = set(notebook.states())

    assert beside == alone == set(CELLS)


def test_what_runs_again_from_its_record_is_told_at_the_pasted_cell(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.move("embed", to="pasted")
    notebook.tell()
    notebook.run("pasted")
    restored = notebook.marks()["pasted"]

    shell.run_cell("%rerun load --all")

    assert restored["state"] == "restored"
    assert notebook.states()["pasted"] == "checkpointed"
    assert notebook.marks()["pasted"]["checkpoint"] != restored["checkpoint"]


def test_a_pasted_cell_that_runs_well_has_failed_no_more(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    shell.run_cell("%nbckpt auto cost")
    notebook.run(bad="1 / 0")
    notebook.move("bad", to="pasted")
    notebook.tell()
    failed = notebook.states()["pasted"]

    notebook.run(pasted="1 / 1")

    assert failed == "failed: ZeroDivisionError: division by zero"
    assert "pasted" not in notebook.states()


def test_a_pasted_cell_that_is_restored_has_failed_no_more(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(train="%%checkpoint train\nt = m / 0")
    notebook.move("train", to="pasted")
    notebook.tell()
    failed = notebook.states()["pasted"]

    notebook.run(pasted=CELLS["train"])

    assert failed == "failed: ZeroDivisionError: division by zero"
    assert notebook.states()["pasted"] == "restored"


def test_two_cells_that_were_restored_from_one_that_is_gone_are_two(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.move("load", to="one")
    notebook.sources["two"] = CELLS["load"]
    notebook.tell("setup", "one", page="first")
    notebook.run("one")
    notebook.tell("setup", "two", page="second")
    notebook.run("two")
    identities = Identities()

    identities.take("page", ["one", "two"])
    identities.learn(notebook._marks._happened.runs(), {}, {})

    assert notebook.states()["one"] == notebook.states()["two"] == "restored"
    assert identities.others == {}


def test_an_empty_cell_is_known_by_nothing() -> None:
    identities = Identities()
    identities.take("page", ["empty"], [Cell("").source_crc])

    identities.learn([Run(Cell("", 1, "old"), None, is_own=False)], {}, {})

    assert identities.others == {}


# -- names


def test_a_pasted_cell_takes_over_the_name_of_the_one_that_is_gone(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = notebook_that_ran(shell)
    notebook.sources["pasted"] = CELLS["load"]
    notebook.tell()
    notebook.run("pasted")
    refused = capsys.readouterr().out

    del notebook.sources["load"]
    notebook.tell()
    notebook.run("pasted")

    assert "'load' is the name of another cell" in refused
    assert "is the name" not in capsys.readouterr().out
    assert notebook.states()["pasted"] == "restored"


def test_the_name_of_a_cell_in_another_notebook_is_not_taken_over(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = notebook_that_ran(shell)
    notebook.tell(page="one", notebook="a.ipynb")
    notebook.sources = {"theirs": CELLS["load"]}
    notebook.tell(page="two", notebook="b.ipynb")

    notebook.run("theirs")

    assert "'load' is the name of another cell" in capsys.readouterr().out


# -- plans


def rerun(notebook: Notebook, ref: str) -> dict[str, str]:
    notebook.session.wait()
    notebook.session.refresh()
    plan = rerun_plan(notebook.session, notebook.session.get(ref), notebook.document)
    return {cell["cell_id"]: cell["does"] for cell in plan["cells"]}


def test_a_rerun_begins_below_the_cell_that_was_pasted(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.move("load", to="pasted")

    by_text = rerun(notebook, "load")
    notebook.sources["twin"] = notebook.sources["pasted"]
    with pytest.raises(UsageError, match="the cell of 'load' is not in this notebook any more"):
        rerun(notebook, "load")

    assert by_text == {"embed": "restored", "train": "restored"}


def test_a_rerun_begins_below_the_cell_that_was_restored_and_edited_since(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell)
    notebook.move("load", to="copy")
    notebook.run_all()

    notebook.sources["copy"] += "  # edited"
    notebook.move("embed", to="moved")

    assert rerun(notebook, "load") == {"moved": "restored", "train": "restored"}
    assert rerun(notebook, "train") == {}


def test_a_copy_that_was_restored_will_be_again(shell: Any) -> None:
    notebook_that_ran(shell)
    notebook = new_session(shell)
    notebook.run("setup", "load", copy=CELLS["embed"])

    assert rerun(notebook, "load")["copy"] == "restored"


def test_a_resume_knows_the_cell_that_was_pasted(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.move("load", to="pasted")

    plan = resume_plan(notebook.session, None, notebook.document, now=0.0)

    assert [cell["why"] for cell in plan["cells"][:2]] == ["kept as 'load'"] * 2


# -- pages


def test_pages_that_are_long_gone_are_forgotten() -> None:
    identities = Identities()
    for number in range(40):
        identities.take(f"page-{number}", [f"cell-{number}"])

    assert len(identities.orders()) == 16
    assert identities.orders()[0] == {"cell-39": 0}


def test_texts_that_do_not_fit_the_cells_are_not_believed() -> None:
    source = "x = 1"
    identities = Identities()
    ran = [Run(Cell(source, 1, "old"), None, is_own=False)]

    identities.take("page", ["one", "two"], [Cell(source).source_crc])
    identities.learn(ran, {}, {})
    before = identities.others
    identities.take("page", ["one", "two"], [Cell(source).source_crc, None])
    identities.learn(ran, {}, {})

    assert before == {}
    assert identities.others == {"one": "old"}
