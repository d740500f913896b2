"""An interrupt at any instant of a rerun leaves all as it was before it, or as after one of its cells.

A cell that runs may have run and not be kept, as any cell that is interrupted.
"""

from __future__ import annotations

import ast
import random
import shutil
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nbckpt.model import Cell
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.rerun.plain_python import Plainly
from nbckpt.steps.rerun.rerun import Rerun, rerun
from nbckpt.steps.step import Step
from nbckpt.storage.store import Store
from tests.runtime.interrupts.instants import Instants
from tests.runtime.interrupts.test_verbs import report
from tests.runtime.interrupts.worlds import Picture, disagreements, picture, problems

QUICK, MANY = 2, 400
CELLS = {
    "start": "k = 2\nrows = [1]",
    "load": "data = [3, 1, 2]\nalso = data",
    "grow": "rows.append(k)",
    "scale": "scaled = [k * x for x in data]",
    "sort": "ordered = sorted(data)",
}
BY_HAND = "grow"
"""After it something changes that no code was recorded of, and that is kept by hand."""


class Kind(NamedTuple):
    """A rerun, and what was changed before it."""

    k: int | None = None
    everything: bool = False


KINDS = {
    "nothing changed": Kind(),
    "a change": Kind(k=5),
    "everything": Kind(everything=True),
}


class Watched(Plainly):
    """Runs cells, and notes what there is whenever something was done.

    Attributes
    ----------
    stages
        In turn, each with whether a cell runs from there on.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.stages: list[tuple[Picture, bool]] = []
        session.listeners.append(self._hear)

    def _hear(self, event: str) -> None:
        if event != "written":  # at any time, and it changes nothing that a picture shows
            self.note(runs=False)

    def note(self, *, runs: bool) -> None:
        """Take down what there is."""
        self.stages.append((seen(self._session), runs))

    def tell(self, text: str) -> None:
        """A cell begins to run, or was restored."""
        self.note(runs=" runs: " in text)


def world(folder: Path, kind: Kind) -> Session:
    """Recorded cells, and something that is not kept."""
    random.seed(1)  # whatever drew in this process before
    session = Session(Store.open(folder), {"__name__": "__main__"}, notebook="test")
    current_session.begin(session)
    for n, (name, source) in enumerate(CELLS.items(), 1):
        step = Step.begin(session, Request(name), Cell(source, n), ast.parse(source))
        exec(source, session.namespace)
        step.finish()
        if name == BY_HAND:
            session.namespace["given"] = [n]
            session.checkpoint("by-hand")
    session.namespace["unsaved"] = True
    if kind.k is not None:
        session.fork("start", values={"k": kind.k})
    return session


def seen(session: Session) -> Picture:
    """What there is; checkpoints of cells that failed are beside every line."""
    now = picture(session)
    done = [c for c in session.timeline.checkpoints.values() if c.state == "done" and not c.tags]
    return now._replace(kept=len(done))


def run(session: Session, kind: Kind) -> Rerun:
    """The rerun."""
    where = None if kind.k is not None else "start"
    return rerun(session, where, everything=kind.everything, shell=Plainly(session))


def places_of(folder: Path, kind: Kind) -> list[int]:
    """Instants of a rerun, each at another place."""
    session, instants = world(folder, kind), Instants()
    instants.run(lambda: run(session, kind))
    ended(session)
    return sorted(instants.places.values())


def allowed_of(folder: Path, kind: Kind) -> list[Picture]:
    """What may be there after an interrupt."""
    session = world(folder, kind)
    found, watched = [seen(session)], Watched(session)
    if kind.k is None:
        for name in ("by-hand", "start"):  # of which a rerun tells nothing
            session.restore_position(session.get(name))
            found.append(seen(session))
    where = None if kind.k is not None else "start"
    rerun(session, where, everything=kind.everything, shell=watched)
    watched.note(runs=False)
    ended(session)
    stages = watched.stages
    for (before, runs), (after, _) in pairwise(stages):
        if runs:  # it ran, and was not kept
            found.append(before._replace(values=after.values, drawn=after.drawn))
    return found + [stage for stage, _ in stages]


def ended(session: Session) -> None:
    current_session.end()
    session.store.close()
    shutil.rmtree(session.store.path)


def interrupted(
    folder: Path, kind: Kind, at: int, again: int | None, allowed: list[Picture]
) -> tuple[list[str], str]:
    """What is wrong after an interrupt at an instant of a rerun; and where that was."""
    session, instants = world(folder, kind), Instants(at, again)
    done: Any = None
    with suppress(KeyboardInterrupt):
        done = instants.run(lambda: run(session, kind))
    wrong = problems(session)
    if instants.hit is not None and done is not None and "was interrupted" not in str(done.error):
        wrong.append("the interrupt was lost")
    now = seen(session)
    if now not in allowed:
        wrong.append(f"between: {now}")
    steps = session.state(StepState)
    if (steps.watch, steps.reruns, steps.pays_again) != (None, False, False):
        wrong.append("the rerun is still under way")
    if (second := rerun(session, "start", shell=Plainly(session))).error:
        wrong.append(f"the next one failed: {second.error}")
    wrong += disagreements(session)
    if not report_is_empty(session):
        wrong.append("the store is not whole")
    current_session.end()
    return wrong, instants.told()


def report_is_empty(session: Session) -> bool:
    """Whether a check finds nothing, once the session has ended."""
    session.store.close()
    found = report(session.store.path)
    shutil.rmtree(session.store.path)
    return not found


def wrong_in(folder: Path, name: str, count: int) -> list[tuple[str, list[str]]]:
    """What is wrong after interrupts of a rerun, each at another place.

    Every second one is followed by another, soon.
    """
    kind = KINDS[name]
    places, allowed = places_of(folder / "counted", kind), allowed_of(folder / "allowed", kind)
    chosen = random.Random(name).sample(places, count)
    agains = [None, 1, None, 5, None, 50]
    found = [
        interrupted(folder / str(at), kind, at, agains[n % len(agains)], allowed)
        for n, at in enumerate(chosen)
    ]
    return [(where, wrong) for wrong, where in found if wrong]


def test_an_interrupt_while_it_is_found_out_what_a_body_did_leaves_its_step(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.namespace["rows"] = [1]
    session.checkpoint("one")
    source = "rows.append(2)"
    step = Step.begin(session, Request("grow"), Cell(source, 1), ast.parse(source))
    exec(source, session.namespace)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nbckpt.capture.observation.observer.Observer.close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            step.finish()

    assert problems(session) == []
    assert disagreements(session) == []  # the next checkpoint has what the body changed


@pytest.mark.slow
def test_what_can_be_restored_is_restored_where_instants_are_counted(tmp_path: Path) -> None:
    kind = KINDS["a change"]
    plain, counted = world(tmp_path / "plain", kind), world(tmp_path / "counted", kind)
    states = [cell.state for cell in run(plain, kind).cells]

    assert [c.state for c in Instants().run(lambda: run(counted, kind)).cells] == states
    assert "restored" in states
    ended(plain)
    ended(counted)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_an_interrupt_leaves_all_as_before_or_as_after_a_cell(tmp_path: Path, name: str) -> None:
    assert wrong_in(tmp_path, name, QUICK) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", KINDS)
def test_interrupts_at_many_places_leave_all_as_before_or_as_after_a_cell(
    tmp_path: Path, name: str
) -> None:
    assert wrong_in(tmp_path, name, MANY) == []
