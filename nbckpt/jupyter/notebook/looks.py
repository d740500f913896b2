"""Looks of a notebook's cells at a checkpoint: their texts and their outputs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from nbckpt.jupyter.notebook.runs import Run, last_of_cells, runs_of
from nbckpt.model import Checkpoint
from nbckpt.session.history.recorded_outputs import Output, notebook_outputs

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

MOST_DISPLAYS = 8
_PLAIN = frozenset({"text/plain", "text/latex", "image/png", "image/jpeg", "image/gif"})


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


def displays_of(session: Session, checkpoint: Checkpoint) -> list[Output]:
    """What a checkpoint's cell displayed as more than text and pictures, as a notebook has it.

    Tables in HTML and interactive plots, say; the first `MOST_DISPLAYS` of them.
    """
    found = notebook_outputs(session.store, checkpoint, checkpoint.cell.execution_count)
    shown = [] if found is None else found.shown
    return list(
        islice((o for o in shown if not _PLAIN.issuperset(o.get("data", ()))), MOST_DISPLAYS)
    )


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
