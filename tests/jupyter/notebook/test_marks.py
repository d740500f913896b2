"""What stands beside the cells of a notebook, for the place where the session stands."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from tests.jupyter.notebook.cells import CELLS, Notebook, new_session, notebook_that_ran


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


@pytest.mark.slow
def test_running_all_again_leaves_no_cell_without_a_mark_on_the_way(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run("load")

    states = notebook.states()
    assert states["load"] == "restored"
    assert states["embed"] == states["train"] == "checkpointed"


@pytest.mark.slow
def test_marks_hold_after_a_prune(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run("train", load="%%checkpoint load\ndf = [5] * k")
    before = notebook.states()

    shell.run_cell("%nbckpt prune --keep-last 1")

    assert before["embed"] == "stale: df changed"
    assert notebook.states()["load"] == "checkpointed"


@pytest.mark.slow
def test_after_a_rewind_the_marks_are_those_of_the_moment(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(setup="k = 4")

    notebook.session.rewind("embed")

    assert notebook.states() == dict.fromkeys(("setup", "load", "embed"), "checkpointed")


def test_after_a_restart_there_are_no_marks_until_something_is_brought_back(shell: Any) -> None:
    notebook_that_ran(shell)

    notebook = new_session(shell)
    before = notebook.states()
    notebook.session.resume()

    assert before == {}
    assert notebook.states() == dict.fromkeys(CELLS, "restored")
    assert all(m["took_s"] is None for m in notebook.marks().values()), "the time is the move's"


@pytest.mark.slow
def test_cells_that_run_all_restores_one_by_one_are_restored(shell: Any) -> None:
    notebook_that_ran(shell)

    notebook = new_session(shell)
    notebook.run("setup", "load", "embed")

    assert notebook.states() == dict.fromkeys(("load", "embed"), "restored")


@pytest.mark.slow
def test_a_cell_that_failed_says_why_until_it_runs_well(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(bad="%%checkpoint bad\n1 / 0")
    failed = notebook.states()["bad"]
    notebook.run(bad="%%checkpoint bad\n1 / 1")

    assert failed == "failed: ZeroDivisionError: division by zero"
    assert notebook.states()["bad"] == "checkpointed"


def test_a_cell_that_failed_is_restored_when_its_old_text_runs_again(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(train="%%checkpoint train\nt = m / 0")
    failed = notebook.states()["train"]

    notebook.run(train=CELLS["train"])

    assert failed == "failed: ZeroDivisionError: division by zero"
    assert notebook.states()["train"] == "restored"


def test_a_cell_stays_failed_when_one_above_it_is_restored(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")

    notebook.run("load")

    assert notebook.states()["load"] == "restored"
    assert notebook.states()["bad"] == "failed: ZeroDivisionError: division by zero"


def test_the_very_first_cell_may_fail(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")

    assert notebook.states() == {"bad": "failed: ZeroDivisionError: division by zero"}
    assert new_session(shell).states() == {}


BLOCK = "import nbckpt\nwith nbckpt.checkpoint('b') as step:\n    x = 1 / {}"


def test_a_cell_that_its_block_ended_has_failed_until_it_runs_well(shell: Any) -> None:
    notebook = notebook_that_ran(shell)

    notebook.run(block=BLOCK.format(0))
    failed = notebook.states()
    notebook.run(block=BLOCK.format(1))

    assert failed["block"] == "failed: ZeroDivisionError: division by zero"
    assert "failed" not in notebook.states().get("block", "")


def test_a_cell_that_catches_the_error_of_its_block_has_not_failed(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    block = BLOCK.format(0).replace("\n", "\n    ").replace("import nbckpt\n", "try:\n")

    notebook.run(first="import nbckpt", block=f"{block}\nexcept ZeroDivisionError: pass")
    notebook.run(other="1 / 0")

    assert len(shell._nbckpt_extension.session.timeline.named("b")) == 1
    assert {"block", "other"}.isdisjoint(notebook.states())


def test_a_mended_cell_that_is_only_joined_has_failed_no_more(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    shell.run_cell("%nbckpt auto cost")

    notebook.run(bad="1 / 0")
    failed = notebook.states()["bad"]
    notebook.run(bad="1 / 1")

    assert failed == "failed: ZeroDivisionError: division by zero"
    assert "bad" not in notebook.states()


def test_after_a_rerun_the_marks_are_those_of_its_line(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.session.fork("load", "small", {"df": [7]})

    shell.run_cell("%rerun")

    states = notebook.states()
    assert states["embed"] == states["train"] == "checkpointed"
    assert shell.user_ns["t"] == 10


def test_a_move_that_nothing_tells_of_is_seen(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = notebook_that_ran(shell)
    monkeypatch.setattr("nbckpt.jupyter.notebook.namespace_history.LATE_S", 0.0)
    before = notebook.states()

    notebook.session.restore_position(notebook.session.get("load"))
    notebook.marks()
    notebook._marks.arrange([])

    assert "train" in before
    assert set(notebook.states()) == {"setup", "load"}


def test_a_failure_that_was_not_there_yet_is_not_told_after_a_rewind(shell: Any) -> None:
    notebook = notebook_that_ran(shell)
    notebook.run(bad="%%checkpoint bad\n1 / 0")

    notebook.session.rewind("embed")

    assert "bad" not in notebook.marks()


def test_a_cell_with_a_block_has_the_mark_of_the_block(shell: Any) -> None:
    loop = "import nbckpt\nwith nbckpt.checkpoint('loop'):\n    s = [k]\nprint(s)"
    notebook = Notebook(shell, {"setup": "k = 3", "loop": loop, "end": "%%checkpoint end\ne = 1"})
    notebook.run("setup", "loop")
    at_once = notebook.marks()["loop"]
    notebook.run("end")
    made = notebook.marks()["loop"]

    notebook.run("setup", "loop")

    assert (at_once["state"], at_once["name"]) == ("checkpointed", "loop")
    assert (made["state"], made["name"]) == ("checkpointed", "loop")
    assert made["source_crc"] == zlib.crc32(loop.encode())
    assert notebook.states()["loop"] == "restored"
    notebook.run(setup="k = 4")
    assert notebook.states()["loop"] == "stale: k changed"
