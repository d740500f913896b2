"""An interrupt at any instant around a cell: the next cell works, and nobody misses the interrupt."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from nbckpt import current
from tests.interrupts.instants import Instants
from tests.interrupts.worlds import disagreements, problems

SETUP = ["import nbckpt", "rows = [1]", "def grow(n):\n    rows.append(n)\n    return len(rows)"]

CELLS = {
    "runs": "%%checkpoint grown\nn = grow(2)",
    "plain": "n = grow(2)",
    "block": "with nbckpt.checkpoint('grown') as step:\n    n = grow(2)",
    "loop": (
        "with nbckpt.checkpoint('grown') as step:\n"
        "    for i in step.track([2, 3, 4]):\n        n = grow(i)"
    ),
    "rewind": "%rewind begun",
    "fork": "%fork begun new n=5",
    "prune": "%nbckpt prune --keep-last 2",
    "tag": "%nbckpt tag begun best",
}
QUICK = 3
SOON_S = 0.03


def begin(shell: Any) -> None:
    """The state in which each cell begins."""
    shell.run_cell("%reset -f")
    for source in SETUP:
        assert shell.run_cell(source).success
    assert shell.run_cell("%checkpoint begun").success
    shell.run_cell("rows.append('unsaved')")


def interrupted(shell: Any, source: str, at: int | None) -> tuple[list[str], Instants]:
    """What is wrong after an interrupt at an instant of a cell; and where that was."""
    begin(shell)
    instants, came_late = Instants(at), False
    result = None
    try:
        result = instants.run(lambda: shell.run_cell(source))
        time.sleep(SOON_S if at is not None else 0)
    except KeyboardInterrupt:
        came_late = True
    session = current.session()
    wrong = problems(session)
    was_told = result is not None and not result.success
    if instants.hit is not None and not (came_late or was_told):
        wrong.append("the interrupt was lost")
    if not shell.run_cell("after = len(rows)").success:
        wrong.append("the next cell failed")
    if not shell.run_cell("%%checkpoint next\nz = [after]").success:
        wrong.append("the next checkpoint failed")
    return wrong + disagreements(session), instants


@pytest.mark.parametrize("kind", CELLS)
def test_the_next_cell_works_after_an_interrupt_of_one(shell: Any, kind: str) -> None:
    interrupted(shell, CELLS[kind], None)
    _, instants = interrupted(shell, CELLS[kind], None)
    chosen = random.Random(kind).sample(sorted(instants.places.values()), QUICK)

    found = [interrupted(shell, CELLS[kind], at) for at in chosen]

    assert [(i.told(), wrong) for wrong, i in found if wrong] == []
