"""An interrupt at any instant around a cell: the next cell works, and nobody misses the interrupt."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from nbckpt.jupyter.turns import Turns
from nbckpt.steps import current_session
from tests.runtime.interrupts.instants import Instants, streams_apart
from tests.runtime.interrupts.worlds import disagreements, problems

pytestmark = pytest.mark.sampled(7)

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
    "rerun": "%rerun begun --all",
    "rerun inside": "n = 1\n%rerun begun",
    "recording": "with nbckpt.recording('off'):\n    n = grow(2)",
    "prune": "%nbckpt prune --keep-last 2",
    "tag": "%nbckpt tag begun best",
}
QUICK, MANY = 2, 100
SOON_S = 0.03


def begin(shell: Any) -> None:
    """The state in which each cell begins."""
    shell.run_cell("%reset -f")
    for source in SETUP:
        assert shell.run_cell(source).success
    assert shell.run_cell("%checkpoint begun").success
    assert shell.run_cell("%%checkpoint later\nlater = [len(rows)]").success
    shell.run_cell("rows.append('unsaved')")


def error_of(result: Any) -> object:
    """What ended a cell."""
    return result.error_before_exec or result.error_in_exec


def interrupted(shell: Any, source: str, at: int | None) -> tuple[list[str], Instants]:
    """What is wrong after an interrupt at an instant of a cell; and where that was."""
    begin(shell)
    instants, came_late = Instants(at), False
    result = None
    try:
        with streams_apart():
            result = instants.run(lambda: shell.run_cell(source))
            time.sleep(SOON_S if at is not None else 0)
    except KeyboardInterrupt:
        came_late = True
    session = current_session.session()
    wrong = problems(session)
    # A rerun tells in its table what ended it, and is no error itself.
    was_told = result is not None and (not result.success or "%rerun" in source)
    # Cells that run in a rerun make `rows` anew.
    check = "after = 1" if "%rerun" in source else "after = len(rows)"
    checked = shell.run_cell(check)
    if not was_told and isinstance(error_of(checked), KeyboardInterrupt):
        came_late, checked = True, shell.run_cell(check)  # it came as the cell had ended
    if instants.hit is not None and not (came_late or was_told):
        wrong.append("the interrupt was lost")
    if not checked.success:
        wrong.append("the next cell failed")
    if not shell.run_cell("%%checkpoint next\nz = [after]").success:
        wrong.append("the next checkpoint failed")
    return wrong + disagreements(session), instants


def chosen(shell: Any, kind: str, seed: int) -> Iterator[int]:
    """Instants of a cell: each place where there is one, in an order by chance."""
    _, instants = interrupted(shell, CELLS[kind], None)
    places = sorted(instants.places.values())
    yield from random.Random(seed).sample(places, len(places))


def wrong_in(shell: Any, kind: str, count: int, seed: int = 1) -> list[tuple[str, list[str]]]:
    """What is wrong after interrupts of a cell, each at another place."""
    found: list[Any] = []
    n_hit = 0
    for at in islice(chosen(shell, kind, seed), 4 * count):  # some lie where a cell comes once
        found.append(interrupted(shell, CELLS[kind], at))
        n_hit += found[-1][1].hit is not None
        if n_hit >= count:
            break
    assert n_hit >= QUICK, f"only {n_hit} interrupts came"
    return [(instants.told(), wrong) for wrong, instants in found if wrong]


@pytest.mark.slow
def test_the_next_cell_works_after_an_interrupt_of_one(shell: Any) -> None:
    assert wrong_in(shell, "runs", QUICK) == []


def test_cells_are_kept_after_one_of_whose_end_nobody_was_told(shell: Any) -> None:
    begin(shell)
    events = shell.events.callbacks["post_run_cell"]
    told, events[:] = events[:], []  # an interrupt came as IPython was about to
    shell.run_cell("%%checkpoint untold\nuntold = 1")
    events[:] = told

    assert shell.run_cell("%%checkpoint next\nnext = 2").success
    made = {c.name: c.state for c in current_session.session().timeline.checkpoints.values()}
    assert (made["untold"], made["next"]) == ("failed", "done")
    assert problems(current_session.session()) == []


@pytest.mark.slow
def test_an_interrupt_of_what_a_view_asked_for_leaves_the_kernel_as_it_was(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytest's own would be interrupted where it describes an interrupt that nobody could raise.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    turns = Turns(shell, lambda: True, lambda: None)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as between the messages of a kernel

    def do() -> None:
        turns.do("job", lambda: None)

    try:
        counted = Instants()
        counted.run(do)
        seen = []
        for at in range(counted.count):
            instants = Instants(at)
            instants.run(do)
            seen.append((instants.told(), turns.doing, signal.getsignal(signal.SIGINT)))
    finally:
        signal.signal(signal.SIGINT, before)

    assert len(seen) > 5
    assert [one for one in seen if one[1:] != (None, signal.SIG_IGN)] == []


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", CELLS)
def test_the_next_cell_works_after_interrupts_at_many_places(shell: Any, kind: str) -> None:
    assert wrong_in(shell, kind, MANY, seed=2) == []
