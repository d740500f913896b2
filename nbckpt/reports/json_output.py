"""Output of the command line with ``--json``: plain values, times in UTC, sizes in bytes."""

from __future__ import annotations

import datetime as dt

from nbckpt import reports
from nbckpt.model import Checkpoint
from nbckpt.session.history.costs import CostLedger, Spent
from nbckpt.timeline.call_counts import Kept
from nbckpt.timeline.timeline import Timeline


def of_checkpoint(
    timeline: Timeline, checkpoint: Checkpoint, ledger: CostLedger | None = None
) -> dict[str, object]:
    """A checkpoint's entry in a log, for programs; times in UTC, sizes in bytes.

    Parameters
    ----------
    ledger
        Usage and cost of model calls; by default none are counted.
    """
    spent = Spent() if ledger is None else ledger.of(checkpoint.id)
    kept = Kept() if ledger is None else ledger.kept_of(checkpoint.id)
    names = reports.user_names(checkpoint.changed)
    made = dt.datetime.fromtimestamp(checkpoint.created_at, dt.UTC)
    return {
        "id": checkpoint.id,
        "name": checkpoint.name,
        "parent": checkpoint.parent,
        "branch": checkpoint.branch,
        "heads": [b for b, head in timeline.branches.items() if head == checkpoint.id],
        "state": checkpoint.state,
        "created_at": made.isoformat(),
        "duration_s": checkpoint.duration_s,
        "size_bytes": reports.size_of(checkpoint),
        "calls": spent.calls,
        "calls_replayed": spent.replayed,
        "cost_usd": spent.paid_usd,
        "saved_usd": spent.saved_usd,
        "kept_calls": kept.calls,
        "kept_calls_replayed": kept.replayed,
        "changed": names,
        "removed": list(checkpoint.removed),
        "refused": [str(refusal) for refusal in checkpoint.refused],
        "omitted": list(checkpoint.omitted),
        "notebook": checkpoint.notebook,
        "session": checkpoint.session,
        "source": checkpoint.cell.source,
        "execution_count": checkpoint.cell.execution_count,
        "cell_id": checkpoint.cell.cell_id,
        "progress": list(checkpoint.progress) if checkpoint.progress else None,
        "error": checkpoint.error,
        "tags": list(checkpoint.tags),
        "note": checkpoint.note,
        "made_by": checkpoint.made_by,
        "trusted": checkpoint.trusted,
        "joined": [cell.source for cell in checkpoint.joined],
    }


def of_variables(timeline: Timeline, checkpoint: Checkpoint) -> list[dict[str, object]]:
    """An object for each of the user's variables at a checkpoint, for programs."""
    manifest = timeline.manifest(checkpoint.id)
    return [
        {
            "name": name,
            "type_name": manifest[name].type_name,
            "shape": manifest[name].shape,
            "size_bytes": manifest[name].size_bytes,
            "changed": name in checkpoint.changed,
            "recipe": manifest[name].recipe,
            "trusted": manifest[name].trusted,
            "preview": manifest[name].preview,
        }
        for name in reports.user_names(manifest)
    ]
