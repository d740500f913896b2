"""Fates of the notebook's own cells, were those below a step run again.

A forecast, from records and texts: when a cell runs, its key decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

from nbckpt.errors import UsageError
from nbckpt.jupyter.notebook.documents import Written, known_as
from nbckpt.jupyter.notebook.namespace_history import restored_in
from nbckpt.jupyter.notebook.runs import (
    Run,
    blocks_of,
    last_of_cells,
    names_in,
    runs_of,
)
from nbckpt.jupyter.notebook.staleness import reason
from nbckpt.model import Checkpoint, Manifest
from nbckpt.session.history.recorded_cells import Recorded
from nbckpt.steps.rerun.given_values import binds_only, given_at, overwritten
from nbckpt.timeline.following import following

if TYPE_CHECKING:
    from nbckpt.session.session import Session

RUNS, RESTORED, FRESH, LEFT = "runs", "restored", "fresh", "left"


def rerun_plan(session: Session, start: Checkpoint, cells: Sequence[Written]) -> dict[str, Any]:
    """Fate of each code cell below the step of `start`, judged as from there.

    ``fresh``: nothing has to be done; ``restored``: it would be, when it is run; ``runs``;
    ``left``: it would only take back what was given by hand, and is left out. `given` names what a
    cell takes back.

    Raises
    ------
    UsageError
        If the step's cell is not in the notebook.
    """
    timeline = session.timeline
    with timeline.lock:
        line = runs_of(timeline.ancestry(start.id)[::-1])
        followed = following(
            timeline, start.id, branch=session.position.branch, origin=session.position.origin
        )
        others = [timeline.checkpoints[i] for i in reversed(timeline.newest_first())]
        undone = [timeline.checkpoints[i] for i in timeline.log(None)]
        manifest = timeline.manifest(start.id)
    restored = restored_in(session)
    place = _place_of(start, line, known_as(cells, (run.cell for run in line), restored))
    # A copy of a cell, whose own the checkpoint is not; what it made itself counts more.
    there = {run.checkpoint.id for run in line if run.checkpoint is not None}
    here = [run for run in restored if run.checkpoint is not None and run.checkpoint.id in there]
    elsewhere = [*restored, *runs_of(others), *runs_of(followed)]
    forecast = _Forecast(session, [*here, *line], elsewhere, manifest)
    forecast.failed = _failed_cells(session, undone)
    forecast.given = given_at(timeline, start.id)
    if start.made_by:
        forecast.changed.update(start.changed)
    known = known_as(cells, (run.cell for run in (*elsewhere, *here, *line)), restored)
    below = list(zip(cells, known, strict=True))[place + 1 :]
    fates = [
        {**forecast.of(cell), "cell_id": now.cell_id}
        for now, cell in below
        if not cell.is_our_own and not cell.is_empty
    ]
    return {
        "cells": fates,
        "rewinds": session.position.id != start.id,
    }


def _place_of(start: Checkpoint, line: Sequence[Run], cells: Sequence[Written]) -> int:
    """Place in the notebook of the cell of a step; of the one before it, where it has none."""
    places = {cell.cell_id: place for place, cell in enumerate(cells)}
    cell_id = next((run.cell_id for run in reversed(line) if run.cell_id), "")
    if cell_id not in places:
        message = (
            f"the cell of {start.name!r} is not in this notebook any more: "
            f"`%rerun {start.name}` runs the recorded cells"
        )
        raise UsageError(message)
    return places[cell_id]


class _Forecast:
    """Goes through cells from top to bottom.

    Attributes
    ----------
    failed
        Ids of cells that did not end well at some time.
    changed
        Variables that may have another value by then than when the cells ran.
    given
        Variables that hold by then what they were given by hand → where.
    """

    def __init__(
        self, session: Session, line: Sequence[Run], others: Sequence[Run], manifest: Manifest
    ) -> None:
        self._session = session
        self._here = _by_cell(line)
        self._elsewhere = _by_cell(others)
        self._with_blocks = {
            runs[place].cell_id for runs in (line, others) for place in blocks_of(runs)
        }
        self._manifest = manifest
        self._restores_all = session.policy.kind == "skip"
        self.failed: Set[str] = frozenset()
        self.changed: set[str] = set()
        self.given: dict[str, str] = {}

    def of(self, cell: Written) -> dict[str, Any]:
        """Fate of the next cell, and the reason for it."""
        run = self._here.get(cell.cell_id) or self._elsewhere.get(cell.cell_id)
        names, is_alone = self._taken_back(cell, run)
        listed = ", ".join(sorted(names))
        if is_alone:
            why = f"{listed} {'was' if len(names) == 1 else 'were'} given by hand"
            return {"cell_id": cell.cell_id, "does": LEFT, "why": why, "given": sorted(names)}
        fate = self._known_fate(cell, run)
        if not names:
            return fate
        self.given = {n: by for n, by in self.given.items() if n not in names}
        does = RUNS if fate["does"] == FRESH else fate["does"]
        why = f"it overwrites {listed}, given by hand"
        return {**fate, "does": does, "why": why, "given": sorted(names)}

    def _taken_back(self, cell: Written, run: Run | None) -> tuple[frozenset[str], bool]:
        """Given values that a cell takes back, which is no other since; and True if no more."""
        if run is None or run.checkpoint is None or cell.is_other_than(run.cell.source):
            return frozenset(), False
        piece = Recorded(run.checkpoint, run.cell, "cell", None)
        names = overwritten(piece, self.given.keys())
        return names, bool(names) and binds_only(piece, names)

    def _known_fate(self, cell: Written, run: Run | None) -> dict[str, Any]:
        does, why = self._fate(cell, run)
        if does == RUNS and why not in (_PLAIN, _BLOCK):
            self.changed |= {*names_in(cell.source).binds, *(_bound(run) if run else ())}
        elif run is not None:
            self.changed -= set(_bound(run))
        return {"cell_id": cell.cell_id, "does": does, "why": why}

    def _fate(self, cell: Written, run: Run | None) -> tuple[str, str]:
        if run is None or run.checkpoint is None:
            return RUNS, "it failed" if cell.cell_id in self.failed else "it never ran"
        if cell.is_other_than(run.cell.source):
            return RUNS, "edited since"
        read = _read_by(run)
        if names := sorted(self.changed.intersection(read)):
            return RUNS, reason(names)
        if cell.cell_id in self._here:
            names = sorted(n for n in read if self._is_other_now(n, run.checkpoint))
            return (RUNS, reason(names)) if names else (FRESH, "its variables are as it made them")
        if run.is_own and run.checkpoint.key is not None and (cell.is_marked or self._restores_all):
            return RESTORED, "nothing that it reads has changed"
        return RUNS, _BLOCK if cell.cell_id in self._with_blocks else _PLAIN

    def _is_other_now(self, name: str, step: Checkpoint) -> bool:
        """True if a variable that a step of this line left alone is another one at the start."""
        then = self._session.timeline.manifest(step.id).get(name)
        now = self._manifest.get(name)
        return name not in step.bound and (then and then.value) != (now and now.value)


_PLAIN = "it has no checkpoint of its own"
_BLOCK = "only its block may be restored"


def _failed_cells(session: Session, checkpoints: Iterable[Checkpoint]) -> frozenset[str]:
    """Ids of cells that did not end well at some time."""
    cells_of_failed = session.pending_cells.cells_of_failed
    undone = (c for c in checkpoints if c.state != "done")
    return frozenset(cells_of_failed.get(c.id, c.cell).cell_id or "" for c in undone)


def _by_cell(runs: Sequence[Run]) -> dict[str, Run]:
    return {cell_id: runs[place] for cell_id, place in last_of_cells(runs).items()}


def _bound(run: Run) -> Iterable[str]:
    """Names to which a cell gave values."""
    if run.is_own and run.checkpoint is not None:
        return run.checkpoint.bound
    return names_in(run.cell.source).binds


def _read_by(run: Run) -> Iterable[str]:
    """Names on which what a cell did depends."""
    if run.is_own and run.checkpoint is not None and (key := run.checkpoint.key) is not None:
        return {*key.inputs, *key.functions}
    names = names_in(run.cell.source)
    return names.loads - names.binds
