"""Manifests: all that was kept of the namespace at a checkpoint, folded from what changed. Pure."""

from __future__ import annotations

from nbckpt.model import Checkpoint, Variable
from nbckpt.runtime.snapshot_dict import Snapshot, SnapshotDict
from nbckpt.timeline.checkpoint_index import Places
from nbckpt.timeline.last_change import REMEMBERED, Owners


class Manifests:
    """Manifests of checkpoints: that of a child is made of its parent's, if that was asked for."""

    def __init__(self, places: Places, owners: Owners) -> None:
        self._places = places
        self._owners = owners
        self.forget()

    def forget(self) -> None:
        """Fold anew: a record is another, or came after one of its children."""
        self._newest: SnapshotDict[str, Variable] = SnapshotDict()
        self._newest_of = ""
        self._known: dict[str, Snapshot[str, Variable]] = {}

    def of(self, checkpoint_id: str) -> Snapshot[str, Variable]:
        """Name → variable, of all that was kept at a checkpoint."""
        known = self._known
        if (found := known.get(checkpoint_id)) is None:
            places = self._places
            if places.records[checkpoint_id].get("parent") != self._newest_of:
                self._newest = SnapshotDict(self._whole(checkpoint_id))
            else:
                _go_on(self._newest, places.checkpoints[checkpoint_id])
            self._newest_of = checkpoint_id
            found = self._newest.snapshot()
            known[checkpoint_id] = found
            while len(known) > REMEMBERED:
                del known[next(iter(known))]
        return found

    def _whole(self, checkpoint_id: str) -> dict[str, Variable]:
        owners = self._owners.of(checkpoint_id)
        return {name: self._variable(owner, name) for name, owner in owners.items()}

    def _variable(self, owner: str, name: str) -> Variable:
        checkpoint = self._places.checkpoints[owner]
        return checkpoint.changed.get(name) or checkpoint.carried[name]


def _go_on(manifest: SnapshotDict[str, Variable], checkpoint: Checkpoint) -> None:
    """Make the manifest of a parent that of its child."""
    manifest.update({**checkpoint.carried, **checkpoint.changed})
    for name in checkpoint.removed:
        manifest.pop(name, None)
