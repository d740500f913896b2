"""Output for programs with ``--json``: plain values, times in UTC, sizes in bytes."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping

from nbckpt.model import Checkpoint
from nbckpt.session.history.costs import CostLedger, Spent
from nbckpt.session.history.summaries import size_of, user_names
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
    names = user_names(checkpoint.changed)
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
        "size_bytes": size_of(checkpoint),
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
        for name in user_names(manifest)
    ]


def json_text(value: object) -> str:
    """JSON that steers no terminal."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_STEERING = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON lets stand, and a terminal or an encoding does not."""


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
