"""Variables that are absent because they could not be kept, and the cells that make them again.

A restore leaves them out. Which cells made them is noted here; `remake` runs those when something
that has to run needs one of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from nbckpt.digests import Digest
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Cell, Checkpoint, Refusal


class Maker(NamedTuple):
    """A cell that made a variable, or changed it afterwards.

    Attributes
    ----------
    checkpoint
        That of the cell or, of one that was not kept by itself, the one that it was joined to.
    cell
        The code, as it was typed.
    is_joined
        Whether it was joined to the checkpoint.
    was_asked_for
        Whether the user ran this cell in this session, and it was restored instead.
    order
        Of two, the one that is to run first has the lower one.
    """

    checkpoint: Checkpoint
    cell: Cell
    is_joined: bool = False
    was_asked_for: bool = False
    order: int = 0

    @property
    def name(self) -> str:
        """Name that people know it by."""
        return self.checkpoint.name


@dataclass(eq=False, repr=False)
class Unkept(Own):
    """Variables that a namespace lacks of those that its cells made.

    Attributes
    ----------
    since
        Id of the checkpoint that the namespace was brought to as a whole: variables that it lacks
        are looked up in its history when first needed. None if that was done, or never has to be.
    failed
        Variables that the checkpoint holds, and that did not come back from it.
    makers
        Name of each variable that is lacking → the cells that make it, oldest first. A name that is
        bound again lacks no more.
    digests
        Digests of their values, as a key has them, where they could be told.
    told
        Messages about variables that were made again, or were not.
    has_lost_results
        True if a restored cell's result may not have been kept.
    """

    since: str | None = None
    failed: frozenset[str] = frozenset()
    makers: dict[str, tuple[Maker, ...]] = field(default_factory=dict)
    digests: dict[str, Digest] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    has_lost_results: bool = False
    _noted: int = 0

    def next_order(self) -> int:
        """The order of a cell that comes after all that were noted."""
        self._noted += 1
        return self._noted

    def noted(self, checkpoint: Checkpoint) -> Maker:
        """The cell of a checkpoint that is restored where it stands in the notebook."""
        return Maker(checkpoint, checkpoint.cell, was_asked_for=True, order=self.next_order())

    def forget(self, names: Iterable[str]) -> None:
        """Look for no cell that makes these: another has bound or deleted them."""
        for name in names:
            self.makers.pop(name, None)
            self.digests.pop(name, None)

    def lacking(self, namespace: Container[str]) -> list[str]:
        """The names that are not there, and that a cell makes again."""
        return [name for name in self.makers if name not in namespace]

    def absent(self, namespace: Container[str]) -> tuple[list[Refusal], list[str]]:
        """The same by why they are not there: those that were refused, and those left out.

        A return to a checkpoint that is made meanwhile finds by this what it has to make again.
        """
        names = self.lacking(namespace)
        lost = {r.variable: r for n in names for r in self.makers[n][-1].checkpoint.refused}
        return [lost[n] for n in names if n in lost], [n for n in names if n not in lost]


def refused_by(checkpoint: Checkpoint) -> set[str]:
    """Variables that were there after a cell, and that its checkpoint does not hold."""
    return {refusal.variable for refusal in checkpoint.refused} | set(checkpoint.omitted)


def changes(checkpoint: Checkpoint, name: str) -> bool:
    """True if a cell may have changed a variable that could not be kept, and did not bind it."""
    if checkpoint.key is None:
        return False
    if name not in checkpoint.key.inputs:  # it may hold what the cell changed
        return name in checkpoint.lacking and name not in checkpoint.bound
    return checkpoint.lacking.get(name) != checkpoint.key.inputs[name]
