"""Looks of a notebook's cells at a checkpoint: their texts and their outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbckpt.jupyter.notebook.runs import Run, last_of_cells, runs_of
from nbckpt.model import Checkpoint
from nbckpt.session.history.recorded_outputs import notebook_outputs

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store


def page_at(session: Session, checkpoint: Checkpoint) -> dict[str, Any]:
    """The cells that had run at a checkpoint, and the ids of those that ran first after it."""
    timeline = session.timeline
    with timeline.lock:
        line = timeline.ancestry(checkpoint.id)[::-1]
        others = [timeline.checkpoints[i] for i in timeline.log(None)]
    runs = runs_of(line)
    places = last_of_cells(runs)
    cells = [_look(session.store, runs[place]) for place in places.values()]
    first: dict[str, bool] = {}
    for run in runs_of(reversed(others), session.pending_cells.cells):
        is_later = run.checkpoint is None or run.checkpoint.created_at > checkpoint.created_at
        first.setdefault(run.cell_id, is_later)
    later = [i for i, is_later in first.items() if i and is_later and i not in places]
    return {"cells": cells, "later": later}


def _look(store: Store, run: Run) -> dict[str, Any]:
    checkpoint = run.checkpoint
    outputs = None
    if checkpoint is not None and run.is_own:
        outputs = notebook_outputs(store, checkpoint, run.cell.execution_count)
    shown = None if outputs is None else outputs.shown
    return {
        "cell_id": run.cell_id,
        "source": run.cell.source,
        "outputs": shown,
        "execution_count": run.cell.execution_count,
        "checkpoint": checkpoint and checkpoint.id,
    }
