"""Where each branch points, folded from the moves of its head. Pure."""

from __future__ import annotations

from bisect import insort
from collections.abc import Container
from typing import NamedTuple

from nbckpt.model import Record
from nbckpt.timeline.ancestry import Lineage

NOBODY = "\n"
"""No notebook is called so: it stands for records that do not tell whose they are."""


class Move(NamedTuple):
    """A head that was moved, or with no checkpoint a name that was dropped; sorts by time.

    Attributes
    ----------
    arrival
        Of a record without a time: how many came before it.
    overtaken
        Whether it is the name of an overtaken tip, which a prune has written down.
    is_look
        Whether the notebook has only gone to look there: its branch stays where it is.
    """

    at: float
    arrival: int
    branch: str
    checkpoint: str
    notebook: str = NOBODY
    overtaken: bool = False
    is_look: bool = False


class Branches:
    """Names and the tips that they keep.

    A branch is where its last move puts it. When that is not ahead of where the branch was (a
    rewind, or two sessions on one branch), the overtaken tip keeps a name of its own: ``main.1``,
    ``main.2``, shown as long as no other branch contains it.

    Notes
    -----
    Moves count in the order of their times, so that every reader sees the same graph, whichever
    journal it read first. One that comes late has all of them folded again, when somebody asks.
    A move to a checkpoint that is not known (not yet, or not any more) counts for nothing.
    """

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._moves: list[Move] = []
        self._known: set[Move] = set()
        self._awaited: set[str] = set()  # what moves name and has not come yet
        self._arrived = 0
        self._is_stale = False
        self._begin()

    def _begin(self) -> None:
        self._heads: dict[str, str] = {}
        self._overtaken: dict[str, str] = {}  # name given by the fold → the tip it keeps
        self._numbers: dict[str, int] = {}  # of the last name given to a branch's overtaken tips
        self._shown: dict[str, str] | None = None

    def add(self, record: Record) -> bool:
        """Take in the record of a move, or of a name that was dropped; whether it was new."""
        at, checkpoint = record.get("at"), record.get("checkpoint", "")
        arrival = 0 if at is not None else self._arrived + 1
        by = (
            record.get("notebook", NOBODY),
            bool(record.get("overtaken")),
            bool(record.get("look")),
        )
        move = Move(at or 0.0, arrival, record["branch"], checkpoint, *by)
        if move in self._known:  # a session's own come twice: when written, and when durable
            return False
        self._known.add(move)
        self._arrived += 1
        self._shown = None
        if checkpoint and checkpoint not in self._lineage:
            self._awaited.add(checkpoint)
        if self._moves and move < self._moves[-1]:
            insort(self._moves, move)
            self._is_stale = True
            return True
        self._moves.append(move)
        if not self._is_stale:
            self._fold(move)
        return True

    def has_come(self, checkpoint: str, *, is_late: bool) -> None:
        """Take note of a new checkpoint; `is_late` if a child of its came before it."""
        if is_late or checkpoint in self._awaited:
            self._awaited.discard(checkpoint)
            self.changed()

    def changed(self) -> None:
        """Take note that the lineage is another."""
        self._is_stale = True
        self._shown = None

    def head(self, branch: str) -> str | None:
        """Id of a branch's head."""
        self._settle()
        return self._heads.get(branch) or self.all().get(branch)

    def all(self) -> dict[str, str]:
        """Name of each branch that is shown → id of its head; not to be changed."""
        self._settle()
        if self._shown is None:
            self._shown = {**self._heads, **self._uncontained()}
        return self._shown

    def named(self) -> dict[str, str]:
        """Name of each branch, shown or not → id of its head."""
        self._settle()
        return {**self._overtaken, **self._heads}

    def is_overtaken(self, name: str) -> bool:
        """True if a name is one that the fold gave to an overtaken tip."""
        self._settle()
        return name in self._overtaken and name not in self._heads

    def is_taken(self, name: str) -> bool:
        """True if a name is that of a branch, shown or not."""
        self._settle()
        return name in self._heads or name in self._overtaken

    def last_of(self, notebook: str) -> tuple[float, str] | None:
        """When a notebook's session last moved a branch that still is one, and which."""
        branches = self.all()
        own = (m for m in reversed(self._moves) if m.notebook == notebook and m.checkpoint)
        return next(((m.at, m.branch) for m in own if m.branch in branches), None)

    def last_stand_of(self, notebook: str, branch: str) -> Move | None:
        """The last move of a notebook's session on a branch: to there, or to look there."""
        own = (m for m in reversed(self._moves) if m.notebook == notebook and m.checkpoint)
        return next((m for m in own if m.branch == branch), None)

    def stands_of(self, notebook: str) -> set[str]:
        """Ids of the checkpoints to which a notebook's sessions moved a branch, or only looked."""
        return {m.checkpoint for m in self._moves if m.notebook == notebook and m.checkpoint}

    def looks(self, but: Container[str] = ()) -> set[str]:
        """Ids of the checkpoints to which notebooks went back to look, on branches but these."""
        last = {(m.notebook, m.branch): m for m in self._moves if m.checkpoint}
        return {m.checkpoint for m in last.values() if m.is_look and m.branch not in but}

    def moves_to(self, checkpoints: Container[str]) -> list[Record]:
        """The records of the moves to these checkpoints."""
        return [
            {
                "kind": "head",
                "look": move.is_look,
                **{k: v for k, v in move._asdict().items() if k not in ("arrival", "is_look")},
            }
            for move in self._moves
            if move.checkpoint in checkpoints
        ]

    def _settle(self) -> None:
        if self._is_stale:
            self._begin()
            for move in self._moves:
                self._fold(move)
            self._is_stale = False  # last: what an interrupt leaves half folded is folded again

    def _fold(self, move: Move) -> None:
        if move.is_look:
            return
        if not move.checkpoint:
            self._heads.pop(move.branch, None)
            self._overtaken.pop(move.branch, None)
        elif move.overtaken:
            self._name(move.branch, move.checkpoint)
        elif move.checkpoint in self._lineage:
            old = self._heads.get(move.branch) or self._overtaken.pop(move.branch, None)
            self._heads[move.branch] = move.checkpoint
            if old and not self._lineage.is_ancestor(old, move.checkpoint):
                self._keep(move.branch, old)

    def _name(self, name: str, tip: str) -> None:
        """Give an overtaken tip the name that it had."""
        base, _, number = name.rpartition(".")
        if tip not in self._lineage or name in self._heads or not number.isdecimal():
            return
        for other in [n for n, t in self._overtaken.items() if t == tip]:
            del self._overtaken[other]
        displaced = self._overtaken.pop(name, None)
        self._overtaken[name] = tip
        self._numbers[base] = max(self._numbers.get(base, 0), int(number))
        if displaced is not None:
            self._keep(base, displaced)

    def _keep(self, branch: str, tip: str) -> None:
        """Let an overtaken tip keep a name: the one its line has already, or a new one."""
        is_ancestor = self._lineage.is_ancestor
        if any(is_ancestor(tip, kept) for kept in self._overtaken.values()):
            return
        for name, kept in self._overtaken.items():
            if name.rpartition(".")[0] == branch and is_ancestor(kept, tip):
                self._overtaken[name] = tip
                return
        n = self._numbers.get(branch, 0) + 1
        while f"{branch}.{n}" in self._overtaken or f"{branch}.{n}" in self._heads:
            n += 1
        self._overtaken[f"{branch}.{n}"] = tip
        self._numbers[branch] = n

    def _uncontained(self) -> dict[str, str]:
        """The overtaken tips that no head and no other of them descends from."""
        if not self._overtaken:
            return {}
        below: set[str] = set()  # what some tip descends from
        for head in self._heads.values():
            self._mark(head, below)
        for tip in self._overtaken.values():
            line = self._lineage.line(tip)
            next(line, None)
            self._mark(next(line, None), below)
        return {name: tip for name, tip in self._overtaken.items() if tip not in below}

    def _mark(self, tip: str | None, below: set[str]) -> None:
        for i in self._lineage.line(tip):
            if i in below:
                return
            below.add(i)
