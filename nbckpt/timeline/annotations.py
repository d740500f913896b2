"""The tags and notes that people give to checkpoints afterwards, folded from records. Pure."""

from __future__ import annotations

import dataclasses

from nbckpt.model import Checkpoint, Record


class Labels:
    """Tags and notes written on checkpoints; of two records about one thing the later counts."""

    def __init__(self) -> None:
        self._tags: dict[str, dict[str, tuple[float, bool]]] = {}  # id → tag → when, is deleted
        self._notes: dict[str, tuple[float, str]] = {}

    def tag(self, record: Record) -> bool:
        """Take in a tag that was given or taken away; whether that changed something."""
        tags = self._tags.setdefault(record["checkpoint"], {})
        said = (record.get("at", 0.0), bool(record.get("delete")))
        if said <= tags.get(record["tag"], (-1.0, False)):
            return False
        tags[record["tag"]] = said
        return True

    def note(self, record: Record) -> bool:
        """Take in another note; whether that changed something."""
        said = (record.get("at", 0.0), record["note"])
        if said <= self._notes.get(record["checkpoint"], (-1.0, "")):
            return False
        self._notes[record["checkpoint"]] = said
        return True

    def on(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint with what was written on it since it was made."""
        if said := self._tags.get(checkpoint.id):
            kept = [t for t in checkpoint.tags if not said.get(t, (0.0, False))[1]]
            given = sorted((at, tag) for tag, (at, deleted) in said.items() if not deleted)
            tags = tuple(dict.fromkeys([*kept, *(tag for _, tag in given)]))
            checkpoint = dataclasses.replace(checkpoint, tags=tags)
        if noted := self._notes.get(checkpoint.id):
            checkpoint = dataclasses.replace(checkpoint, note=noted[1])
        return checkpoint
