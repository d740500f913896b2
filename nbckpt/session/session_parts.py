"""The parts of a session, for verbs that are written beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nbckpt.model import Checkpoint
    from nbckpt.session.auto.pending_cells import PendingCells
    from nbckpt.session.branch_position import BranchPosition
    from nbckpt.session.checkpoint_writer import CheckpointWriter
    from nbckpt.session.pending_writes import PendingWrites
    from nbckpt.session.reducers import Reducer
    from nbckpt.session.workspace.workspace import Workspace
    from nbckpt.storage.store import Store
    from nbckpt.timeline.timeline import Timeline


class SessionParts(Protocol):
    """The parts of a session that its verbs work with; `Session` says what each is."""

    store: Store
    namespace: dict[str, object]
    notebook: str
    timeline: Timeline
    writes: PendingWrites
    position: BranchPosition
    checkpoints: CheckpointWriter
    pending_cells: PendingCells
    reducers: dict[str, Reducer]
    moved: bool

    @property
    def workspace(self) -> Workspace:
        """The namespace, and what may have changed in it."""

    def emit(self, what: str) -> None:
        """Let who listens know that something happened."""

    def refresh(self) -> None:
        """Take in what other sessions have written, and what became of this one's own writes."""

    def rescan(self) -> None:
        """Take note of what may have changed."""

    def get(self, ref: str) -> Checkpoint:
        """The checkpoint that `ref` names."""
