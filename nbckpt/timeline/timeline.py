"""The graph of checkpoints: ancestry, branches, what follows what. Pure.

Nothing here asks a clock or a disk. What a REF means is decided by `references`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from nbckpt.digests import Digest
from nbckpt.model import AUTOMATIC, Checkpoint, Record, Variable
from nbckpt.runtime.snapshot_dict import Snapshot
from nbckpt.timeline import listings
from nbckpt.timeline.checkpoint_index import Checkpoints
from nbckpt.timeline.fold import Fold

_P = ParamSpec("_P")
_T = TypeVar("_T")


def alone(
    method: Callable[Concatenate[Timeline, _P], _T],
) -> Callable[Concatenate[Timeline, _P], _T]:
    """`method`, while no other thread is in one: a view asks while cells run."""

    @wraps(method)
    def call(self: Timeline, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self.lock:
            return method(self, *args, **kwargs)

    return call


class Timeline:
    """Checkpoints and branches, and what can be asked of them.

    Attributes
    ----------
    fold
        What all records together describe; who looks into it holds `lock`.
    lock
        Held by each method; by a caller for answers that belong together.
    """

    def __init__(self) -> None:
        self.fold = Fold()
        self.lock = threading.RLock()

    @property
    def checkpoints(self) -> Checkpoints:
        """Id → checkpoint, in the order in which they came."""
        return self.fold.checkpoints

    @property
    def revision(self) -> int:
        """A number that grows with every record that changed something."""
        return self.fold.revision

    @alone
    def clear(self, *, but: Container[str] = ()) -> None:
        """Forget everything, so that all records can be folded anew.

        Parameters
        ----------
        but
            Ids of checkpoints that stay: those that no reader can be given yet.
        """
        self.fold.clear(but=but)

    @alone
    def apply_all(self, records: Iterable[Record]) -> None:
        """Take in many records."""
        self.fold.apply_all(records)

    @alone
    def apply(self, record: Record, made: Checkpoint | None = None) -> None:
        """Take in one record; kinds that are not the timeline's are ignored.

        Applying a record again changes nothing, and neither does another order of the same ones.

        Parameters
        ----------
        made
            The checkpoint that the record is of, if it was made here: it need not be decoded.
        """
        self.fold.apply(record)
        if made is not None:
            self.fold.checkpoints.know(made)

    @alone
    def later_than_all(self, now: float) -> float:
        """A time for a new record: `now`, but later than each move, tag and note that came."""
        return self.fold.later_than_all(now)

    @property
    @alone
    def branches(self) -> dict[str, str]:
        """Name of each branch → id of its head."""
        tips = self.fold.branches.all()
        if not self.fold.places.refused:
            return dict(tips)
        return {name: head for name, tip in tips.items() if (head := self._standing(tip))}

    @alone
    def named_tips(self) -> dict[str, str]:
        """The same with the overtaken tips that another branch contains, which are not shown."""
        return self.fold.branches.named()

    @alone
    def is_overtaken(self, name: str) -> bool:
        """True if a name is that of an overtaken tip: shown while no other branch contains it."""
        return self.fold.branches.is_overtaken(name)

    @alone
    def is_branch(self, name: str) -> bool:
        """True if a branch has this name, or had it and was overtaken."""
        return self.fold.branches.is_taken(name)

    @alone
    def tip(self, branch: str) -> str | None:
        """Id of what a branch was last moved to, whether the disk has it or not."""
        return self.fold.branches.head(branch)

    @alone
    def head(self, branch: str) -> Checkpoint | None:
        """The newest checkpoint of a branch; None if there is no such branch."""
        tip = self._standing(self.tip(branch))
        return None if tip is None else self.checkpoints[tip]

    def _standing(self, tip: str | None) -> str | None:
        """The newest checkpoint of a tip's line that the disk did not refuse."""
        return next(
            (i for i in self.fold.lineage.line(tip) if i not in self.fold.places.refused), None
        )

    @alone
    def branch_of(self, checkpoint_id: str) -> str | None:
        """The first branch that holds a checkpoint; None if none does."""
        heads = self.branches.items()
        return next((name for name, tip in heads if self.is_ancestor(checkpoint_id, tip)), None)

    @alone
    def line(self, checkpoint_id: str | None) -> list[str]:
        """Ids of the checkpoint, its parent, and so on to the first that is known."""
        return list(self.fold.lineage.line(checkpoint_id))

    @alone
    def finished(self, checkpoint_id: str | None) -> list[str]:
        """Of these, the ones that are done."""
        return [
            i for i in self.fold.lineage.line(checkpoint_id) if i not in self.fold.places.undone
        ]

    @alone
    def ancestry(self, checkpoint_id: str) -> list[Checkpoint]:
        """The checkpoint, its parent, and so on to the first."""
        return [self.checkpoints[i] for i in self.fold.lineage.line(checkpoint_id)]

    @alone
    def count_ancestry(self, checkpoint_id: str) -> int:
        """Number of checkpoints on its line, itself included."""
        return self.fold.lineage.depth(checkpoint_id) + 1

    @alone
    def missing_ancestor(self, checkpoint_id: str) -> str | None:
        """Id of an ancestor whose record is not there although nobody pruned it."""
        *_, first = self.fold.lineage.line(checkpoint_id)
        records = self.fold.places.records
        parent: str | None = records[first].get("parent")
        known = parent is None or parent in records or self.fold.is_pruned(parent, records[first])
        return None if known else parent

    @alone
    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` is `older` or descends from it."""
        return self.fold.lineage.is_ancestor(older, newer)

    @alone
    def children(self, checkpoint_id: str) -> Sequence[str]:
        """Ids of the checkpoints that were made from it, in the order in which they came."""
        return self.fold.lineage.children(checkpoint_id)

    @alone
    def newest_first(self) -> list[str]:
        """Ids of all finished checkpoints."""
        return listings.newest_first(self.fold)

    @alone
    def log(self, branch: str | None) -> list[str]:
        """Ids of the checkpoints that a log of `branch` shows, newest first; None: of all.

        With the finished ones stand those that failed or did not finish, as long as they are the
        newest of their name there.
        """
        return listings.log(self.fold, branch)

    @alone
    def manifest(self, checkpoint_id: str) -> Snapshot[str, Variable]:
        """Name → variable, of all that was kept of the namespace at a checkpoint."""
        return self.fold.manifests.of(checkpoint_id)

    @alone
    def inherited(self, parent: str | None) -> dict[str, tuple[str, ...]]:
        """Owners that a new child of `parent` records of its ancestors, where its readers stop.

        Only some checkpoints have them: they are as long as the manifest.
        """
        return self.fold.owners.inherited(parent)

    @property
    @alone
    def has_given(self) -> bool:
        """True if values were given by hand somewhere."""
        return bool(self.fold.places.by_hand)

    @alone
    def n_undone(self) -> int:
        """The number of names whose newest checkpoint failed or did not finish."""
        return sum(placed[-1].state != "done" for placed in self.fold.places.by_name.values())

    @alone
    def names(self, state: str | None = None) -> list[str]:
        """The names of the checkpoints of one state, or of all."""
        by_name = self.fold.places.by_name.items()
        return [n for n, placed in by_name if any(state in (None, p.state) for p in placed)]

    @alone
    def find(self, name: str, key_digest: Digest) -> list[Checkpoint]:
        """Finished checkpoints of this name and key, on any branch, newest first.

        Those that are not trusted stand for nothing: anybody can write any key.
        """
        done = map(self.checkpoints.__getitem__, self.fold.places.named(name, "done"))
        return [c for c in done if c.trusted and _has_key(c, key_digest)]

    @alone
    def begun(self, name: str, code: Digest) -> list[Checkpoint]:
        """Checkpoints of this name and code that say with what they began, newest first."""
        found = map(self.checkpoints.__getitem__, self.fold.places.named(name))
        return [c for c in found if c.trusted and c.began_as and c.key and c.key.code == code]

    @alone
    def partial(self, name: str, key_digest: Digest) -> Checkpoint | None:
        """The newest checkpoint of a loop of this name and key that did not finish since."""
        known = map(self.checkpoints.__getitem__, self.fold.places.named(name))
        ended = (c for c in known if c.trusted and c.state in ("partial", "done"))
        newest = next((c for c in ended if _has_key(c, key_digest)), None)
        return newest if newest is not None and newest.state == "partial" else None

    @alone
    def named(self, name: str) -> list[Checkpoint]:
        """All checkpoints of this name, on any branch, in any state, newest first."""
        return [self.checkpoints[i] for i in self.fold.places.named(name)]

    @alone
    def tags(self) -> list[str]:
        """The tags that people gave, in alphabetical order."""
        given = {tag for checkpoint in self.checkpoints.values() for tag in checkpoint.tags}
        return sorted(given - {AUTOMATIC})

    @alone
    def tagged(self, tag: str) -> list[Checkpoint]:
        """The checkpoints that people gave a tag, on any branch, newest first."""
        if tag == AUTOMATIC:
            return []
        placed = sorted(self.fold.places.placed.values(), reverse=True)
        return [c for p in placed if tag in (c := self.checkpoints[p.id]).tags]

    @alone
    def made(self, name: str, start: str | None) -> list[str]:
        """Ids of the finished checkpoints of a name, newest first, in the line of `start`."""
        own = {p.id for p in self.fold.places.by_name.get(name, ())}
        return [i for i in self.finished(start) if i in own] if own else []

    @alone
    def unfinished(self, branch: str) -> list[Checkpoint]:
        """The loops of a branch whose last run did not end, newest first.

        Those of a checkpoint that the branch was forked from are its own, too.
        """
        return [self.checkpoints[i] for i in listings.unfinished(self.fold, branch)]

    @alone
    def last_branch_of(self, notebook: str) -> str | None:
        """The branch that a notebook's session last moved; None if there is none any more."""
        return listings.last_branch_of(self.fold, notebook)

    @alone
    def of_notebook(self, notebook: str) -> set[str]:
        """Ids of the checkpoints that a notebook has made, or whose line it is on; all for ""."""
        return listings.of_notebook(self.fold, notebook)

    @alone
    def is_foreign(self, checkpoint: Checkpoint, notebook: str) -> bool:
        """True if another notebook has made a checkpoint, and this one was never there."""
        if not notebook or checkpoint.notebook in ("", notebook):
            return False
        return checkpoint.id not in listings.of_notebook(self.fold, notebook)

    @alone
    def own_head(self, branch: str, notebook: str) -> Checkpoint | None:
        """Checkpoint that a notebook resumes from on a branch: its head, unless another notebook's.

        Otherwise the one where this notebook stood last, or its newest there; None if there is
        none.
        """
        head = self.head(branch)
        if head is None or not notebook or head.notebook in ("", notebook):
            return head
        stood = listings.last_stand(self.fold, branch, notebook)
        return None if stood is None else self.checkpoints[stood]

    @alone
    def look_of(self, branch: str, notebook: str) -> Checkpoint | None:
        """Checkpoint to which a notebook has gone back to look, and from which nothing went on."""
        stood = self.fold.branches.last_stand_of(notebook, branch)
        is_look = stood is not None and stood.is_look and stood.checkpoint in self.checkpoints
        return self.checkpoints[stood.checkpoint] if is_look and stood else None

    @alone
    def looks(self, but: Container[str] = ()) -> set[str]:
        """Ids of the checkpoints to which notebooks went back to look, on branches but these."""
        return self.fold.branches.looks(but)


def _has_key(checkpoint: Checkpoint, key_digest: Digest) -> bool:
    return checkpoint.key is not None and checkpoint.key.digest == key_digest
