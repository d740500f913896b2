"""The graph of checkpoints: ancestry, branches, what follows what. Pure.

Nothing here asks a clock or a disk. What a REF means is told by `references`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from nbckpt.digests import Digest
from nbckpt.model import AUTOMATIC, Checkpoint, Variable
from nbckpt.runtime.snapshot_dict import Snapshot, SnapshotDict
from nbckpt.timeline import following as sequel
from nbckpt.timeline import references
from nbckpt.timeline.checkpoint_index import Placed
from nbckpt.timeline.fold import Folding, alone
from nbckpt.timeline.last_change import REMEMBERED


class Timeline(Folding):
    """Checkpoints and branches, and what can be asked of them."""

    # -- the graph

    @property
    @alone
    def branches(self) -> dict[str, str]:
        """Name of each branch → id of its head."""
        tips = self._branches.all()
        if not self._places.refused:
            return dict(tips)
        return {name: head for name, tip in tips.items() if (head := self._standing(tip))}

    @alone
    def named_tips(self) -> dict[str, str]:
        """The same with the overtaken tips that another branch contains, which are not shown."""
        return self._branches.named()

    @alone
    def is_overtaken(self, name: str) -> bool:
        """True if a name is that of an overtaken tip: shown while no other branch contains it."""
        return self._branches.is_overtaken(name)

    @alone
    def is_branch(self, name: str) -> bool:
        """True if a branch has this name, or had it and was overtaken."""
        return self._branches.is_taken(name)

    @alone
    def tip(self, branch: str) -> str | None:
        """Id of what a branch was last moved to, whether the disk has it or not."""
        return self._branches.head(branch)

    @alone
    def head(self, branch: str) -> Checkpoint | None:
        """The newest checkpoint of a branch; None if there is no such branch."""
        tip = self._standing(self.tip(branch))
        return None if tip is None else self.checkpoints[tip]

    def _standing(self, tip: str | None) -> str | None:
        """The newest checkpoint of a tip's line that the disk did not refuse."""
        return next((i for i in self._lineage.line(tip) if i not in self._places.refused), None)

    @alone
    def branch_of(self, checkpoint_id: str) -> str | None:
        """The first branch that holds a checkpoint; None if none does."""
        heads = self.branches.items()
        return next((name for name, tip in heads if self.is_ancestor(checkpoint_id, tip)), None)

    @alone
    def line(self, checkpoint_id: str | None) -> list[str]:
        """Ids of the checkpoint, its parent, and so on to the first that is known."""
        return list(self._lineage.line(checkpoint_id))

    @alone
    def finished(self, checkpoint_id: str | None) -> list[str]:
        """Of these, the ones that are done."""
        return [i for i in self._lineage.line(checkpoint_id) if i not in self._places.undone]

    @alone
    def ancestry(self, checkpoint_id: str) -> list[Checkpoint]:
        """The checkpoint, its parent, and so on to the first."""
        return [self.checkpoints[i] for i in self._lineage.line(checkpoint_id)]

    @alone
    def count_ancestry(self, checkpoint_id: str) -> int:
        """Number of checkpoints on its line, itself included."""
        return self._lineage.depth(checkpoint_id) + 1

    @alone
    def missing_ancestor(self, checkpoint_id: str) -> str | None:
        """Id of an ancestor whose record is not there although nobody pruned it."""
        *_, first = self._lineage.line(checkpoint_id)
        records = self._places.records
        parent: str | None = records[first].get("parent")
        known = parent is None or parent in records or self._is_pruned(parent, records[first])
        return None if known else parent

    @alone
    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` is `older` or descends from it."""
        return self._lineage.is_ancestor(older, newer)

    @alone
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

    @alone
    def next_names(self, checkpoint_id: str) -> tuple[str, ...]:
        """Names of the recorded steps that follow a checkpoint, on any branch, oldest first.

        What follows values that were given by hand is what followed the step they stand for.
        """
        return sequel.next_names(self, checkpoint_id)

    @alone
    def children(self, checkpoint_id: str) -> Sequence[str]:
        """Ids of the checkpoints that were made from it, in the order in which they came."""
        return self._lineage.children(checkpoint_id)

    @alone
    def newest_first(self) -> list[str]:
        """Ids of all finished checkpoints."""
        placed = self._places.placed.values()
        return [p.id for p in sorted(placed, reverse=True) if p.state == "done"]

    @alone
    def log(self, branch: str | None) -> list[str]:
        """Ids of the checkpoints that a log of `branch` shows, newest first; None: of all.

        With the finished ones stand those that failed or did not finish, as long as they are the
        newest of their name there.
        """
        places = self._places
        if branch is None:
            shown = {i: p for i, p in places.placed.items() if p.state == "done"}
        else:
            shown = {i: places.placed[i] for i in self._lineage.line(self.tip(branch))}
        undone = [p for p in places.undone.values() if branch in (None, p.branch)]
        newest = [
            max(p for p in places.by_name[name] if branch in (None, p.branch) or p.id in shown)
            for name in {p.name for p in undone}
        ]
        shown.update((p.id, p) for p in newest if p.state != "done")
        return [p.id for p in sorted(shown.values(), reverse=True)]

    # -- what a checkpoint holds

    @alone
    def manifest(self, checkpoint_id: str) -> Snapshot[str, Variable]:
        """Name → variable, of all that was kept of the namespace at a checkpoint."""
        known = self._manifests
        if (found := known.get(checkpoint_id)) is None:
            record = self._places.records[checkpoint_id]
            if record.get("parent") != self._manifest_of:
                self._manifest = SnapshotDict(self._whole_manifest(checkpoint_id))
            else:
                self._go_on(self._manifest, self.checkpoints[checkpoint_id])
            self._manifest_of = checkpoint_id
            found = self._manifest.snapshot()
            known[checkpoint_id] = found
            while len(known) > REMEMBERED:
                del known[next(iter(known))]
        return found

    def _whole_manifest(self, checkpoint_id: str) -> dict[str, Variable]:
        owners = self._owners.of(checkpoint_id)
        return {name: self._variable(owner, name) for name, owner in owners.items()}

    @staticmethod
    def _go_on(manifest: SnapshotDict[str, Variable], checkpoint: Checkpoint) -> None:
        """Make the manifest of a parent that of its child."""
        manifest.update({**checkpoint.carried, **checkpoint.changed})
        for name in checkpoint.removed:
            manifest.pop(name, None)

    def _variable(self, owner: str, name: str) -> Variable:
        checkpoint = self.checkpoints[owner]
        return checkpoint.changed.get(name) or checkpoint.carried[name]

    @alone
    def inherited(self, parent: str | None) -> dict[str, tuple[str, ...]]:
        """Owners that a new child of `parent` records of its ancestors, where its readers stop.

        Only some checkpoints have them: they are as long as the manifest.
        """
        return self._owners.inherited(parent)

    # -- finding

    @alone
    def names(self, state: str | None = None) -> list[str]:
        """The names of the checkpoints of one state, or of all."""
        by_name = self._places.by_name.items()
        return [n for n, placed in by_name if any(state in (None, p.state) for p in placed)]

    @alone
    def find(self, name: str, key_digest: Digest) -> list[Checkpoint]:
        """Finished checkpoints of this name and key, on any branch, newest first.

        Those that are not trusted stand for nothing: anybody can write any key.
        """
        done = map(self.checkpoints.__getitem__, self._places.named(name, "done"))
        return [c for c in done if c.trusted and _has_key(c, key_digest)]

    @alone
    def begun(self, name: str, code: Digest) -> list[Checkpoint]:
        """Checkpoints of this name and code that say with what they began, newest first."""
        found = map(self.checkpoints.__getitem__, self._places.named(name))
        return [c for c in found if c.trusted and c.began_as and c.key and c.key.code == code]

    @alone
    def partial(self, name: str, key_digest: Digest) -> Checkpoint | None:
        """The newest checkpoint of a loop of this name and key that did not finish."""
        partial = map(self.checkpoints.__getitem__, self._places.named(name, "partial"))
        return next((c for c in partial if c.trusted and _has_key(c, key_digest)), None)

    @alone
    def named(self, name: str) -> list[Checkpoint]:
        """All checkpoints of this name, on any branch, in any state, newest first."""
        return [self.checkpoints[i] for i in self._places.named(name)]

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
        placed = sorted(self._places.placed.values(), reverse=True)
        return [c for p in placed if tag in (c := self.checkpoints[p.id]).tags]

    @alone
    def made(self, name: str, start: str | None) -> list[str]:
        """Ids of the finished checkpoints of a name, newest first, in the line of `start`."""
        own = {p.id for p in self._places.by_name.get(name, ())}
        return [i for i in self.finished(start) if i in own] if own else []

    @alone
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

    @alone
    def last_branch_of(self, notebook: str) -> str | None:
        """The branch that a notebook's session last moved; None if there is none any more."""
        branches = self._branches.all()
        placed = self._places.placed.values()
        own = (p for p in placed if p.notebook == notebook and p.state == "done")
        newest = max((p for p in own if p.branch in branches), default=None)
        made = (newest.created_at, newest.branch) if newest else None
        known = [last for last in (made, self._branches.last_of(notebook)) if last]
        return max(known)[1] if known else None

    @alone
    def own_head(self, branch: str, notebook: str) -> Checkpoint | None:
        """Checkpoint that a notebook resumes from on a branch: its head, unless another notebook's.

        Otherwise the one where this notebook stood last, or its newest there; None if there is
        none.
        """
        head = self.head(branch)
        if head is None or not notebook or head.notebook in ("", notebook):
            return head
        stood = self._branches.last_stand_of(notebook, branch)
        if stood is not None and stood in self.checkpoints:
            return self.checkpoints[stood]
        placed = self._places.placed.values()
        own = (p for p in placed if p.notebook == notebook and p.branch == branch)
        newest = max((p for p in own if p.state == "done"), default=None)
        return None if newest is None else self.checkpoints[newest.id]

    @alone
    def resolve(
        self, ref: str, *, branch: str, here: str | None = None, before: str | None = None
    ) -> Checkpoint:
        """The checkpoint that a user means by `ref`.

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
