"""Checkpoints that lean on others whose records are lost → records that stand without them. Pure.

What a checkpoint holds is told by its own record, and by those of its ancestors. Where it repeats
which ancestor changed what (`inherited`), those that are left still count; what only a lost one
knew is named as lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from nbckpt.model import Checkpoint, Record, Variable
from nbckpt.storage.counted_records import CHECKPOINT
from nbckpt.timeline.checkpoint_records import checkpoint_from, checkpoint_record

UNKNOWN = "?"


class Bridged(NamedTuple):
    """A checkpoint as it stands without the lost ones.

    Attributes
    ----------
    record
        To be written instead of its first one.
    lost
        Names that it held and that nobody knows any more; `UNKNOWN` if they are not known either.
    """

    record: Record
    lost: tuple[str, ...]


class _Left(NamedTuple):
    """Variables left of a manifest, and the names of those that are lost."""

    variables: Mapping[str, Variable]
    lost: frozenset[str]


def bridged(records: Iterable[Record], at: float) -> dict[str, Bridged]:
    """Id → how a checkpoint stands, of those that lean on ones that are not there.

    Parameters
    ----------
    records
        Those that count.
    at
        When this is done, for the records to say: of two the later one counts.
    """
    by_id = {record["id"]: record for record in records if record["kind"] == CHECKPOINT}
    bridges = _Bridges({i: checkpoint_from(record) for i, record in by_id.items()})
    return {i: bridges.over(by_id[i], at) for i in bridges.leaning()}


class _Bridges:
    def __init__(self, checkpoints: Mapping[str, Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._left: dict[str, _Left] = {}

    def leaning(self) -> list[str]:
        """Ids of those that name an ancestor that is not there."""
        known = self._checkpoints.keys()
        return [
            i for i, c in self._checkpoints.items()
            if not {*([c.parent] if c.parent else []), *c.inherited} <= known
        ]  # fmt: skip

    def over(self, record: Record, at: float) -> Bridged:
        checkpoint = self._checkpoints[record["id"]]
        parent = self._parent(checkpoint)
        base = self._of(parent) if parent else _Left({}, frozenset())
        own = self._of(checkpoint.id)
        carried = {
            name: variable for name, variable in own.variables.items()
            if name not in checkpoint.changed and base.variables.get(name) != variable
        }  # fmt: skip
        gone = sorted(base.variables.keys() - own.variables.keys() - {*checkpoint.removed})
        new = {name: member for name, member in record.items() if name != "inherited"}
        # Said even where nothing is carried: it is what tells this record from the first one.
        new["carried"] = checkpoint_record(replace(checkpoint, carried=carried)).get("carried", [])
        new["parent"], new["at"] = parent, at
        if gone:
            new["removed"] = [*checkpoint.removed, *gone]
        return Bridged(new, tuple(sorted(own.lost)))

    def _parent(self, checkpoint: Checkpoint) -> str | None:
        """The nearest ancestor that is left, as far as the record tells."""
        if checkpoint.parent in self._checkpoints:
            return checkpoint.parent
        left = [self._checkpoints[i] for i in checkpoint.inherited if i in self._checkpoints]
        return max(left, key=lambda c: c.created_at).id if left else None

    def _of(self, checkpoint_id: str) -> _Left:
        """The rest of a checkpoint's manifest; without recursion, for histories are long."""
        line: dict[str, Checkpoint] = {}
        at: str | None = checkpoint_id
        while (
            at is not None and at in self._checkpoints and at not in self._left and at not in line
        ):
            checkpoint = line[at] = self._checkpoints[at]
            at = None if checkpoint.inherited else checkpoint.parent
        for checkpoint in reversed(line.values()):
            self._left[checkpoint.id] = self._of_one(checkpoint)
        return self._left[checkpoint_id]

    def _of_one(self, checkpoint: Checkpoint) -> _Left:
        if checkpoint.inherited:
            before = self._inherited(checkpoint)
        elif checkpoint.parent is None:
            before = _Left({}, frozenset())
        else:
            lost = frozenset({UNKNOWN})
            before = self._left.get(checkpoint.parent, _Left({}, lost))
        own = {**checkpoint.carried, **checkpoint.changed}
        kept = {n: v for n, v in before.variables.items() if n not in checkpoint.removed}
        return _Left({**kept, **own}, before.lost - own.keys() - {*checkpoint.removed})

    def _inherited(self, checkpoint: Checkpoint) -> _Left:
        """The rest of those variables that the record says ancestors were the last to change."""
        variables: dict[str, Variable] = {}
        lost: set[str] = set()
        for ancestor, names in checkpoint.inherited.items():
            owner = self._checkpoints.get(ancestor)
            own = {**owner.carried, **owner.changed} if owner else {}
            variables.update((name, own[name]) for name in names if name in own)
            lost.update(name for name in names if name not in own)
        return _Left(variables, frozenset(lost))
