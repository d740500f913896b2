"""Forecast of a resume: the state brought back, the savings, and the cells left to run.

The newest checkpoint of a branch holds the whole namespace, so the cells up to it need not run.
Nothing is loaded to tell it: all is in the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.capture.observation.process_state import ProcessState, unsettable
from nbckpt.capture.trust_gate import require_trusted, untrusted_in
from nbckpt.errors import BranchNotFoundError
from nbckpt.jupyter.notebook.documents import Written, known_as
from nbckpt.jupyter.notebook.marks import stopped_text
from nbckpt.jupyter.notebook.namespace_history import restored_in
from nbckpt.jupyter.notebook.runs import Run, last_of_cells, runs_of
from nbckpt.jupyter.notebook.setup_cells import setup_cells
from nbckpt.model import AUTOMATIC, Checkpoint, Manifest, size_of_all
from nbckpt.reports.timeline_rows import row_of
from nbckpt.session.history.costs import ledger_of
from nbckpt.session.history.summaries import user_names
from nbckpt.timeline.references import unknown_branch

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class Fate(NamedTuple):
    """Fate of a cell, and the reason for it.

    Attributes
    ----------
    sets_up
        True if it can set up again what does not come back; see `Setup` for the rest.
    """

    does: str
    why: str
    edited: bool = False
    sets_up: bool = False
    makes: tuple[str, ...] = ()
    acts: str = ""
    again: bool = False


class Unfinished(NamedTuple):
    """The newest cell that did not end well since the branch's head.

    Attributes
    ----------
    at
        Where the session stood; None: at the beginning.
    is_behind
        Whether that was before the head: the notebook was being run once more.
    """

    checkpoint: Checkpoint
    at: Checkpoint | None
    is_behind: bool

    @property
    def goes_on(self) -> bool:
        """True if its loop goes on where it stopped."""
        return self.checkpoint.state == "partial"


def target_of(session: Session, branch: str | None) -> tuple[Checkpoint | None, Unfinished | None]:
    """Where a resume of a branch leads, and which cell is left there half done.

    That is the branch's head, but for a notebook that died while it was run once more: then it is
    where it stood.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    """
    timeline = session.timeline
    is_asked_for = branch is not None or not session.position.is_on_usual_branch
    look = None if branch else session.position.look
    branch = branch or session.position.branch
    with timeline.lock:
        own = timeline.own_head(branch, session.notebook)
        head = look or (timeline.head(branch) if is_asked_for else own)
        if head is None and branch != session.position.branch:
            raise BranchNotFoundError(unknown_branch(timeline, branch))
        if head is None:
            return None, None
        unfinished = _unfinished(session, branch, head)
    if unfinished is not None and unfinished.at is not None and unfinished.goes_on:
        return unfinished.at, unfinished
    return head, unfinished


def resume_plan(
    session: Session,
    branch: str | None,
    cells: Sequence[Written],
    *,
    now: float,
) -> dict[str, Any]:
    """Effects that `resume` would have, and the fate of each cell.

    Parameters
    ----------
    branch
        By default the session's.
    cells
        The code cells of the notebook, in their order; none where only the offer is asked for.
    now
        Seconds since the epoch.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    UntrustedError
        If the user neither made nor trusts what a resume would bring back.
    """
    target, unfinished = target_of(session, branch)
    if target is None:
        new = Fate("runs", "it never ran")
        return {**_NOTHING, "cells": [_fate_as_json(cell, _idle(cell) or new) for cell in cells]}
    require_trusted(target)
    with session.timeline.lock:
        line = session.timeline.ancestry(target.id)[::-1]
        manifest = session.timeline.manifest(target.id)
    runs = runs_of(line)
    ran = [run.cell for run in runs] + ([unfinished.checkpoint.cell] if unfinished else [])
    known = known_as(cells, ran, restored_in(session))
    fates = _Fates(runs, target, unfinished).of(known)
    fates = _with_makers(session, target, known, fates)
    return {
        **_offer(session, line, manifest, unfinished, now),
        "cells": [_fate_as_json(cell, fate) for cell, fate in zip(cells, fates, strict=True)],
    }


_NOTHING: Mapping[str, Any] = {
    "checkpoint": None, "variables": 0, "size_bytes": 0, "age_s": None,
    "saves_s": None, "saves_usd": None, "refused": [], "omitted": [],
}  # fmt: skip


def _with_makers(
    session: Session, target: Checkpoint, cells: Sequence[Written], fates: Sequence[Fate]
) -> list[Fate]:
    """The fates, and of cells that would not run what of theirs does not come back."""
    places = [
        n
        for n, (cell, fate) in enumerate(zip(cells, fates, strict=True))
        if fate.does != "runs" and _idle(cell) is None
    ]
    told = list(fates)
    edited = {n for n, fate in enumerate(fates) if fate.edited}
    for place, setup in setup_cells(session, target, cells, places, edited).items():
        told[place] = fates[place]._replace(sets_up=True, **setup._asdict())
    return told


def _fate_as_json(cell: Written, fate: Fate) -> dict[str, Any]:
    return {"cell_id": cell.cell_id, **fate._asdict()}


def _unfinished(session: Session, branch: str, head: Checkpoint) -> Unfinished | None:
    """Newest step that failed or stopped after the head was made, beyond it or on the way to it."""
    timeline = session.timeline
    shown = (timeline.checkpoints[i] for i in timeline.log(None))
    own = (c for c in shown if c.state != "done" and c.branch == branch)
    newest = max(own, key=lambda c: c.created_at, default=None)
    if newest is None or newest.created_at < head.created_at or not newest.cell.source:
        return None
    parent = timeline.checkpoints.get(newest.parent or "")
    if parent is None:
        return Unfinished(newest, None, is_behind=True)
    if not timeline.is_ancestor(parent.id, head.id):
        return None
    return Unfinished(newest, parent, is_behind=parent.id != head.id)


def _offer(
    session: Session,
    line: Sequence[Checkpoint],
    manifest: Manifest,
    unfinished: Unfinished | None,
    now: float,
) -> dict[str, Any]:
    target = line[-1]
    heads = [b for b, tip in session.timeline.branches.items() if tip == target.id]
    ledger = ledger_of(session.store, session.timeline)
    spared = list({c.name: c for c in line if AUTOMATIC not in c.tags}.values())
    if unfinished is not None and unfinished.goes_on:
        spared.append(unfinished.checkpoint)
    paid = [usd for c in spared if (usd := ledger.of(c.id).paid_usd) is not None]
    names = [name for name in user_names(manifest) if manifest[name].trusted]
    refused = (*target.refused, *sorted(untrusted_in(manifest)))
    return {
        "checkpoint": row_of(target, heads, ledger.of(target.id)),
        "variables": len(names),
        "size_bytes": size_of_all(manifest[name] for name in names),
        "age_s": max(0.0, now - target.created_at),
        "saves_s": sum(c.duration_s for c in spared),
        "saves_usd": sum(paid) if paid else None,
        "refused": [refusal._asdict() for refusal in refused],
        "omitted": list(target.omitted),
    }


class _Fates:
    """Fates of the cells of a notebook, where it is resumed at a checkpoint."""

    def __init__(
        self,
        runs: Sequence[Run],
        target: Checkpoint,
        unfinished: Unfinished | None,
    ) -> None:
        self._runs = runs
        self._last = last_of_cells(runs)
        self._target = target
        self._unfinished = unfinished

    def of(self, cells: Sequence[Written]) -> list[Fate]:
        """One for each cell, in their order."""
        end = self._end(cells)
        return [self._of(cell, is_after=place > end) for place, cell in enumerate(cells)]

    def _end(self, cells: Sequence[Written]) -> int:
        """Place of the last cell that need not run; -1 if each has to."""
        places = {cell.cell_id: place for place, cell in enumerate(cells)}
        there = (places[run.cell_id] for run in reversed(self._runs) if run.cell_id in places)
        end = next(there, -1)  # of the newest cell on the line that is still in the notebook
        unfinished = self._unfinished
        if unfinished is None or not unfinished.is_behind:
            return end
        half_done = (
            place for place, c in enumerate(cells) if c.has_run(unfinished.checkpoint.cell)
        )
        return min(end, next(half_done, end + 1) - 1)

    def _of(self, cell: Written, *, is_after: bool) -> Fate:
        if (idle := _idle(cell)) is not None:
            return idle
        if (unfinished := self._unfinished) and cell.has_run(unfinished.checkpoint.cell):
            return Fate("runs", _how_it_ended(unfinished.checkpoint))
        name = self._target.name
        if is_after:
            return Fate("runs", f"it comes after {name!r}")
        place = self._last.get(cell.cell_id)
        if place is None:
            return Fate("skipped", f"it comes before {name!r}, which holds all variables")
        run = self._runs[place]
        if why := _why_again(run):
            return Fate("runs", why)
        if cell.is_other_than(run.cell.source):
            why = f"edited since; its variables of {run.kept_as!r} come back, and it does not run"
            return Fate("restored", why, edited=True)
        return Fate("restored", f"kept as {run.kept_as!r}")


def _why_again(run: Run) -> str | None:
    """Why a cell runs though its variables come back: it set what no record can set."""
    if run.checkpoint is None or not run.is_own:
        return None
    return unsettable(run.checkpoint.observed.get(ProcessState.name))


def _idle(cell: Written) -> Fate | None:
    """Fate of a cell that is not to be run in any case; None for others."""
    if cell.is_our_own:
        return Fate("skipped", "it only asks nbckpt for something")
    return Fate("skipped", "there is nothing in it to run") if cell.is_empty else None


def _how_it_ended(checkpoint: Checkpoint) -> str:
    if checkpoint.state == "partial":
        return f"{stopped_text(checkpoint)}: it goes on there"
    return f"it failed: {checkpoint.error}" if checkpoint.error else "it failed"
