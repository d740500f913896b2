"""`%rerun` in real shells and kernels."""

from __future__ import annotations

from typing import Any

from nbckpt import current
from nbckpt.jupyter.rerunning import rerun_in
from nbckpt.reruns import Rerun
from tests.jupyter.test_cells import run

LOAD = "%%checkpoint load\ndata = [3, 1, 2]"
SCALE = "%%checkpoint scale\nscaled = [k * x for x in data]"
SORT = "%%checkpoint sort\nordered = sorted(data)"


def run_all(shell: Any, *cells: str) -> None:
    for cell in cells:
        run(shell, cell).raise_error()


def rerun(shell: Any, ref: str | None = None, **options: Any) -> Rerun:
    session = current.session()
    return rerun_in(shell, session.runner()._cells, session, ref, **options)


def states(done: Rerun) -> dict[str, str]:
    return {cell.name: cell.state for cell in done.cells}


def test_only_what_a_fork_can_have_reached_runs(shell: Any) -> None:
    run_all(shell, "%%checkpoint start\nk = 2", LOAD, SCALE, SORT)
    session = current.session()
    session.fork("load", values={"k": 5})

    done = rerun(shell)

    assert states(done) == {"scale": "run", "sort": "restored"}
    assert shell.user_ns["scaled"] == [15, 5, 10]
    assert done.branch == session.branch == "main-2"
    print(done.text())
