"""The records of checkpoints by id, name and state; each is decoded when it is asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbckpt.model import Checkpoint, Record, is_trusted
from nbckpt.timeline.annotations import Labels
from nbckpt.timeline.checkpoint_records import checkpoint_from


class Placed(NamedTuple):
    """The place of a checkpoint: its age, names, branch and state; sorts by age."""

    created_at: float
    id: str
    name: str
    branch: str
    notebook: str
    state: str

    @classmethod
    def of(cls, record: Record) -> Placed:
        """The place of a checkpoint's record."""
        return cls(
            record.get("created_at", 0.0),
            record["id"],
            record.get("name", ""),
            record.get("branch", "main"),
            record.get("notebook", ""),
            record.get("state", "done"),
        )


class Checkpoints(Mapping[str, Checkpoint]):
    """Id → checkpoint, in the order in which they came."""

    def __init__(self, records: Mapping[str, Record], labels: Labels) -> None:
        self._records = records
        self._labels = labels
        self._decoded: dict[str, Checkpoint] = {}

    def __getitem__(self, checkpoint_id: str) -> Checkpoint:
        if checkpoint_id not in self._decoded:
            checkpoint = checkpoint_from(self._records[checkpoint_id])
            self._decoded[checkpoint_id] = self._labels.on(checkpoint)
        return self._decoded[checkpoint_id]

    def __contains__(self, checkpoint_id: object) -> bool:
        return checkpoint_id in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def as_made(self, checkpoint_id: str) -> Checkpoint:
        """A checkpoint without the tags and notes that it was given since."""
        return checkpoint_from(self._records[checkpoint_id])

    def know(self, checkpoint: Checkpoint) -> None:
        """Give the very one whose record has just come, instead of decoding that."""
        if checkpoint.id in self._records:
            self._decoded.setdefault(checkpoint.id, self._labels.on(checkpoint))

    def forget(self, checkpoint_id: str) -> None:
        """Decode this one anew: something of it has changed."""
        self._decoded.pop(checkpoint_id, None)


class Places:
    """Records that come and go.

    Attributes
    ----------
    records
        Id → record.
    checkpoints
        The same, decoded, with the tags and notes they were given since.
    placed
        Id → where it stands.
    by_name
        Name → where all checkpoints of the name stand, in the order in which they came.
    undone
        Of `placed`, those that failed or did not finish.
    refused
        Id → record of what the disk lacks, as it was before that was known.
    by_hand
        Ids of those that gave values by hand.
    """

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.labels = Labels()
        self.checkpoints = Checkpoints(self.records, self.labels)
        self.placed: dict[str, Placed] = {}
        self.by_name: dict[str, list[Placed]] = {}
        self.undone: dict[str, Placed] = {}
        self.refused: dict[str, Record] = {}
        self.by_hand: set[str] = set()

    def is_news(self, record: Record) -> bool:
        """True if a record is none that is known: new, or rewritten after its ancestors went."""
        checkpoint_id = record["id"]
        known = self.refused.get(checkpoint_id, self.records.get(checkpoint_id))
        return known is None or _rank(record) > _rank(known)

    def add(self, record: Record) -> None:
        """Take in a record of an id that has none."""
        placed = Placed.of(record)
        self.records[placed.id] = record
        self.placed[placed.id] = placed
        self.by_name.setdefault(placed.name, []).append(placed)
        if placed.state != "done":
            self.undone[placed.id] = placed
        if record.get("made_by"):
            self.by_hand.add(placed.id)

    def remove(self, checkpoint_id: str) -> None:
        """Forget a checkpoint."""
        self._displace(checkpoint_id)
        self.refused.pop(checkpoint_id, None)
        del self.records[checkpoint_id]

    def refuse(self, checkpoint_id: str, reason: str) -> bool:
        """Count a checkpoint as failed while the disk lacks it; whether it did not before."""
        if checkpoint_id in self.refused or checkpoint_id not in self.records:
            return False
        record = self.refused[checkpoint_id] = self.records[checkpoint_id]
        self._displace(checkpoint_id)
        self.add({**record, "state": "failed", "error": reason})
        return True

    def trust(self, checkpoint_id: str) -> bool:
        """Count a checkpoint as what it is again: the disk has it; whether that is new."""
        record = self.refused.pop(checkpoint_id, None)
        if record is None:
            return False
        self._displace(checkpoint_id)
        self.add(record)
        return True

    def _displace(self, checkpoint_id: str) -> None:
        placed = self.placed.pop(checkpoint_id)
        self.undone.pop(checkpoint_id, None)
        self.by_hand.discard(checkpoint_id)
        named = self.by_name[placed.name]
        named.remove(placed)
        if not named:
            del self.by_name[placed.name]
        self.checkpoints.forget(checkpoint_id)

    def named(self, name: str, state: str | None = None) -> Iterator[str]:
        """Ids of the checkpoints of a name, of one state or any, newest first."""
        placed = (p for p in self.by_name.get(name, ()) if state in (None, p.state))
        return (p.id for p in sorted(placed, reverse=True))


def _rank(record: Record) -> tuple[bool, bool, float, int]:
    """Rank of a record among those of one checkpoint, of which the highest counts.

    A trusted one ranks highest; then one rewritten since its ancestors went, later, and further.
    """
    carried = record.get("carried")
    return is_trusted(record), carried is not None, record.get("at", 0.0), len(carried or ())
