"""Checkpoints as a timeline view lists them and tells of them: JSON, from records alone.

No value is loaded: types, shapes, sizes and previews are those that were noted when a checkpoint
was made, and outputs are read from their blob.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nbckpt.errors import NbckptError
from nbckpt.model import AUTOMATIC, Checkpoint
from nbckpt.reports import json_output
from nbckpt.reports.graph import parents_first
from nbckpt.session.history.costs import (
    NOTHING,
    CostLedger,
    Spent,
    call_as_json,
    ledger_of,
    replays_in,
)
from nbckpt.session.history.recorded_outputs import recorded_outputs
from nbckpt.session.history.summaries import size_of, user_names
from nbckpt.timeline.following import next_names

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

Row: TypeAlias = dict[str, Any]
"""One checkpoint in the list."""
Output: TypeAlias = dict[str, Any]

MOST = 2000
"""Checkpoints that a view is given; the older ones are counted."""
MOST_CALLS = 500
"""Model calls that are listed of one checkpoint."""
MOST_CHARACTERS = 20_000
"""Of one output's text."""
MOST_OF_IMAGE = 4_000_000
"""Characters of an image in base64; of a larger one only its text is shown."""
PNG = "image/png"
PLAIN = "text/plain"


class Listed(NamedTuple):
    """Rows, oldest first and a parent before its children; `older` were left out."""

    rows: list[Row]
    older: int


class Listing:
    """Lists the checkpoints of a session again and again.

    What does not change of a checkpoint is made once. A row that is as it was is the same object,
    so that who compares two lists need not look into them.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, tuple[Checkpoint, Row]] = {}
        self._state: object = None
        self._listed = Listed([], 0)

    def list(self, limit: int = MOST) -> Listed:
        """The newest checkpoints of all branches, and how many older ones there are."""
        self._session.refresh()  # its own recordings are among the store's when they are durable
        timeline = self._session.timeline
        with timeline.lock:  # of one moment: another thread may be at work
            ledger = ledger_of(self._session.store, timeline)
            state = timeline.revision, ledger.total, self._session.store.generation, limit
            if state != self._state:
                self._state, self._listed = state, self._list(limit)
            return self._listed

    def _list(self, limit: int) -> Listed:
        timeline = self._session.timeline
        ids = timeline.log(None)
        heads: dict[str, list[str]] = {}
        for branch, head in timeline.branches.items():
            heads.setdefault(head, []).append(branch)
        ledger = ledger_of(self._session.store, timeline)
        known, own = self._known, timeline.of_notebook(self._session.notebook)
        found: dict[str, Row] = {}
        for i in reversed(ids[:limit]):
            checkpoint = timeline.checkpoints[i]
            at, row = known.get(i, (None, None))
            spent = ledger.of(i)
            if (
                at is not checkpoint
                or row is None
                or row["heads"] != heads.get(i, [])
                or (row["calls"], row["cost_usd"]) != (spent.calls, spent.paid_usd)
                or row["own"] is not (i in own)
            ):
                parent = checkpoint.parent
                row = {
                    **row_of(checkpoint, heads.get(i, ()), spent),
                    "parent": parent if parent in timeline.checkpoints else None,
                    "own": i in own,
                }
            found[i] = row
            known[i] = checkpoint, row
        if len(known) > 2 * len(found):
            self._known = {i: known[i] for i in found}
        order = parents_first({i: row["parent"] for i, row in found.items()})
        return Listed([found[i] for i in order], len(ids) - len(found))


def row_of(checkpoint: Checkpoint, heads: Iterable[str] = (), spent: Spent = NOTHING) -> Row:
    """Row of the list for a checkpoint.

    Parameters
    ----------
    heads
        The branches that point at it.
    spent
        Usage and cost of its model calls.
    """
    changed = user_names(checkpoint.changed)
    progress = checkpoint.progress
    return {
        "id": checkpoint.id,
        "parent": checkpoint.parent,
        "name": checkpoint.name,
        "branch": checkpoint.branch,
        "heads": list(heads),
        "state": checkpoint.state,
        "created_at": checkpoint.created_at,
        "duration_s": checkpoint.duration_s,
        "size_bytes": size_of(checkpoint),
        "cost_usd": spent.paid_usd,
        "calls": spent.calls,
        "tags": [tag for tag in checkpoint.tags if tag != AUTOMATIC],
        "note": checkpoint.note,
        "changed": changed,
        "automatic": AUTOMATIC in checkpoint.tags,
        "made_by": checkpoint.made_by,
        "trusted": checkpoint.trusted,
        "error": checkpoint.error,
        "progress": None if progress is None else list(progress[1:]),
        "notebook": checkpoint.notebook,
        "has_outputs": checkpoint.outputs is not None,
        "own": True,
    }


def status_of(
    session: Session,
    *,
    now: float,
    busy: Mapping[str, Any] | None = None,
    totals: Mapping[str, float | None] = {},
) -> Row:
    """Where a session stands.

    Parameters
    ----------
    now
        Seconds since the epoch.
    busy
        What runs: `name`, `cell_id`, `began_at`, `done`, `total`, `calls`, `cost_usd`.
    totals
        Figures of its store (`nbckpt.reports.totals`).
    """
    return {
        "store": str(session.store.path),
        "notebook": session.notebook,
        "branch": session.position.branch,
        "position": session.position.id,
        "head": session.timeline.branches.get(session.position.branch),
        "before": session.position.before,
        "busy": None if busy is None else dict(busy),
        "now": now,
        **totals,
    }


def details_of(session: Session, checkpoint: Checkpoint) -> dict[str, Any]:
    """All that a view tells of one checkpoint."""
    timeline = session.timeline
    heads = [b for b, head in timeline.branches.items() if head == checkpoint.id]
    parent = timeline.checkpoints.get(checkpoint.parent or "")
    ledger = ledger_of(session.store, timeline)
    return {
        "row": {
            **row_of(checkpoint, heads, ledger.of(checkpoint.id)),
            "parent": parent and parent.id,
            "own": not timeline.is_foreign(checkpoint, session.notebook),
        },
        "source": checkpoint.cell.source,
        "execution_count": checkpoint.cell.execution_count,
        "cell_id": checkpoint.cell.cell_id,
        "variables": json_output.of_variables(timeline, checkpoint),
        "removed": user_names(checkpoint.removed),
        "refused": [refusal._asdict() for refusal in checkpoint.refused],
        "omitted": list(checkpoint.omitted),
        "outputs": outputs_of(session.store, checkpoint),
        "calls": _calls_of(session, ledger, checkpoint.id),
        "next": list(next_names(timeline, checkpoint.id)),
        "joined": [cell.source for cell in checkpoint.joined],
        "parent": parent and {"id": parent.id, "name": parent.name},
    }


def _calls_of(
    session: Session, ledger: CostLedger, checkpoint_id: str
) -> list[Mapping[str, object]]:
    """The model calls of a run: those that were paid for, then those that were replayed."""
    paid = [call_as_json(c, ledger.paid_for(c)) for c in ledger.calls_of(checkpoint_id)]
    replays = replays_in(session.store, ledger, checkpoint_id)
    replayed = [call_as_json(c, ledger.paid_for(c), replayed=True) for c in replays]
    return [*paid, *replayed][:MOST_CALLS]


def outputs_of(store: Store, checkpoint: Checkpoint) -> list[Output]:
    """Outputs that the cell printed and showed: as text, and images as they were."""
    try:
        recorded = recorded_outputs(store, checkpoint)
    except NbckptError as problem:
        return [_text("error", f"the outputs cannot be read: {problem}")]
    return [_output_of(output) for output in recorded]


def _output_of(recorded: Mapping[str, Any]) -> Output:
    if "stream" in recorded:
        return _text("stream", str(recorded["text"]))
    kind = "display" if "display" in recorded else "result"
    data: Mapping[str, Any] = recorded.get(kind) or {}
    image = data.get(PNG)
    has_image = isinstance(image, str) and len(image) <= MOST_OF_IMAGE
    mime = PNG if has_image else next((m for m in data if m != PLAIN), PLAIN)
    text = data.get(PLAIN)
    return {
        **_text(kind, str(text) if text is not None else f"<{mime}>"),
        "mime": mime,
        "image": image if has_image else None,
    }


def _text(kind: str, text: str) -> Output:
    left = len(text) - MOST_CHARACTERS
    if left > 0:
        text = f"{text[:MOST_CHARACTERS]}\n… {left:,} more characters"
    return {"kind": kind, "text": text, "mime": PLAIN, "image": None}
