"""Marks beside the cells of a notebook: checkpointed, restored, stale or failed.

They hold for the place in the history where the session stands. A cell of which nothing certain is
known has no mark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from nbckpt.jupyter.notebook.identities import Identities
from nbckpt.jupyter.notebook.namespace_history import Happened
from nbckpt.jupyter.notebook.present_values import Present
from nbckpt.jupyter.notebook.runs import Run, blocks_of, last_of_cells
from nbckpt.jupyter.notebook.staleness import Staleness, stale_after_given
from nbckpt.model import Checkpoint
from nbckpt.text.units import count_text
from nbckpt.timeline.following import following

if TYPE_CHECKING:
    from nbckpt.session.session import Session

Mark: TypeAlias = dict[str, Any]


class Marks:
    """The marks of one session's cells.

    Parameters
    ----------
    moment
        See `Present`.

    Attributes
    ----------
    identities
        What is known of the notebook's pages.
    """

    def __init__(self, session: Session, moment: Callable[[], object]) -> None:
        self.identities = Identities()
        self._session = session
        self._moment = moment
        self._present = Present(session, moment)
        self._happened = Happened(session)
        self._state: object = None
        self._marks: dict[str, Mark] = {}

    def arrange(
        self,
        cells: Sequence[str],
        texts: Sequence[int | None] = (),
        *,
        page: str = "",
        notebook: str = "",
    ) -> None:
        """Take note of the notebook's cells, as a page tells them: see `Identities.take`."""
        self.identities.take(page, cells, texts, notebook)
        self._state = None

    def forget(self, page: str) -> None:
        """Take note that a page is closed."""
        self.identities.forget(page)
        self._state = None

    def now(self) -> dict[str, Mark]:
        """Id of each cell → its mark.

        While a cell runs nothing is found to be stale, and what was found before stays.
        """
        self._happened.take()
        session, moment = self._session, self._moment()
        state = (session.timeline.revision, session.position.id, self._happened.taken, moment)
        if state != self._state:
            before, self._state, self._marks = self._marks, state, self._made()
            if moment is None:
                self._marks.update(_still_stale(before, self._marks))
        return self._marks

    def _made(self) -> dict[str, Mark]:
        session, timeline = self._session, self._session.timeline
        with timeline.lock:
            here = timeline.checkpoints.get(session.position.id or "")
            line = set() if here is None else set(timeline.line(here.id))
            shown = (timeline.checkpoints[i] for i in timeline.log(None))
            undone = [c for c in shown if c.state != "done" and c.branch == session.position.branch]
        undone = [self._in_its_cell(c) for c in undone if not self._has_run_well_since(c)]
        if here is None:  # in a new process: of another one's failures nothing is there
            own = [c for c in undone if c.session == session.id]
            return self._known([], {}, [c for c in own if c.parent is None])
        left = self._left_by(here) if here.made_by else {}
        there = [c for c in undone if _is_there(c, line) or self._happened.has_failed(c)]
        return self._known(self._happened.runs(), left, there)

    def _known(
        self, runs: Sequence[Run], left: Mapping[str, Mark], undone: Sequence[Checkpoint]
    ) -> dict[str, Mark]:
        """The marks, each cell known by the id under which it ran first; and by its own."""
        ended = self._happened.ended_well() if undone else {}
        failed = _failed(undone, ended)
        who = self.identities
        who.learn(runs, _texts(left), _texts(failed))
        well: dict[str, float] = {}
        for cell_id, at in ended.items():
            well[who.of(cell_id)] = max(at, well.get(who.of(cell_id), at))
        marks = {who.of(i): mark for i, mark in left.items()}
        marks |= self._of_runs([run.known_as(who.of(run.cell_id)) for run in runs])
        for cell_id, each in failed.items():
            if well.get(who.of(cell_id), 0.0) <= each["created_at"]:
                marks[who.of(cell_id)] = each
        own = {i: marks[other] for i, other in who.others.items() if other in marks}
        return {**marks, **own}

    def _of_runs(self, runs: list[Run]) -> dict[str, Mark]:
        blocks = blocks_of(runs)
        for place, block in blocks.items():  # the block is what of its cell is kept
            runs[block] = runs[block].within(runs[place].cell)
        staleness = Staleness(runs, self._present, self.identities.orders())
        marks: dict[str, Mark] = {}
        for cell_id, last in last_of_cells(runs).items():
            place = blocks.get(last, last)
            run = runs[place]
            if run.checkpoint is not None and not run.checkpoint.made_by:
                marks[cell_id] = self._of(run, run.checkpoint, staleness.why(place))
        return marks

    def _in_its_cell(self, checkpoint: Checkpoint) -> Checkpoint:
        """A failed checkpoint; that of a block that ended its cell gets the cell as its own."""
        cell = self._session.pending_cells.cells_of_failed.get(checkpoint.id, checkpoint.cell)
        return replace(checkpoint, cell=cell)

    def _has_run_well_since(self, checkpoint: Checkpoint) -> bool:
        """True if the cell did so, and is not kept yet."""
        failed, who = self._in_its_cell(checkpoint).cell, self.identities
        if not failed.cell_id or checkpoint.session != self._session.id:
            return False
        since, own = failed.execution_count or 0, who.of(failed.cell_id)
        ran = (
            cell for cell in self._session.pending_cells.cells if who.of(cell.cell_id or "") == own
        )
        return any((cell.execution_count or 0) > since for cell in ran)

    def _of(self, run: Run, checkpoint: Checkpoint, why: str | None) -> Mark:
        crc = run.source_crc
        if why is not None:
            return mark("stale", checkpoint, crc, checkpoint.duration_s, why=why)
        if run.restored is not None:
            return mark("restored", checkpoint, crc, run.restored.took_s)
        if checkpoint.session != self._session.id:
            return mark("restored", checkpoint, crc, None)  # the move's time is no cell's
        took_s = checkpoint.duration_s if run.is_own else None
        return mark("checkpointed", checkpoint, crc, took_s)

    def _left_by(self, here: Checkpoint) -> dict[str, Mark]:
        """Cells of the line that was left when values were given by hand."""
        session = self._session
        line = following(
            session.timeline,
            here.id,
            branch=session.position.branch,
            origin=session.position.origin,
        )
        whys = stale_after_given(here, line, self._present)
        steps = {step.cell.cell_id: step for step in line}
        return {
            i: mark("stale", steps[i], steps[i].cell.source_crc, steps[i].duration_s, why=why)
            for i, why in whys.items()
        }


def mark(
    state: str,
    checkpoint: Checkpoint,
    source_crc: int,
    took_s: float | None,
    *,
    why: str = "",
    error: str = "",
) -> Mark:
    """Mark of one cell; `took_s` is None where only its checkpoint's time is known."""
    return {
        "state": state,
        "checkpoint": checkpoint.id,
        "name": checkpoint.name,
        "created_at": checkpoint.created_at,
        "took_s": took_s,
        "source_crc": source_crc,
        "why": why,
        "error": error,
    }


def _still_stale(before: Mapping[str, Mark], now: Mapping[str, Mark]) -> dict[str, Mark]:
    """Marks of cells that were stale and have not run since."""
    stale = {i: mark for i, mark in before.items() if mark["state"] == "stale"}
    return {i: m for i, m in stale.items() if i in now and now[i]["checkpoint"] == m["checkpoint"]}


def running(known: Mark | None, name: str, began_at: float) -> Mark:
    """The mark of a cell that runs."""
    blank = {"checkpoint": None, "name": name, "source_crc": None}
    now = {"state": "running", "created_at": began_at, "took_s": None, "why": "", "error": ""}
    return {**blank, **(known or {}), **now}


def _texts(marks: Mapping[str, Mark]) -> dict[str, int]:
    return {cell_id: mark["source_crc"] for cell_id, mark in marks.items()}


def _is_there(checkpoint: Checkpoint, line: set[str]) -> bool:
    """True if a cell ran at a place of this line."""
    return checkpoint.parent is None or checkpoint.parent in line


def _failed(undone: Sequence[Checkpoint], ended_well: Mapping[str, float]) -> dict[str, Mark]:
    """Cells that did not end well, and have not since."""
    found: dict[str, Mark] = {}
    for checkpoint in sorted(undone, key=lambda c: c.created_at):
        cell_id = checkpoint.cell.cell_id
        if not cell_id or ended_well.get(cell_id, 0.0) > checkpoint.created_at:
            continue
        error = checkpoint.error or stopped_text(checkpoint)
        crc = checkpoint.cell.source_crc
        found[cell_id] = mark("failed", checkpoint, crc, checkpoint.duration_s, error=error)
    return found


def stopped_text(checkpoint: Checkpoint) -> str:
    """Progress of the unfinished loop of a checkpoint, as text."""
    _, done, total = checkpoint.progress or (0, 0, -1)
    return (
        f"stopped at {done:,} of {total:,}"
        if total >= 0
        else f"stopped after {count_text(done, 'item')}"
    )
