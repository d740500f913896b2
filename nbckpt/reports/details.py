"""All that is known of one checkpoint: where it stands, its code, its variables, its outputs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from nbckpt.errors import NOT_YOURS, TRUST_IT
from nbckpt.model import Checkpoint, Record, Variable
from nbckpt.runtime import clock
from nbckpt.session.history.costs import CostLedger
from nbckpt.session.history.summaries import (
    ID_LENGTH,
    origin_text,
    state_text,
    user_names,
)
from nbckpt.text.escape import lines_of, on_a_line
from nbckpt.text.tables import (
    Column,
    facts_text,
    indented,
    table_text,
)
from nbckpt.text.units import (
    age_text,
    bytes_text,
    duration_text,
    usd_text,
)
from nbckpt.timeline.following import next_names
from nbckpt.timeline.timeline import Timeline

VARIABLES = (
    Column(""),
    Column("name"),
    Column("type"),
    Column("shape", right=True),
    Column("size", right=True),
    Column("preview"),
)
CALLS = (
    Column(""),
    Column("model"),
    Column("tokens", right=True),
    Column("cost", right=True),
    Column("took", right=True),
    Column("asked"),
)
KEPT_CALLS = (
    Column("function"),
    Column("state"),
    Column("attempts", right=True),
    Column("took", right=True),
    Column("size", right=True),
    Column("error"),
)
INDENT = 4
UNTRUSTED = f"it {NOT_YOURS}, so nothing of it is built: {TRUST_IT}"
MOST = 50
"""Model calls that are listed."""


def show_text(
    timeline: Timeline,
    checkpoint: Checkpoint,
    *,
    outputs: Sequence[Mapping[str, Any]] = (),
    replays: Sequence[Record] = (),
    ledger: CostLedger | None = None,
    now: float | None = None,
    width: int | None = None,
) -> str:
    """All that is known of one checkpoint.

    Parameters
    ----------
    outputs
        What its cell printed and showed, as it was recorded.
    replays
        The recordings that answered calls of its run.
    ledger
        What model calls took.
    now
        Seconds since the epoch; by default those of the clock.
    width
        Characters that there is room for; None: no limit.
    """
    manifest = timeline.manifest(checkpoint.id)
    rows = [
        _variable_row(manifest[name], changed=name in checkpoint.changed)
        for name in user_names(manifest)
    ]
    joined = "\n\n".join(cell.source.rstrip() for cell in checkpoint.joined)
    sections = {
        "cells before it, kept with it": indented(joined),
        "code": indented(checkpoint.cell.source.rstrip()),
        "variables (* changed here)": indented(
            table_text(VARIABLES, rows, width=width and width - INDENT) if rows else ""
        ),
        "gone": indented(on_a_line(", ".join(checkpoint.removed))),
        "not kept": indented(lines_of(map(str, checkpoint.refused))),
        "left out by choice": indented(on_a_line(", ".join(checkpoint.omitted))),
        "model calls": indented(_calls_text(ledger, checkpoint.id, replays, width)),
        "calls of functions": indented(_kept_text(ledger, checkpoint.id, width)),
        "outputs": indented(outputs_text(outputs)),
    }
    at = clock.now() if now is None else now
    facts = facts_text(_facts(timeline, checkpoint, at))
    return "\n\n".join([facts, *(f"{title}\n{text}" for title, text in sections.items() if text)])


def _calls_text(
    ledger: CostLedger | None, checkpoint_id: str, replays: Sequence[Record], width: int | None
) -> str:
    """Totals of the model calls of its run, and a row for each call."""
    if ledger is None or not (spent := ledger.of(checkpoint_id)).calls:
        return ""
    calls = [("", recording) for recording in ledger.calls_of(checkpoint_id)]
    calls += [("replayed", recording) for recording in replays]
    rows = [(what, *_call_row(r, ledger.paid_for(r).cost_usd)) for what, r in calls[:MOST]]
    return _listed_text(spent.text(), CALLS, rows, len(calls), width)


def _kept_text(ledger: CostLedger | None, checkpoint_id: str, width: int | None) -> str:
    """Outcomes of the calls of functions in its run, and a row for each that ran."""
    if ledger is None or not (kept := ledger.kept_of(checkpoint_id)).calls:
        return ""
    calls = ledger.steps_of(checkpoint_id)
    rows = [_kept_row(record) for record in calls[:MOST]]
    return _listed_text(kept.text(), KEPT_CALLS, rows, len(calls), width)


def _listed_text(
    summary: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    count: int,
    width: int | None,
) -> str:
    table = [table_text(columns, rows, width=width and width - INDENT)] if rows else []
    more = [f"… and {count - MOST:,} more"] if count > MOST else []
    return "\n".join([on_a_line(summary), *table, *more])


def _kept_row(record: Record) -> tuple[str, ...]:
    size = record.get("size_bytes")
    return (
        record["name"],
        record["state"],
        f"{record.get('attempts', 1):,}",
        duration_text(record.get("duration_s", 0.0)),
        "" if size is None else bytes_text(size),
        record.get("error", ""),
    )


def _call_row(recording: Record, cost: float | None) -> tuple[str, ...]:
    tokens = [recording.get(name) for name in ("tokens_in", "tokens_out")]
    return (
        recording["model"],
        " + ".join("?" if number is None else f"{number:,}" for number in tokens),
        "?" if cost is None else usd_text(cost),
        duration_text(recording["duration_s"]),
        recording.get("summary", ""),
    )


def _facts(timeline: Timeline, checkpoint: Checkpoint, now: float) -> list[tuple[str, str]]:
    made = dt.datetime.fromtimestamp(checkpoint.created_at).astimezone()
    parent = timeline.checkpoints.get(checkpoint.parent or "")
    count = checkpoint.cell.execution_count
    heads = [branch for branch, head in timeline.branches.items() if head == checkpoint.id]
    return [
        ("name", checkpoint.name),
        ("id", checkpoint.id),
        ("state", state_text(checkpoint)),
        ("made", f"{made:%Y-%m-%d %H:%M:%S}, {age_text(now - checkpoint.created_at)}"),
        ("took", duration_text(checkpoint.duration_s)),
        ("how", origin_text(checkpoint)),
        ("branch", checkpoint.branch),
        ("head of", ", ".join(heads)),
        ("parent", f"{parent.name} ({parent.id[:ID_LENGTH]})" if parent else ""),
        ("next", ", ".join(next_names(timeline, checkpoint.id))),
        ("notebook", checkpoint.notebook),
        ("cell", "" if count is None else f"In [{count}]"),
        ("tags", ", ".join(checkpoint.tags)),
        ("note", checkpoint.note),
        ("trust", "" if checkpoint.trusted else UNTRUSTED),
    ]


def _variable_row(variable: Variable, *, changed: bool) -> tuple[str, ...]:
    return (
        "*" if changed else "",
        variable.name,
        variable.type_name + (" (made again by its statement)" if variable.recipe else ""),
        variable.shape or "",
        bytes_text(variable.size_bytes),
        variable.preview,
    )


def outputs_text(outputs: Sequence[Mapping[str, Any]]) -> str:
    """Text that a cell printed and showed; of other output, its media type."""
    return "\n".join(text.rstrip() for output in outputs if (text := _output_text(output)))


def _output_text(output: Mapping[str, Any]) -> str:
    if "stream" in output:
        return str(output["text"])
    shown = output.get("display") or output.get("result") or {}
    return str(shown.get("text/plain") or f"<{next(iter(shown), 'nothing')}>")
