"""The graph of checkpoints: ancestry, branches, what a reference means. Pure.

Records come in as journals give them; times and ids are theirs. Nothing here asks a clock or a
disk. Of a record only what places it is looked at when it comes; the rest when it is asked for.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbckpt.branches import Branches
from nbckpt.digests import Digest
from nbckpt.errors import CheckpointNotFoundError, UsageError
from nbckpt.lineage import Lineage
from nbckpt.model import Checkpoint, Record, Variable, checkpoint_from

SHORTEST_PREFIX = 4
NTH = re.compile(r"(?P<name>.+)@(?P<nth>[1-9][0-9]*)")
BACK = re.compile(r"~(?P<steps>[0-9]*)")
STRIDE = 64
"""From one checkpoint whose record says what it inherited to the next."""
MICROSECOND = 1e-6
REMEMBERED = 8
"""Manifests that are not folded again."""


class _Checkpoints(Mapping[str, Checkpoint]):
    """Id → checkpoint; a record is decoded when it is first asked for."""

    def __init__(self, records: Mapping[str, Record], tags: Mapping[str, list[str]]) -> None:
        self._records = records
        self._tags = tags
        self._decoded: dict[str, Checkpoint] = {}

    def __getitem__(self, checkpoint_id: str) -> Checkpoint:
        if checkpoint_id not in self._decoded:
            checkpoint = checkpoint_from(self._records[checkpoint_id])
            if tags := self._tags.get(checkpoint_id):
                tags = [*checkpoint.tags, *(t for t in tags if t not in checkpoint.tags)]
                checkpoint = dataclasses.replace(checkpoint, tags=tuple(tags))
            self._decoded[checkpoint_id] = checkpoint
        return self._decoded[checkpoint_id]

    def __contains__(self, checkpoint_id: object) -> bool:
        return checkpoint_id in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def forget(self, checkpoint_id: str) -> None:
        """Decode this one anew: its tags have changed."""
        self._decoded.pop(checkpoint_id, None)


class _Placed(NamedTuple):
    """What of a checkpoint says where it stands; sorts by age."""

    created_at: float
    id: str
    name: str
    branch: str
    notebook: str
    state: str


class Timeline:
    """Checkpoints and branches, folded from records.

    Attributes
    ----------
    checkpoints
        Id → checkpoint, in the order in which they came.
    revision
        Grows with every record that changed something.
    """

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._tags: dict[str, list[str]] = {}
        self.checkpoints: Mapping[str, Checkpoint] = _Checkpoints(self._records, self._tags)
        self.revision = 0
        self._latest = 0.0
        self._placed: dict[str, _Placed] = {}
        self._by_name: dict[str, list[_Placed]] = {}
        self._undone: dict[str, _Placed] = {}  # those that failed or did not finish
        self._lineage = Lineage()
        self._branches = Branches(self._lineage)
        self._early_heads: list[Record] = []  # their checkpoint has not come yet
        self._moves: set[tuple[str, str, float | None]] = set()
        self._refused: dict[str, Record] = {}  # what the disk lacks, as it was before it did
        self._owners_at: dict[str, dict[str, str]] = {}

    # -- folding

    def clear(self) -> None:
        """Forget everything, so that all records can be folded anew."""
        self.__dict__.update(Timeline().__dict__)

    def apply(self, record: Record) -> None:
        """Take in one record; kinds that are not the timeline's are ignored.

        Applying a record again changes nothing. A head may come before its checkpoint (another
        session's clock): it counts when the checkpoint is there.
        """
        match record.get("kind"):
            case "checkpoint":
                self._add(record)
            case "head":
                self._move(record)
            case "tag":
                self._tag(record)
            case "refused":
                self._refuse(record["checkpoint"], record["reason"])
            case "written":
                self._trust(record["checkpoint"])
            case _:
                return
        self.revision += 1

    def _add(self, record: Record) -> None:
        checkpoint_id = record["id"]
        if checkpoint_id in self._records:
            return
        self._records[checkpoint_id] = record
        placed = self._placed[checkpoint_id] = _Placed(
            record.get("created_at", 0.0),
            checkpoint_id,
            record.get("name", ""),
            record.get("branch", "main"),
            record.get("notebook", ""),
            record.get("state", "done"),
        )
        self._by_name.setdefault(placed.name, []).append(placed)
        if placed.state != "done":
            self._undone[checkpoint_id] = placed
        if self._lineage.add(checkpoint_id, record.get("parent")):  # another session's clock
            self._branches.changed()
            self._owners_at.clear()
        if self._early_heads:
            early, self._early_heads = self._early_heads, []
            for head in early:
                self._place_head(head)

    def _move(self, record: Record) -> None:
        # A session's own records come twice: when it writes them, and when they are durable. The
        # branch may have gone on by then, and must not go back.
        move = (record["branch"], record["checkpoint"], record.get("at"))
        if move not in self._moves or move[2] is None:
            self._moves.add(move)
            self._place_head(record)

    def _place_head(self, record: Record) -> None:
        if record["checkpoint"] in self._records:
            self._branches.move(record["branch"], record["checkpoint"])
        else:
            self._early_heads.append(record)

    def _refuse(self, checkpoint_id: str, reason: str) -> None:
        """Count a checkpoint as failed while the disk lacks it, as its own session knows."""
        if checkpoint_id in self._refused or checkpoint_id not in self._records:
            return
        record = self._refused[checkpoint_id] = self._records[checkpoint_id]
        self._put(checkpoint_id, {**record, "state": "failed", "error": reason})

    def _trust(self, checkpoint_id: str) -> None:
        if record := self._refused.pop(checkpoint_id, None):
            self._put(checkpoint_id, record)

    def _put(self, checkpoint_id: str, record: Record) -> None:
        """Take another record for a checkpoint, of another state."""
        self._records[checkpoint_id] = record
        before = self._placed[checkpoint_id]
        placed = self._placed[checkpoint_id] = before._replace(state=record.get("state", "done"))
        named = self._by_name[placed.name]
        named[named.index(before)] = placed
        self._undone.pop(checkpoint_id, None)
        if placed.state != "done":
            self._undone[checkpoint_id] = placed
        assert isinstance(self.checkpoints, _Checkpoints)
        self.checkpoints.forget(checkpoint_id)

    def _standing(self, tip: str | None) -> str | None:
        """The newest checkpoint of a tip's line that the disk did not refuse."""
        return next((i for i in self._lineage.line(tip) if i not in self._refused), None)

    def _tag(self, record: Record) -> None:
        tags = self._tags.setdefault(record["checkpoint"], [])
        if record["tag"] not in tags:
            tags.append(record["tag"])
        assert isinstance(self.checkpoints, _Checkpoints)
        self.checkpoints.forget(record["checkpoint"])

    def later_than_all(self, now: float) -> float:
        """A time for a new record: `now`, but later than that of each record that came."""
        return max(now, self._latest + MICROSECOND)

    # -- the graph

    @property
    def branches(self) -> dict[str, str]:
        """Name of each branch → id of its head."""
        tips = self._branches.all()
        if not self._refused:
            return dict(tips)
        return {name: head for name, tip in tips.items() if (head := self._standing(tip))}

    def head(self, branch: str) -> Checkpoint | None:
        """The newest checkpoint of a branch; None if there is no such branch."""
        tip = self._standing(self._branches.head(branch))
        return None if tip is None else self.checkpoints[tip]

    def is_branch(self, name: str) -> bool:
        """Whether a branch has this name, shown or not."""
        return self._branches.head(name) is not None

    def has_name(self, name: str) -> bool:
        """Whether a checkpoint has this name."""
        return name in self._by_name

    def step_names(self) -> list[str]:
        """The names of all finished checkpoints."""
        return [n for n, placed in self._by_name.items() if any(p.state == "done" for p in placed)]

    def following(
        self, checkpoint_id: str, *, branch: str, origin: str | None = None
    ) -> list[Checkpoint]:
        """The finished checkpoints that follow one, oldest first, on the line that is meant."""
        heads = (self._branches.head(branch), origin)
        tips = sorted(self._placed.values(), reverse=True)
        for tip in (*heads, *(p.id for p in tips)):
            if tip and tip != checkpoint_id and self.is_ancestor(checkpoint_id, tip):
                line = [i for i in self._done(tip) if i != checkpoint_id]
                below = [i for i in line if self.is_ancestor(checkpoint_id, i)]
                return [self.checkpoints[i] for i in reversed(below)]
        checkpoint = self.checkpoints[checkpoint_id]
        if checkpoint.made_by and checkpoint.parent in self._records:
            return self.following(checkpoint.parent, branch=branch, origin=origin)
        return []

    def ancestry(self, checkpoint_id: str) -> list[Checkpoint]:
        """The checkpoint, its parent, and so on to the first."""
        return [self.checkpoints[i] for i in self._lineage.line(checkpoint_id)]

    def count_ancestry(self, checkpoint_id: str) -> int:
        """How many checkpoints its line has, itself among them."""
        return self._lineage.depth(checkpoint_id) + 1

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` is `older` or descends from it."""
        return self._lineage.is_ancestor(older, newer)

    def next_names(self, checkpoint_id: str) -> tuple[str, ...]:
        """Names of the recorded steps that follow a checkpoint, on any branch, oldest first."""
        children = sorted(self._placed[i] for i in self._lineage.children(checkpoint_id))
        return tuple(dict.fromkeys(c.name for c in children if c.state == "done"))

    def log(self, branch: str | None) -> list[str]:
        """Ids of the checkpoints that a log of `branch` shows, newest first; None: of all.

        With the finished ones stand those that failed or did not finish, as long as they are the
        newest of their name.
        """
        if branch is None:
            shown = {i: p for i, p in self._placed.items() if p.state == "done"}
        else:
            shown = {i: self._placed[i] for i in self._lineage.line(self._branches.head(branch))}
        undone = [p for p in self._undone.values() if branch in (None, p.branch)]
        newest = (max(self._by_name[name]) for name in {p.name for p in undone})
        shown.update((p.id, p) for p in newest if p.state != "done")
        return [p.id for p in sorted(shown.values(), reverse=True)]

    # -- what a checkpoint holds

    def manifest(self, checkpoint_id: str) -> dict[str, Variable]:
        """Name → variable, of all that was kept of the namespace at a checkpoint."""
        return {
            name: self.checkpoints[owner].changed[name]
            for name, owner in self._owners(checkpoint_id).items()
        }

    def inherited(self, parent: str | None) -> dict[str, tuple[str, ...]]:
        """What a new child of `parent` is to say of its ancestors, so that its readers stop there.

        Here and there only: it is as long as the manifest.
        """
        if parent not in self._records or self.count_ancestry(parent) % STRIDE:
            return {}
        names: dict[str, list[str]] = {}
        for name, owner in self._owners(parent).items():
            names.setdefault(owner, []).append(name)
        return {owner: tuple(owned) for owner, owned in names.items()}

    def _owners(self, checkpoint_id: str) -> dict[str, str]:
        """Name of each variable → id of the checkpoint that last changed it."""
        unfolded: list[tuple[str, Record]] = []
        owners: dict[str, str] = {}
        for i in self._lineage.line(checkpoint_id):
            if i in self._owners_at:
                owners = dict(self._owners_at[i])
                break
            record = self._records[i]
            unfolded.append((i, record))
            if inherited := record.get("inherited"):
                owners = {name: owner for owner, names in inherited.items() for name in names}
                break
        for i, record in reversed(unfolded):
            owners.update((variable["name"], i) for variable in record.get("changed", ()))
            for name in record.get("removed", ()):
                owners.pop(name, None)
        self._owners_at[checkpoint_id] = owners
        while len(self._owners_at) > REMEMBERED:
            del self._owners_at[next(iter(self._owners_at))]
        return owners

    # -- finding

    def find(self, name: str, key_digest: Digest) -> list[Checkpoint]:
        """Finished checkpoints of this name and key, on any branch, newest first."""
        return [c for c in self._named(name, "done") if _has_key(c, key_digest)]

    def partial(self, name: str, key_digest: Digest) -> Checkpoint | None:
        """The newest checkpoint of a loop of this name and key that did not finish."""
        found = (c for c in self._named(name, "partial") if _has_key(c, key_digest))
        return next(found, None)

    def named(self, name: str) -> list[Checkpoint]:
        """All checkpoints of this name, on any branch, in any state, newest first."""
        placed = sorted(self._by_name.get(name, ()), reverse=True)
        return [self.checkpoints[p.id] for p in placed]

    def _named(self, name: str, state: str) -> Iterator[Checkpoint]:
        placed = (p for p in self._by_name.get(name, ()) if p.state == state)
        return (self.checkpoints[p.id] for p in sorted(placed, reverse=True))

    def unfinished(self, branch: str) -> list[Checkpoint]:
        """The loops of a branch whose last run did not end, newest first."""
        names = {p.name for p in self._undone.values() if p.branch == branch}
        newest = [max(p for p in self._by_name[name] if p.branch == branch) for name in names]
        left = (p for p in newest if p.state == "partial")
        return [self.checkpoints[p.id] for p in sorted(left, reverse=True)]

    def last_branch_of(self, notebook: str) -> str | None:
        """The branch of a notebook's newest finished checkpoint; None if it has none."""
        branches = self._branches.all()
        own = (p for p in self._placed.values() if p.notebook == notebook and p.state == "done")
        newest = max((p for p in own if p.branch in branches), default=None)
        return None if newest is None else newest.branch

    # -- references

    def resolve(
        self, ref: str, *, branch: str, here: str | None = None, before: str | None = None
    ) -> Checkpoint:
        """The checkpoint that a user means by `ref` (design section 2).

        Where two readings fit, the first of these counts: ``-``; ``~N``; a name on this branch;
        ``NAME@N``; a whole id; a branch; the beginning of an id. Names and ``~N`` mean finished
        checkpoints; an id, and a branch, any.

        Parameters
        ----------
        branch
            The branch to look for names on, and for ``~N`` when there is no `here`.
        here
            Id of the checkpoint that the session stands on.
        before
            Id of the one it stood on before the last rewind.

        Raises
        ------
        CheckpointNotFoundError
            If none is meant.
        UsageError
            If `ref` is the beginning of more than one id.
        """
        if ref == "-":
            return self._before(before)
        if back := BACK.fullmatch(ref):
            return self._back(ref, int(back["steps"] or 1), branch, here)
        found = (
            self._on_branch(ref, branch, here)
            or self._nth(ref, branch, here)
            or self.checkpoints.get(ref)
            or self.head(ref)
            or self._by_prefix(ref)
        )
        if found is None:
            raise CheckpointNotFoundError(self._unknown(ref, branch))
        return found

    def _before(self, before: str | None) -> Checkpoint:
        if before is None or before not in self._records:
            message = "'-' is where you were before the last rewind, and there was none"
            raise CheckpointNotFoundError(message)
        return self.checkpoints[before]

    def _back(self, ref: str, steps: int, branch: str, here: str | None) -> Checkpoint:
        line = list(self._done(here or self._branches.head(branch)))
        start = 1 if line and here and line[0] != here else 0
        if steps - start < len(line) and steps >= start:
            return self.checkpoints[line[steps - start]]
        message = (
            f"{ref!r} goes back before the first checkpoint: there are {len(line)} on"
            f" branch {branch!r} up to here; `nbckpt log` lists them"
        )
        raise CheckpointNotFoundError(message)

    def _on_branch(self, name: str, branch: str, here: str | None) -> Checkpoint | None:
        for start in (here, self._branches.head(branch)):
            if found := self._made(name, start):
                return self.checkpoints[found[0]]
        return None

    def _nth(self, ref: str, branch: str, here: str | None) -> Checkpoint | None:
        if not (nth := NTH.fullmatch(ref)):
            return None
        made: list[str] = []
        for start in (here, self._branches.head(branch)):
            made = self._made(nth["name"], start)
            if int(nth["nth"]) <= len(made):
                return self.checkpoints[made[-int(nth["nth"])]]
        if not made:
            return None
        message = (
            f"no checkpoint {ref!r}: branch {branch!r} has {nth['name']!r} {len(made)} times;"
            " `nbckpt log` lists them"
        )
        raise CheckpointNotFoundError(message)

    def _made(self, name: str, start: str | None) -> list[str]:
        """Ids of the finished checkpoints of a name, newest first, in the line of `start`."""
        if name not in self._by_name:
            return []
        return [i for i in self._done(start) if self._placed[i].name == name]

    def _done(self, start: str | None) -> Iterator[str]:
        return (i for i in self._lineage.line(start) if self._placed[i].state == "done")

    def _by_prefix(self, ref: str) -> Checkpoint | None:
        if len(ref) < SHORTEST_PREFIX:
            return None
        ids = [i for i in self._records if i.startswith(ref)]
        if len(ids) > 1:
            candidates = ", ".join(f"{i} ({self._placed[i].name!r})" for i in ids[:5])
            more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
            message = f"{ref!r} is the beginning of more than one id: {candidates}{more}"
            raise UsageError(message)
        return self.checkpoints[ids[0]] if ids else None

    def _unknown(self, ref: str, branch: str) -> str:
        name = nth["name"] if (nth := NTH.fullmatch(ref)) else ref
        told = f"no checkpoint {ref!r} on branch {branch!r}"
        if newest := next(self._named(name, "done"), None):
            where = self._branch_of(newest.id)
            place = f"on branch {where!r}" if where else "on no branch any more"
            return f"{told}: {name!r} is {place}: use its id {self._short(newest.id)}"
        if unfinished := self.named(name):
            newest = unfinished[0]
            how = "failed" if newest.state == "failed" else "did not finish"
            return f"{told}: {name!r} {how}: use its id {self._short(newest.id)}"
        import difflib

        known = [n for n in [*self._by_name, *self.branches] if n]
        if close := difflib.get_close_matches(name, known, n=3):
            told += f"; did you mean {' or '.join(map(repr, close))}?"
        return f"{told}; `nbckpt log` lists them"

    def _branch_of(self, checkpoint_id: str) -> str | None:
        heads = self.branches.items()
        return next((name for name, tip in heads if self.is_ancestor(checkpoint_id, tip)), None)

    def _short(self, checkpoint_id: str) -> str:
        """The shortest beginning that means this id alone, 8 characters or more."""
        others = [i for i in self._records if i != checkpoint_id]
        for length in range(8, len(checkpoint_id)):
            if not any(i.startswith(checkpoint_id[:length]) for i in others):
                return checkpoint_id[:length]
        return checkpoint_id


def _has_key(checkpoint: Checkpoint, key_digest: Digest) -> bool:
    return checkpoint.key is not None and checkpoint.key.digest == key_digest
