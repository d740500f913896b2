"""Records folded into a graph of checkpoints, branches and what is written on them. Pure.

They come in as journals give them, in any order; times and ids are theirs. Of a record only what
places it is looked at when it comes; the rest when it is asked for.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from nbckpt.model import Record, is_trusted
from nbckpt.timeline.ancestry import Lineage
from nbckpt.timeline.branches import Branches
from nbckpt.timeline.checkpoint_index import Places
from nbckpt.timeline.last_change import Owners
from nbckpt.timeline.manifests import Manifests

MICROSECOND = 1e-6
_KINDS = frozenset(("checkpoint", "head", "drop", "tag", "note", "prune", "refused", "written"))


class Fold:
    """The history that all records together describe. Its callers see to it that one is in it.

    Attributes
    ----------
    places
        The records of checkpoints.
    checkpoints
        Id → checkpoint, in the order in which they came.
    lineage
        Parents and children.
    branches
        Names and what they point at.
    owners
        Which checkpoint last changed each variable.
    manifests
        All that was kept at a checkpoint.
    revision
        Grows with every record that changed something.
    """

    def __init__(self) -> None:
        self.revision = 0
        self._begin()

    def _begin(self) -> None:
        self.places = Places()
        self.checkpoints = self.places.checkpoints
        self.lineage = Lineage()
        self.branches = Branches(self.lineage)
        self.owners = Owners(self.places.records, self.lineage)
        self.manifests = Manifests(self.places, self.owners)
        self._pruned: set[str] = set()
        self._pruned_by_others: set[str] = set()
        self._latest = 0.0

    def _unfold(self) -> None:
        """Fold anew who owns what: a record is another, or came after one of its children."""
        self.owners.forget()
        self.manifests.forget()

    def clear(self, *, but: Container[str] = ()) -> None:
        """Forget everything, so that all records can be folded anew.

        Parameters
        ----------
        but
            Ids of checkpoints that stay: those that no reader can be given yet.
        """
        places = self.places
        whys = {i: str(places.records[i]["error"]) for i in places.refused}
        kept = [r for i, r in {**places.records, **places.refused}.items() if i in whys or i in but]
        moves = self.branches.moves_to({record["id"] for record in kept})
        self._begin()
        self.revision += 1
        for record in (*kept, *moves):
            self.apply(record)
        for i, why in whys.items():
            self.places.refuse(i, why)

    def apply_all(self, records: Iterable[Record]) -> None:
        """Take in many records."""
        for record in records:
            if (kind := record.get("kind")) in _KINDS:
                self._apply(kind, record)

    def apply(self, record: Record) -> None:
        """Take in one record; kinds that are not the timeline's are ignored.

        Applying a record again changes nothing, and neither does another order of the same ones.
        """
        self._apply(record.get("kind"), record)

    def _apply(self, kind: str | None, record: Record) -> None:
        match kind:
            case "checkpoint":
                changed = self._add(record)
            case "head" | "drop":
                changed = self.branches.add(record)
                self._latest = max(self._latest, record.get("at") or 0.0)
            case "tag":
                changed = self._label(record, self.places.labels.tag(record))
            case "note":
                changed = self._label(record, self.places.labels.note(record))
            case "prune":
                changed = self._prune(record.get("pruned", ()), is_own=is_trusted(record))
            case "refused":
                changed = self.places.refuse(record["checkpoint"], record["reason"])
            case "written":
                changed = self.places.trust(record["checkpoint"])
            case _:
                return
        self.revision += changed

    def later_than_all(self, now: float) -> float:
        """A time for a new record: `now`, but later than each move, tag and note that came."""
        return max(now, self._latest + MICROSECOND)

    def _add(self, record: Record) -> bool:
        checkpoint_id, places = record["id"], self.places
        if self.is_pruned(checkpoint_id, record) or not places.is_news(record):
            return False
        if checkpoint_id in places.records:
            self._remove(checkpoint_id)
        places.add(record)
        is_late = self.lineage.add(checkpoint_id, record.get("parent"))
        if is_late:  # another session's clock
            self._unfold()
        self.branches.has_come(checkpoint_id, is_late=is_late)
        return True

    def _remove(self, checkpoint_id: str) -> None:
        self.places.remove(checkpoint_id)
        self.lineage.remove(checkpoint_id)
        self.branches.changed()
        self._unfold()

    def _prune(self, ids: Iterable[str], *, is_own: bool) -> bool:
        known = self._pruned if is_own else self._pruned_by_others
        new = set(ids) - known
        known |= new
        for checkpoint_id in new & self.checkpoints.keys():
            if is_own or not is_trusted(self.places.records[checkpoint_id]):
                self._remove(checkpoint_id)
        return bool(new)

    def is_pruned(self, checkpoint_id: str, record: Record) -> bool:
        """True if it is gone, as far as prunes may tell `record`, which is its own or names it."""
        if checkpoint_id in self._pruned:
            return True
        return checkpoint_id in self._pruned_by_others and not is_trusted(record)

    def _label(self, record: Record, changed: bool) -> bool:
        self._latest = max(self._latest, record.get("at") or 0.0)
        self.places.checkpoints.forget(record["checkpoint"])
        return changed
