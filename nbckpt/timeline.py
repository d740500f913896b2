"""The graph of checkpoints: ancestry, branches, what a reference means. Pure.

Records come in as journals give them; times and ids are theirs. Nothing here asks a clock or a
disk.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping

from nbckpt.digests import Digest
from nbckpt.errors import CheckpointNotFoundError, UsageError
from nbckpt.model import Checkpoint, Record, Variable, checkpoint_from

SHORTEST_PREFIX = 4
NTH = re.compile(r"(?P<name>.+)@(?P<nth>[1-9][0-9]*)")
BACK = re.compile(r"~(?P<steps>[0-9]*)")


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


class Timeline:
    """Checkpoints and branches, folded from records.

    A branch is where its last ``head`` record puts it. When that is not ahead of where the branch
    was (a rewind, or two sessions on one branch), the overtaken tip keeps a name of its own:
    ``main.1``, ``main.2``, shown as long as no other branch contains it.

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
        self._children: dict[str | None, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._depths: dict[str, int] = {}
        self._heads: dict[str, str] = {}
        self._overtaken: dict[str, str] = {}  # name given by the fold → the tip it keeps
        self._early_heads: list[Record] = []  # their checkpoint has not come yet
        self._branches: dict[str, str] | None = None
        self._manifests: dict[str, dict[str, str]] = {}

    # -- folding

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
            case _:
                return
        self.revision += 1
        self._branches = None

    def _add(self, record: Record) -> None:
        checkpoint_id = record["id"]
        if checkpoint_id in self._records:
            return
        self._records[checkpoint_id] = record
        self._children.setdefault(record.get("parent"), []).append(checkpoint_id)
        self._by_name.setdefault(record.get("name", ""), []).append(checkpoint_id)
        if checkpoint_id in self._children:  # came after its children: another session's clock
            self._depths.clear()
            self._manifests.clear()
        if self._early_heads:
            early, self._early_heads = self._early_heads, []
            for head in early:
                self._move(head)

    def _move(self, record: Record) -> None:
        branch, new = record["branch"], record["checkpoint"]
        if new not in self._records:
            self._early_heads.append(record)
            return
        old = self._heads.get(branch) or self._overtaken.pop(branch, None)
        self._heads[branch] = new
        if old and old != new and not self.is_ancestor(old, new):
            self._keep(branch, old)

    def _keep(self, branch: str, tip: str) -> None:
        """Let an overtaken tip keep a name: the one its line has already, or a new one."""
        if any(self.is_ancestor(tip, kept) for kept in self._overtaken.values()):
            return
        for name, kept in self._overtaken.items():
            if _base(name) == branch and self.is_ancestor(kept, tip):
                self._overtaken[name] = tip
                return
        n = 1
        while f"{branch}.{n}" in self._overtaken or f"{branch}.{n}" in self._heads:
            n += 1
        self._overtaken[f"{branch}.{n}"] = tip

    def _tag(self, record: Record) -> None:
        tags = self._tags.setdefault(record["checkpoint"], [])
        if record["tag"] not in tags:
            tags.append(record["tag"])
        assert isinstance(self.checkpoints, _Checkpoints)
        self.checkpoints.forget(record["checkpoint"])

    # -- the graph

    @property
    def branches(self) -> dict[str, str]:
        """Name of each branch → id of its head."""
        if self._branches is None:
            self._branches = dict(self._heads)
            for name, tip in self._overtaken.items():
                if not self._is_contained(name, tip):
                    self._branches[name] = tip
        return dict(self._branches)

    def _is_contained(self, name: str, tip: str) -> bool:
        others = [kept for other, kept in self._overtaken.items() if other != name and kept != tip]
        return any(self.is_ancestor(tip, head) for head in [*self._heads.values(), *others])

    def head(self, branch: str) -> Checkpoint | None:
        """The newest checkpoint of a branch; None if there is no such branch."""
        tip = self.branches.get(branch)
        return None if tip is None else self.checkpoints[tip]

    def ancestry(self, checkpoint_id: str) -> list[Checkpoint]:
        """The checkpoint, its parent, and so on to the first."""
        return [self.checkpoints[i] for i in self._line(checkpoint_id)]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` is `older` or descends from it."""
        if older not in self._records or newer not in self._records:
            return older == newer
        for _ in range(self._depth(newer) - self._depth(older)):
            newer = self._records[newer]["parent"]
        return newer == older

    def next_names(self, checkpoint_id: str) -> tuple[str, ...]:
        """Names of the recorded steps that follow a checkpoint, on any branch, oldest first."""
        children = [self._records[i] for i in self._children.get(checkpoint_id, ())]
        done = sorted((r for r in children if _state(r) == "done"), key=_age)
        return tuple(dict.fromkeys(r.get("name", "") for r in done))

    def _line(self, checkpoint_id: str | None) -> Iterator[str]:
        while checkpoint_id is not None and checkpoint_id in self._records:
            yield checkpoint_id
            checkpoint_id = self._records[checkpoint_id].get("parent")

    def _depth(self, checkpoint_id: str) -> int:
        """How many ancestors a checkpoint has."""
        above: list[str] = []
        for i in self._line(checkpoint_id):
            if i in self._depths:
                break
            above.append(i)
        for i in reversed(above):
            parent = self._records[i].get("parent")
            self._depths[i] = self._depths[parent] + 1 if parent in self._depths else 0
        return self._depths[checkpoint_id]

    # -- what a checkpoint holds

    def manifest(self, checkpoint_id: str) -> dict[str, Variable]:
        """Name → variable, of all that was kept of the namespace at a checkpoint."""
        return {
            name: self.checkpoints[owner].changed[name]
            for name, owner in self._owners(checkpoint_id).items()
        }

    def _owners(self, checkpoint_id: str) -> dict[str, str]:
        """Name of each variable → id of the checkpoint that last changed it."""
        unfolded = []
        owners: dict[str, str] = {}
        for i in self._line(checkpoint_id):
            if i in self._manifests:
                owners = dict(self._manifests[i])
                break
            unfolded.append(i)
        for i in reversed(unfolded):
            record = self._records[i]
            owners.update((variable["name"], i) for variable in record.get("changed", ()))
            for name in record.get("removed", ()):
                owners.pop(name, None)
        self._manifests[checkpoint_id] = owners
        return owners

    # -- finding

    def find(self, name: str, key_digest: Digest) -> list[Checkpoint]:
        """Finished checkpoints of this name and key, on any branch, newest first."""
        return [c for c in self.named(name) if c.state == "done" and _has_key(c, key_digest)]

    def partial(self, name: str, key_digest: Digest) -> Checkpoint | None:
        """The newest checkpoint of a loop of this name and key that did not finish."""
        found = (c for c in self.named(name) if c.state == "partial" and _has_key(c, key_digest))
        return next(found, None)

    def named(self, name: str) -> list[Checkpoint]:
        """All checkpoints of this name, on any branch, in any state, newest first."""
        ids = sorted(self._by_name.get(name, ()), key=lambda i: _age(self._records[i]))
        return [self.checkpoints[i] for i in reversed(ids)]

    def unfinished(self, branch: str) -> list[Checkpoint]:
        """The loops of a branch whose last run did not end, newest first."""
        newest: dict[str, Record] = {}
        for record in self._records.values():
            name = record.get("name", "")
            if record.get("branch", "main") == branch and _age(record) >= _age(
                newest.get(name, record)
            ):
                newest[name] = record
        left = (r for r in newest.values() if _state(r) == "partial")
        return [self.checkpoints[r["id"]] for r in sorted(left, key=_age, reverse=True)]

    def last_branch_of(self, notebook: str) -> str | None:
        """The branch of a notebook's newest finished checkpoint; None if it has none."""
        own = [
            record
            for record in self._records.values()
            if record.get("notebook", "") == notebook and _state(record) == "done"
        ]
        own = [r for r in own if r.get("branch", "main") in self.branches]
        return max(own, key=_age).get("branch", "main") if own else None

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
        line = list(self._done(here or self.branches.get(branch)))
        start = 1 if line and here and line[0] != here else 0
        if steps - start < len(line) and steps >= start:
            return self.checkpoints[line[steps - start]]
        message = (
            f"{ref!r} goes back before the first checkpoint: there are {len(line)} on"
            f" branch {branch!r} up to here; `nbckpt log` lists them"
        )
        raise CheckpointNotFoundError(message)

    def _on_branch(self, name: str, branch: str, here: str | None) -> Checkpoint | None:
        for start in (here, self.branches.get(branch)):
            if found := self._made(name, start):
                return self.checkpoints[found[0]]
        return None

    def _nth(self, ref: str, branch: str, here: str | None) -> Checkpoint | None:
        if not (nth := NTH.fullmatch(ref)):
            return None
        made: list[str] = []
        for start in (here, self.branches.get(branch)):
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
        return [i for i in self._done(start) if self._records[i].get("name", "") == name]

    def _done(self, start: str | None) -> Iterator[str]:
        return (i for i in self._line(start) if _state(self._records[i]) == "done")

    def _by_prefix(self, ref: str) -> Checkpoint | None:
        if len(ref) < SHORTEST_PREFIX:
            return None
        ids = [i for i in self._records if i.startswith(ref)]
        if len(ids) > 1:
            candidates = ", ".join(f"{i} ({self._records[i].get('name', '')!r})" for i in ids[:5])
            more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
            message = f"{ref!r} is the beginning of more than one id: {candidates}{more}"
            raise UsageError(message)
        return self.checkpoints[ids[0]] if ids else None

    def _unknown(self, ref: str, branch: str) -> str:
        name = nth["name"] if (nth := NTH.fullmatch(ref)) else ref
        told = f"no checkpoint {ref!r} on branch {branch!r}"
        if elsewhere := [c for c in self.named(name) if c.state == "done"]:
            newest = elsewhere[0]
            where = self._branch_of(newest.id)
            place = f"on branch {where!r}" if where else "on no branch any more"
            return f"{told}: {name!r} is {place}: use its id {self._short(newest.id)}"
        if unfinished := self.named(name):
            newest = unfinished[0]
            how = "failed" if newest.state == "failed" else "did not finish"
            return f"{told}: {name!r} {how}: use its id {self._short(newest.id)}"
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


def _state(record: Record) -> str:
    return str(record.get("state", "done"))


def _age(record: Record) -> tuple[float, str]:
    return (record.get("created_at", 0.0), record["id"])


def _has_key(checkpoint: Checkpoint, key_digest: Digest) -> bool:
    return checkpoint.key is not None and checkpoint.key.digest == key_digest


def _base(name: str) -> str:
    return name.rpartition(".")[0]
