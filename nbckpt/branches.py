"""Where each branch points, folded from the moves of its head. Pure."""

from __future__ import annotations

from nbckpt.lineage import Lineage


class Branches:
    """Names and the tips that they keep.

    A branch is where its last move puts it. When that is not ahead of where the branch was (a
    rewind, or two sessions on one branch), the overtaken tip keeps a name of its own: ``main.1``,
    ``main.2``, shown as long as no other branch contains it.
    """

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._heads: dict[str, str] = {}
        self._overtaken: dict[str, str] = {}  # name given by the fold → the tip it keeps
        self._numbers: dict[str, int] = {}  # of the last name given to a branch's overtaken tips
        self._shown: dict[str, str] | None = None

    def head(self, branch: str) -> str | None:
        """Id of a branch's head."""
        return self._heads.get(branch) or self.all().get(branch)

    def move(self, branch: str, new: str) -> None:
        """Put a branch at a checkpoint that is known."""
        old = self._heads.get(branch) or self._overtaken.pop(branch, None)
        self._heads[branch] = new
        self._shown = None
        if old and old != new and not self._lineage.is_ancestor(old, new):
            self._keep(branch, old)

    def changed(self) -> None:
        """Take note that the lineage has grown."""
        self._shown = None

    def all(self) -> dict[str, str]:
        """Name of each branch that is shown → id of its head; not to be changed."""
        if self._shown is None:
            self._shown = {**self._heads, **self._uncontained()}
        return self._shown

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
