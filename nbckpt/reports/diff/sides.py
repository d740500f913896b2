"""The two sides of a comparison: a checkpoint, or what is live now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nbckpt.capture.selection import Selection
from nbckpt.errors import CheckpointNotFoundError, NbckptError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Cell, Checkpoint, Manifest, Variable
from nbckpt.reports.details import outputs_text
from nbckpt.runtime import clock
from nbckpt.session.checkpoint_view import Values
from nbckpt.session.history.recorded_outputs import recorded_outputs
from nbckpt.session.session import Session
from nbckpt.storage.store import Store

LIVE = "now"
"""Name of the live namespace when it holds values that no checkpoint does."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes
    ----------
    id
        Of the checkpoint; empty for the live state.
    manifest
        All variables, the random generators' states among them.
    reasons
        Name of each variable that is not kept here → why.
    cost_usd
        Cost of the cell's model calls; None if it is not known.
    """

    id: str
    name: str
    branch: str
    created_at: float
    duration_s: float
    manifest: Manifest
    reasons: Mapping[str, str]
    source: str
    outputs: str
    store: Store
    cost_usd: float | None = None
    _values: list[Values] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, Variable]:
        """Name → variable, of those that are the user's."""
        return {n: v for n, v in self.manifest.items() if n not in random_generators.NAMES}

    def value(self, name: str) -> object:
        """The value of a variable, built from the store; the live one is never touched."""
        if not self._values:
            self._values.append(Values(self.store, self.manifest, self.id[:8] or LIVE))
        return self._values[0][name]

    def forget(self) -> None:
        """Let go of the values that were built."""
        self._values.clear()

    def as_record(self) -> dict[str, object]:
        """Identity, time and cost of this side, for programs."""
        return {
            "id": self.id,
            "name": self.name,
            "branch": self.branch,
            "created_at": self.created_at,
            "duration_s": self.duration_s,
            "cost_usd": self.cost_usd,
        }


def sides_of(session: Session, a: str, b: str | None) -> tuple[Side, Side]:
    """The two sides that references mean; without a second, what is live now.

    Raises
    ------
    CheckpointNotFoundError
        If a reference means none, or nothing is here to compare with.
    """
    one = side_of(session, session.get(a))
    if b is not None:
        return one, side_of(session, session.get(b))
    if live := live_side(session):
        return one, live
    here = session.timeline.checkpoints.get(session.position.id or "") or session.position.head
    if here is None:
        branch = session.position.branch
        message = f"nothing to compare {a!r} with: branch {branch!r} has no checkpoints yet"
        raise CheckpointNotFoundError(message)
    return one, side_of(session, here)


def side_of(session: Session, checkpoint: Checkpoint) -> Side:
    """A checkpoint as a side."""
    sources = [*(cell.source for cell in checkpoint.joined), checkpoint.cell.source]
    return Side(
        id=checkpoint.id,
        name=checkpoint.name,
        branch=checkpoint.branch,
        created_at=checkpoint.created_at,
        duration_s=checkpoint.duration_s,
        manifest=session.timeline.manifest(checkpoint.id),
        reasons=_reasons(checkpoint),
        source="\n\n".join(source.rstrip() for source in sources if source.strip()),
        outputs=_outputs(session.store, checkpoint),
        store=session.store,
    )


def live_side(session: Session) -> Side | None:
    """The live state as a side; None if the position holds it all.

    Its values are put into the store as they are, which the next checkpoint would do too, and
    compared from there: so that no code of theirs runs on the live ones.
    """
    workspace = session.workspace
    if not workspace.tracker.user_names():
        return None
    workspace.ran(workspace.running)
    captured = session.checkpoints.capture(Selection())
    draft = session.checkpoints.draft(LIVE, captured, cell=Cell(""), duration_s=0.0)
    if set(draft.changed) <= random_generators.NAMES and not draft.removed:
        return None
    return Side(
        id="",
        name=LIVE,
        branch=session.position.branch,
        created_at=clock.now(),
        duration_s=0.0,
        manifest=captured.manifest,
        reasons=_reasons(draft),
        source="",
        outputs="",
        store=session.store,
    )


def _reasons(checkpoint: Checkpoint) -> dict[str, str]:
    left_out = dict.fromkeys(checkpoint.omitted, "left out by choice")
    return left_out | {r.variable: f"{r.type_name} {r.reason}" for r in checkpoint.refused}


def _outputs(store: Store, checkpoint: Checkpoint) -> str:
    try:
        outputs = recorded_outputs(store, checkpoint)
    except NbckptError as error:
        return f"<the outputs cannot be read: {error}>"
    return outputs_text(outputs)
