"""After a kill a resume brings back what was there, whichever cells ran and which were restored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kernels import Kernel

LOAD = "%load_ext nbckpt\n%nbckpt auto skip"
STATE = (
    "{n: repr(v) for n, v in sorted(globals().items()) if n[0] != '_' and n not in "
    "('In', 'Out', 'get_ipython', 'exit', 'quit', 'open', 'h') and type(v) is not type(__builtins__)}"
)
WITH_BLOCK = "x = 1\nwith nbckpt.checkpoint('block'):\n    y = 2\nz = {}"

SESSIONS = {
    "a restored cell below one that is given something else": (
        ["a = [1]", "a.append(2)", "h = iter([1]); q = 1", "a.append(3)"],
        ["a = [1]", "a.append(2)", "h = iter([2]); q = 2", "a.append(3)"],
    ),
    "the first cell again": (["x = 1", "y = 5", "x = 2", "x = 1"],),
    "all cells twice": (["a = [1]", "a.append(2)", "b = len(a)", "a.append(3)"] * 2,),
    "an edit that is taken back": (
        ["x = 1", "y = x + 1", "z = 5"],
        ["x = 2", "y = x + 1", "z = 5"],
        ["x = 1", "y = x + 1", "z = 5"],
        ["x = 2", "y = x + 1"],
    ),
    "an edit that is taken back in one kernel": (
        ["x = 1", "y = x + 1", "z = 5", "x = 2", "y = x + 1", "z = 5", "x = 1", "y = x + 1"],
    ),
    "a cell that acts outside": (
        ["x = 1", "f = open('t', 'w'); f.write('1'); f.close(); del f", "z = 5", "w = 6"],
    )
    * 2,
    "another order": (["x = 1", "y = 3", "z = 5"], ["z = 5", "x = 1"]),
    "a block": (
        ["import nbckpt", WITH_BLOCK.format(3), "w = 5"],
        ["import nbckpt", WITH_BLOCK.format(4), "w = 5"],
    ),
    "a cell that fails": (["x = 1", "y = 2"], ["x = 1", "x = 5; 1 / 0", "y = 2"]),
    "a name that is deleted": (
        ["x = 1", "y = 2", "del x", "z = 1"],
        ["x = 2", "y = 2", "del x", "z = 1"],
    ),
    "two names of one list": (
        ["a = [1]", "b = a", "q = 0", "b.append(1)"],
        ["a = [1]", "b = a", "q = 1", "b.append(1)"],
        ["a = [1]", "b = [1]", "q = 1", "b.append(1)"],
    ),
}


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("sessions", SESSIONS.values(), ids=SESSIONS)
def test_a_resume_after_a_kill_is_as_the_kernel_was(
    sessions: tuple[list[str], ...], tmp_path: Path
) -> None:
    for cells in sessions:
        with Kernel(tmp_path) as kernel:
            kernel.run(LOAD)
            for number, source in enumerate(cells):
                kernel.run(source, cell_id=f"c{number}")
            there = kernel.look(STATE)
            kernel.look("__import__('nbckpt').wait()")
            kernel.kill()

        with Kernel(tmp_path) as kernel:
            kernel.run(LOAD)
            kernel.run("%resume")
            assert kernel.look(STATE) == there


def log_of(kernel: Kernel) -> list[str]:
    """The names on the branch, newest first."""
    told = kernel.look("[c.name for c in __import__('nbckpt').history()]")
    names: list[str] = json.loads(told.replace("'", '"'))
    return names


def test_the_whole_line_below_an_edit_is_there_to_rewind_to(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run(LOAD)
        for number, source in enumerate(["x = 1", "y = 3", "z = 5", "w = z + y"]):
            kernel.run(source, cell_id=f"c{number}")
        kernel.kill()

    with Kernel(tmp_path) as kernel:
        kernel.run(LOAD)
        for number, source in enumerate(["x = 2", "y = 3", "z = 5", "w = z + y"]):
            kernel.run(source, cell_id=f"c{number}")
        assert log_of(kernel) == ["cell-c3", "cell-c2", "cell-c1", "cell-c0"]
        kernel.run("%rewind cell-c1")
        assert kernel.look(STATE) == "{'x': '2', 'y': '3'}"


@pytest.mark.slow
def test_an_unchanged_run_makes_no_checkpoint(tmp_path: Path) -> None:
    cells = ["x = 1", "y = [x]", "import math", "z = math.pi"]
    made = set()
    for _ in range(3):
        with Kernel(tmp_path) as kernel:
            kernel.run(LOAD)
            for _again in range(2):
                for number, source in enumerate(cells):
                    kernel.run(source, cell_id=f"c{number}")
            made.add(kernel.look("len(__import__('nbckpt').sql('select * from checkpoints'))"))

    assert made == {"4"}


@pytest.mark.slow
def test_much_that_plain_cells_made_is_not_looked_at_for_a_restore(tmp_path: Path) -> None:
    looked_at = "nbckpt.steps.current_session.session().workspace.tracker.is_untouched({'rows'})"
    for size, expected in ((1_000, "True"), (500_000, "False")):
        folder = tmp_path / str(size)
        folder.mkdir()
        for _ in range(2):
            with Kernel(folder) as kernel:
                kernel.run(
                    "%load_ext nbckpt\n%nbckpt auto off\nimport nbckpt.steps.current_session"
                )
                kernel.run(f"rows = [{{}}] * {size}")
                last = kernel.run("%%checkpoint one\nx = 1")
                found = kernel.look(looked_at)
                kernel.look("nbckpt.wait()")
        assert "restored" in "".join(last.notices)
        assert found == expected
