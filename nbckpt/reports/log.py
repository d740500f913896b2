"""The log: the checkpoints of a branch, or of all, newest first, and how they hang together."""

from __future__ import annotations

from collections.abc import Container

from nbckpt.model import Checkpoint
from nbckpt.reports import graph as lanes
from nbckpt.runtime import clock
from nbckpt.session.history.costs import CostLedger, Spent
from nbckpt.session.history.summaries import (
    ID_LENGTH,
    origin_text,
    size_of,
    state_text,
    user_names,
)
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import (
    age_text,
    bytes_text,
    count_text,
    duration_text,
)
from nbckpt.timeline.call_counts import Kept
from nbckpt.timeline.timeline import Timeline

COLUMNS = (
    Column(""),
    Column("name"),
    Column("id"),
    Column("branch"),
    Column("made", right=True),
    Column("took", right=True),
    Column("size", right=True),
    Column("calls", right=True),
    Column("paid", right=True),
    Column("kept calls", right=True),
    Column("changed"),
    Column("remarks"),
)
HERE, DONE, FAILED, PARTIAL = "●", "○", "✗", "◌"
FEW = 4


def listed(timeline: Timeline, branch: str | None, limit: int | None = None) -> list[Checkpoint]:
    """The checkpoints that a log of `branch` shows, newest first; None means of all branches.

    With the finished ones stand those that failed or did not finish, as long as they are the
    newest of their name.

    Parameters
    ----------
    limit
        Show no more than this many; None: all.
    """
    shown = [timeline.checkpoints[i] for i in timeline.log(branch)[:limit]]
    ordered = lanes.parents_first({c.id: c.parent for c in reversed(shown)})
    return [timeline.checkpoints[i] for i in reversed(ordered)]


def log_text(
    timeline: Timeline,
    branch: str | None,
    position: str | None,
    *,
    limit: int | None = None,
    writing: Container[str] = frozenset(),
    ledger: CostLedger | None = None,
    now: float | None = None,
    width: int | None = None,
) -> str:
    """The checkpoints of a branch, or with None of all, newest first, and how they hang together.

    Parameters
    ----------
    position
        Id of the checkpoint that the session stands on, which gets a mark of its own.
    limit
        Show no more than this many, and say how many there are beside; None: all.
    writing
        Ids of those that are not durable yet, which is remarked.
    ledger
        What the model calls of each took.
    now
        Seconds since the epoch; by default those of the clock.
    width
        Characters that there is room for; None: no limit.
    """
    shown = listed(timeline, branch, limit)
    if not shown:
        where = "" if branch is None else f" on branch {branch!r}"
        return f"no checkpoints{where} yet"
    heads = _heads(timeline)
    here = position or next(iter(heads), None)
    graph = lanes.drawn(shown, [_mark(c, here) for c in shown], trunk=here)
    at = clock.now() if now is None else now
    ledger = CostLedger() if ledger is None else ledger
    rows = [
        (
            drawn,
            *_row(c, heads.get(c.id, ""), at, ledger, is_written=c.id not in writing),
        )
        for drawn, c in zip(graph, shown, strict=True)
    ]
    total = len(timeline.log(branch))
    older = total - len(shown)
    more = f"\n… and {older:,} older: `-n {total}` shows all" if older else ""
    return table_text(COLUMNS, rows, width=width) + more


def _heads(timeline: Timeline) -> dict[str, str]:
    heads: dict[str, list[str]] = {}
    for branch, head in timeline.branches.items():
        heads.setdefault(head, []).append(branch)
    return {head: ", ".join(branches) for head, branches in heads.items()}


def _mark(checkpoint: Checkpoint, here: str | None) -> str:
    if checkpoint.state == "failed":
        return FAILED
    if checkpoint.state == "partial":
        return PARTIAL
    return HERE if checkpoint.id == here else DONE


def _row(
    checkpoint: Checkpoint, branches: str, now: float, ledger: CostLedger, *, is_written: bool
) -> tuple[str, ...]:
    spent = ledger.of(checkpoint.id)
    return (
        checkpoint.name,
        checkpoint.id[:ID_LENGTH],
        branches,
        age_text(now - checkpoint.created_at),
        duration_text(checkpoint.duration_s),
        bytes_text(size_of(checkpoint)) if user_names(checkpoint.changed) else "",
        _calls(spent),
        spent.paid_text(),
        _calls(ledger.kept_of(checkpoint.id)),
        _changes(checkpoint),
        _remarks(checkpoint, is_written=is_written),
    )


def _calls(spent: Spent | Kept) -> str:
    replayed = f" ({spent.replayed:,} replayed)" if spent.replayed else ""
    return f"{spent.calls:,}{replayed}" if spent.calls else ""


def _changes(checkpoint: Checkpoint) -> str:
    names = [*user_names(checkpoint.changed), *(f"-{name}" for name in checkpoint.removed)]
    more = f" and {len(names) - FEW} more" if len(names) > FEW + 1 else ""
    return ", ".join(names[:FEW] if more else names) + more


def _remarks(checkpoint: Checkpoint, *, is_written: bool) -> str:
    refused = len(checkpoint.refused)
    parts = [
        "" if checkpoint.trusted else "not trusted",
        state_text(checkpoint) if checkpoint.state != "done" else "",
        "" if is_written else "… being written",
        origin_text(checkpoint),
        *(f"#{tag}" for tag in checkpoint.tags),
        f"{count_text(refused, 'variable')} not kept" if refused else "",
        checkpoint.note,
    ]
    return "; ".join(part for part in parts if part)
