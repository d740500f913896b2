"""Records folded into a graph of checkpoints, branches and what is written on them. Pure.

They come in as journals give them, in any order; times and ids are theirs. Of a record only what
places it is looked at when it comes; the rest when it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from nbckpt.model import Record, Variable, is_trusted
from nbckpt.runtime.snapshot_dict import Snapshot, SnapshotDict
from nbckpt.timeline.ancestry import Lineage
from nbckpt.timeline.branches import Branches
from nbckpt.timeline.checkpoint_index import Checkpoints, Places
from nbckpt.timeline.last_change import Owners

MICROSECOND = 1e-6
_KINDS = frozenset(("checkpoint", "head", "drop", "tag", "note", "prune", "refused", "written"))
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Folding = TypeVar("_Folding", bound="Folding")


def alone(
    method: Callable[Concatenate[_Folding, _P], _T],
) -> Callable[Concatenate[_Folding, _P], _T]:
    """`method`, while no other thread is in one: a view asks while cells run."""

    @wraps(method)
    def call(self: _Folding, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self.lock:
            return method(self, *args, **kwargs)

    return call


class Folding:
    """The history that all records together describe.

    Attributes
    ----------
    checkpoints
        Id → checkpoint, in the order in which they came.
    revision
        Grows with every record that changed something.
    lock
        Held by each method; by a caller for answers that belong together.
    """

    checkpoints: Checkpoints

    def __init__(self) -> None:
        self.revision = 0
        self.lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        self._places = Places()
        self.checkpoints = self._places.checkpoints
        self._lineage = Lineage()
        self._branches = Branches(self._lineage)
        self._owners = Owners(self._places.records, self._lineage)
        self._pruned: set[str] = set()
        self._pruned_by_others: set[str] = set()
        self._latest = 0.0
        self._forget_manifests()

    def _forget_manifests(self) -> None:
        self._manifest: SnapshotDict[str, Variable] = SnapshotDict()
        self._manifest_of = ""
        self._manifests: dict[str, Snapshot[str, Variable]] = {}

    def _unfold(self) -> None:
        """Fold anew who owns what: a record is another, or came after one of its children."""
        self._owners.forget()
        self._forget_manifests()

    # -- folding

    @alone
    def clear(self, *, but: Container[str] = ()) -> None:
        """Forget everything, so that all records can be folded anew.

        Parameters
        ----------
        but
            Ids of checkpoints that stay: those that no reader can be given yet.
        """
        places = self._places
        whys = {i: str(places.records[i]["error"]) for i in places.refused}
        kept = [r for i, r in {**places.records, **places.refused}.items() if i in whys or i in but]
        moves = self._branches.moves_to({record["id"] for record in kept})
        self._begin()
        self.revision += 1
        for record in (*kept, *moves):
            self.apply(record)
        for i, why in whys.items():
            self._places.refuse(i, why)

    @alone
    def apply_all(self, records: Iterable[Record]) -> None:
        """Take in many records."""
        for record in records:
            if (kind := record.get("kind")) in _KINDS:
                self._apply(kind, record)

    @alone
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
                changed = self._branches.add(record)
                self._latest = max(self._latest, record.get("at") or 0.0)
            case "tag":
                changed = self._label(record, self._places.labels.tag(record))
            case "note":
                changed = self._label(record, self._places.labels.note(record))
            case "prune":
                changed = self._prune(record.get("pruned", ()), is_own=is_trusted(record))
            case "refused":
                changed = self._places.refuse(record["checkpoint"], record["reason"])
            case "written":
                changed = self._places.trust(record["checkpoint"])
            case _:
                return
        self.revision += changed

    @alone
    def later_than_all(self, now: float) -> float:
        """A time for a new record: `now`, but later than each move, tag and note that came."""
        return max(now, self._latest + MICROSECOND)

    def _add(self, record: Record) -> bool:
        checkpoint_id, places = record["id"], self._places
        if self._is_pruned(checkpoint_id, record) or not places.is_news(record):
            return False
        if checkpoint_id in places.records:
            self._remove(checkpoint_id)
        places.add(record)
        is_late = self._lineage.add(checkpoint_id, record.get("parent"))
        if is_late:  # another session's clock
            self._unfold()
        self._branches.has_come(checkpoint_id, is_late=is_late)
        return True

    def _remove(self, checkpoint_id: str) -> None:
        self._places.remove(checkpoint_id)
        self._lineage.remove(checkpoint_id)
        self._branches.changed()
        self._unfold()

    def _prune(self, ids: Iterable[str], *, is_own: bool) -> bool:
        known = self._pruned if is_own else self._pruned_by_others
        new = set(ids) - known
        known |= new
        for checkpoint_id in new & self.checkpoints.keys():
            if is_own or not is_trusted(self._places.records[checkpoint_id]):
                self._remove(checkpoint_id)
        return bool(new)

    def _is_pruned(self, checkpoint_id: str, record: Record) -> bool:
        """True if it is gone, as far as prunes may tell `record`, which is its own or names it."""
        if checkpoint_id in self._pruned:
            return True
        return checkpoint_id in self._pruned_by_others and not is_trusted(record)

    def _label(self, record: Record, changed: bool) -> bool:
        self._latest = max(self._latest, record.get("at") or 0.0)
        self._places.checkpoints.forget(record["checkpoint"])
        return changed
