"""Looks of a notebook's cells at a checkpoint: their texts and their outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbckpt.errors import NbckptError
from nbckpt.jupyter.notebook.runs import Run, last_of_cells, runs_of
from nbckpt.model import Checkpoint
from nbckpt.session.recorded_outputs import recorded_outputs

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
        outputs = outputs_of(store, checkpoint, run.cell.execution_count)
    return {
        "cell_id": run.cell_id,
        "source": run.cell.source,
        "outputs": outputs,
        "execution_count": run.cell.execution_count,
        "checkpoint": checkpoint and checkpoint.id,
    }


def outputs_of(
    store: Store, checkpoint: Checkpoint, count: int | None
) -> list[dict[str, Any]] | None:
    """Outputs of a checkpoint's cell, as a notebook's file has them; None if they are lost."""
    try:
        recorded = recorded_outputs(store, checkpoint)
    except NbckptError:
        return None
    shown = recorded if checkpoint.trusted else map(_harmless, recorded)
    return [_as_nbformat(output, count) for output in shown]


_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif"})


def _harmless(recorded: dict[str, Any]) -> dict[str, Any]:
    """An output without what runs when it is shown: text and pictures stay, HTML does not."""
    if "stream" in recorded:
        name = "stderr" if recorded["stream"] == "stderr" else "stdout"
        return {"stream": name, "text": str(recorded.get("text", ""))}
    kind = "display" if "display" in recorded else "result"
    data = recorded.get(kind)
    held = data if isinstance(data, dict) else {}
    kept = {m: v for m, v in held.items() if m in _PICTURES and isinstance(v, str)}
    plain = held.get("text/plain", "(not shown: this store is not trusted)")
    return {kind: {**kept, "text/plain": str(plain)}}


def _as_nbformat(recorded: dict[str, Any], count: int | None) -> dict[str, Any]:
    if "stream" in recorded:
        return {"output_type": "stream", "name": recorded["stream"], "text": recorded["text"]}
    metadata = recorded.get("metadata") or {}
    if "display" in recorded:
        data = recorded["display"] or {}
        return {"output_type": "display_data", "data": data, "metadata": metadata}
    return {
        "output_type": "execute_result",
        "data": recorded.get("result") or {},
        "metadata": metadata,
        "execution_count": count,
    }
