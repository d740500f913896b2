"""The graph of checkpoints: ancestry, branches, what follows what. Pure.

Records come in as journals give them, in any order; times and ids are theirs. Nothing here asks a
clock or a disk. Of a record only what places it is looked at when it comes; the rest when it is
asked for. What a REF means is told by `references`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from nbckpt import references, sequel
from nbckpt.branches import Branches
from nbckpt.digests import Digest
from nbckpt.lineage import Lineage
from nbckpt.model import Checkpoint, Record, Variable
from nbckpt.owners import Owners
from nbckpt.places import Placed, Places

MICROSECOND = 1e-6
_P = ParamSpec("_P")
_T = TypeVar("_T")


def _alone(
    method: Callable[Concatenate[Timeline, _P], _T],
) -> Callable[Concatenate[Timeline, _P], _T]:
    """`method`, while no other thread is in one: a view asks while cells run."""

    @wraps(method)
    def call(self: Timeline, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self.lock:
            return method(self, *args, **kwargs)

    return call


class Timeline:
    """Checkpoints and branches, folded from records.

    Attributes
    ----------
    checkpoints
        Id → checkpoint, in the order in which they came.
    revision
        Grows with every record that changed something.
    lock
        Held by each method; by a caller for answers that belong together.
    """

    checkpoints: Mapping[str, Checkpoint]

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
        self._latest = 0.0

    # -- folding

    @_alone
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

    @_alone
    def apply(self, record: Record) -> None:
        """Take in one record; kinds that are not the timeline's are ignored.

        Applying a record again changes nothing, and neither does another order of the same ones.
        """
        match record.get("kind"):
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
                changed = self._prune(record.get("pruned", ()))
            case "refused":
                changed = self._places.refuse(record["checkpoint"], record["reason"])
            case "written":
                changed = self._places.trust(record["checkpoint"])
            case _:
                return
        self.revision += changed

    @_alone
    def later_than_all(self, now: float) -> float:
        """A time for a new record: `now`, but later than each move, tag and note that came."""
        return max(now, self._latest + MICROSECOND)

    def _add(self, record: Record) -> bool:
        checkpoint_id = record["id"]
        if checkpoint_id in self._pruned or not self._places.is_news(record):
            return False
        if checkpoint_id in self.checkpoints:
            self._remove(checkpoint_id)
        self._places.add(record)
        is_late = self._lineage.add(checkpoint_id, record.get("parent"))
        if is_late:  # another session's clock
            self._owners.forget()
        self._branches.has_come(checkpoint_id, is_late=is_late)
        return True

    def _remove(self, checkpoint_id: str) -> None:
        self._places.remove(checkpoint_id)
        self._lineage.remove(checkpoint_id)
        self._branches.changed()
        self._owners.forget()

    def _prune(self, ids: Iterable[str]) -> bool:
        new = set(ids) - self._pruned
        self._pruned |= new
        for checkpoint_id in new & self.checkpoints.keys():
            self._remove(checkpoint_id)
        return bool(new)

    def _label(self, record: Record, changed: bool) -> bool:
        self._latest = max(self._latest, record.get("at") or 0.0)
        self._places.checkpoints.forget(record["checkpoint"])
        return changed

    # -- the graph

    @property
    @_alone
    def branches(self) -> dict[str, str]:
        """Name of each branch → id of its head."""
        tips = self._branches.all()
        if not self._places.refused:
            return dict(tips)
        return {name: head for name, tip in tips.items() if (head := self._standing(tip))}

    @_alone
    def is_branch(self, name: str) -> bool:
        """Whether a branch has this name, or had it and was overtaken."""
        return self._branches.is_taken(name)

    @_alone
    def tip(self, branch: str) -> str | None:
        """Id of what a branch was last moved to, whether the disk has it or not."""
        return self._branches.head(branch)

    @_alone
    def head(self, branch: str) -> Checkpoint | None:
        """The newest checkpoint of a branch; None if there is no such branch."""
        tip = self._standing(self.tip(branch))
        return None if tip is None else self.checkpoints[tip]

    def _standing(self, tip: str | None) -> str | None:
        """The newest checkpoint of a tip's line that the disk did not refuse."""
        return next((i for i in self._lineage.line(tip) if i not in self._places.refused), None)

    @_alone
    def branch_of(self, checkpoint_id: str) -> str | None:
        """The first branch that holds a checkpoint; None if none does."""
        heads = self.branches.items()
        return next((name for name, tip in heads if self.is_ancestor(checkpoint_id, tip)), None)

    @_alone
    def line(self, checkpoint_id: str | None) -> list[str]:
        """Ids of the checkpoint, its parent, and so on to the first that is known."""
        return list(self._lineage.line(checkpoint_id))

    @_alone
    def finished(self, checkpoint_id: str | None) -> list[str]:
        """Of these, the ones that are done."""
        return [i for i in self._lineage.line(checkpoint_id) if i not in self._places.undone]

    @_alone
    def ancestry(self, checkpoint_id: str) -> list[Checkpoint]:
        """The checkpoint, its parent, and so on to the first."""
        return [self.checkpoints[i] for i in self._lineage.line(checkpoint_id)]

    @_alone
    def count_ancestry(self, checkpoint_id: str) -> int:
        """How many checkpoints its line has, itself among them."""
        return self._lineage.depth(checkpoint_id) + 1

    @_alone
    def missing_ancestor(self, checkpoint_id: str) -> str | None:
        """Id of an ancestor whose record is not there although nobody pruned it."""
        *_, first = self._lineage.line(checkpoint_id)
        records = self._places.records
        parent: str | None = records[first].get("parent")
        known = parent is None or parent in records or parent in self._pruned
        return None if known else parent

    @_alone
    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` is `older` or descends from it."""
        return self._lineage.is_ancestor(older, newer)

    @_alone
    def following(
        self, checkpoint_id: str, *, branch: str, origin: str | None = None
    ) -> list[Checkpoint]:
        """The finished checkpoints that follow one, oldest first; none at the end of its line.

        Of several lines, the first of these counts: that of `branch`; that of `origin`; the newest.
        Where values were given by hand and nothing has followed them, what follows is what followed
        the step that they stand for.

        Parameters
        ----------
        branch
            The one that the session is on.
        origin
            Where it was before it moved.
        """
        return sequel.following(self, checkpoint_id, branch=branch, origin=origin)

    @_alone
    def next_names(self, checkpoint_id: str) -> tuple[str, ...]:
        """Names of the recorded steps that follow a checkpoint, on any branch, oldest first.

        What follows values that were given by hand is what followed the step they stand for.
        """
        return sequel.next_names(self, checkpoint_id)

    @_alone
    def children(self, checkpoint_id: str) -> Sequence[str]:
        """Ids of the checkpoints that were made from it, in the order in which they came."""
        return self._lineage.children(checkpoint_id)

    @_alone
    def newest_first(self) -> list[str]:
        """Ids of all finished checkpoints."""
        placed = self._places.placed.values()
        return [p.id for p in sorted(placed, reverse=True) if p.state == "done"]

    @_alone
    def log(self, branch: str | None) -> list[str]:
        """Ids of the checkpoints that a log of `branch` shows, newest first; None: of all.

        With the finished ones stand those that failed or did not finish, as long as they are the
        newest of their name.
        """
        places = self._places
        if branch is None:
            shown = {i: p for i, p in places.placed.items() if p.state == "done"}
        else:
            shown = {i: places.placed[i] for i in self._lineage.line(self.tip(branch))}
        undone = [p for p in places.undone.values() if branch in (None, p.branch)]
        newest = (max(places.by_name[name]) for name in {p.name for p in undone})
        shown.update((p.id, p) for p in newest if p.state != "done")
        return [p.id for p in sorted(shown.values(), reverse=True)]

    # -- what a checkpoint holds

    @_alone
    def manifest(self, checkpoint_id: str) -> dict[str, Variable]:
        """Name → variable, of all that was kept of the namespace at a checkpoint."""
        owners = self._owners.of(checkpoint_id)
        return {name: self._variable(owner, name) for name, owner in owners.items()}

    def _variable(self, owner: str, name: str) -> Variable:
        checkpoint = self.checkpoints[owner]
        return checkpoint.changed.get(name) or checkpoint.carried[name]

    @_alone
    def inherited(self, parent: str | None) -> dict[str, tuple[str, ...]]:
        """What a new child of `parent` is to say of its ancestors, so that its readers stop there.

        Here and there only: it is as long as the manifest.
        """
        return self._owners.inherited(parent)

    # -- finding

    @_alone
    def names(self, state: str | None = None) -> list[str]:
        """The names of the checkpoints of one state, or of all."""
        by_name = self._places.by_name.items()
        return [n for n, placed in by_name if any(state in (None, p.state) for p in placed)]

    @_alone
    def find(self, name: str, key_digest: Digest) -> list[Checkpoint]:
        """Finished checkpoints of this name and key, on any branch, newest first."""
        done = map(self.checkpoints.__getitem__, self._places.named(name, "done"))
        return [c for c in done if _has_key(c, key_digest)]

    @_alone
    def partial(self, name: str, key_digest: Digest) -> Checkpoint | None:
        """The newest checkpoint of a loop of this name and key that did not finish."""
        partial = map(self.checkpoints.__getitem__, self._places.named(name, "partial"))
        return next((c for c in partial if _has_key(c, key_digest)), None)

    @_alone
    def named(self, name: str) -> list[Checkpoint]:
        """All checkpoints of this name, on any branch, in any state, newest first."""
        return [self.checkpoints[i] for i in self._places.named(name)]

    @_alone
    def tags(self) -> list[str]:
        """The tags that people gave, in alphabetical order."""
        given = {tag for checkpoint in self.checkpoints.values() for tag in checkpoint.tags}
        return sorted(given - {sequel.AUTOMATIC})

    @_alone
    def tagged(self, tag: str) -> list[Checkpoint]:
        """The checkpoints that people gave a tag, on any branch, newest first."""
        if tag == sequel.AUTOMATIC:
            return []
        placed = sorted(self._places.placed.values(), reverse=True)
        return [c for p in placed if tag in (c := self.checkpoints[p.id]).tags]

    @_alone
    def made(self, name: str, start: str | None) -> list[str]:
        """Ids of the finished checkpoints of a name, newest first, in the line of `start`."""
        own = {p.id for p in self._places.by_name.get(name, ())}
        return [i for i in self.finished(start) if i in own] if own else []

    @_alone
    def unfinished(self, branch: str) -> list[Checkpoint]:
        """The loops of a branch whose last run did not end, newest first.

        Those of a checkpoint that the branch was forked from are its own, too.
        """
        partial = [p for p in self._places.undone.values() if p.state == "partial"]
        if not partial:
            return []
        line = set(self._lineage.line(self.tip(branch)))
        newest = [self._newest_for(name, branch, line) for name in {p.name for p in partial}]
        left = (p for p in newest if p is not None and p.state == "partial")
        return [self.checkpoints[p.id] for p in sorted(left, reverse=True)]

    def _newest_for(self, name: str, branch: str, line: Container[str]) -> Placed | None:
        """The newest of a name on a branch or, if there is none, after what is on its line."""
        placed = self._places.by_name[name]
        own = [p for p in placed if p.branch == branch or p.id in line]
        parent = {p.id: self._places.records[p.id].get("parent") for p in placed}
        return max(own or [p for p in placed if parent[p.id] in line], default=None)

    @_alone
    def last_branch_of(self, notebook: str) -> str | None:
        """The branch that a notebook's session last moved; None if there is none any more."""
        branches = self._branches.all()
        placed = self._places.placed.values()
        own = (p for p in placed if p.notebook == notebook and p.state == "done")
        newest = max((p for p in own if p.branch in branches), default=None)
        made = (newest.created_at, newest.branch) if newest else None
        known = [last for last in (made, self._branches.last_of(notebook)) if last]
        return max(known)[1] if known else None

    @_alone
    def resolve(
        self, ref: str, *, branch: str, here: str | None = None, before: str | None = None
    ) -> Checkpoint:
        """The checkpoint that a user means by `ref` (design section 2).

        Where two readings fit, the first of these counts: ``-``; ``~N``; a name on this branch;
        ``NAME@N``; a whole id; a branch; a tag, of the newest that has it; the beginning of an id.
        Names and ``~N`` mean finished checkpoints; the others any.

        Parameters
        ----------
        branch
            The branch to look for names on, and for ``~N`` when there is no `here`.
        here
            Id of the checkpoint that the session stands on.
        before
            Id of the one it stood on before it last moved.

        Raises
        ------
        CheckpointNotFoundError
            If none is meant.
        UsageError
            If `ref` is the beginning of more than one id.
        """
        return references.resolve(self, ref, branch=branch, here=here, before=before)


def _has_key(checkpoint: Checkpoint, key_digest: Digest) -> bool:
    return checkpoint.key is not None and checkpoint.key.digest == key_digest
