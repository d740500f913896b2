"""Descent of ids: their parents, and queries that stay quick in a long history. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Lineage:
    """Ids and their parents, which may come in any order.

    Each id has, beside its parent, one ancestor far above it to jump to [1]_, so that who descends
    from whom is told in a logarithm of the steps between them.

    References
    ----------
    .. [1] Myers, "An applicative random-access stack", Information Processing Letters, 1983.
    """

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._children: dict[str | None, list[str]] = {}
        self._depths: dict[str, int] = {}
        self._jumps: dict[str, str] = {}

    def __contains__(self, node: object) -> bool:
        return node in self._parents

    def add(self, node: str, parent: str | None) -> bool:
        """Take in an id; whether it came after one of its children.

        Nobody descends from himself: a parent that does so from `node` is none.
        """
        late = node in self._children
        if parent == node or (late and self._closes(node, parent)):
            parent = None
        self._parents[node] = parent
        self._children.setdefault(parent, []).append(node)
        if late:
            self._depths.clear()
            self._jumps.clear()
        return late

    def _closes(self, node: str, parent: str | None) -> bool:
        """True if `parent` descends from `node`, which is not there yet but in what others say.

        Asked from both ends at once, so that many such questions take no longer than the shorter
        of the two lines, whatever somebody wrote to make them long.
        """
        below = [node]
        for above in self.line(parent):
            if self._parents[above] == node:
                return True
            below += self._children.get(below.pop(), ())
            if not below:
                return False
        return False

    def remove(self, node: str) -> None:
        """Forget an id; its children have no parent that is known."""
        parent = self._parents.pop(node)
        self._children[parent].remove(node)
        self._depths.clear()
        self._jumps.clear()

    def children(self, node: str) -> Sequence[str]:
        """The ids whose parent it is, in the order in which they came."""
        return self._children.get(node, ())

    def line(self, node: str | None) -> Iterator[str]:
        """The id, its parent, and so on to the first, or to the last that is known."""
        parents = self._parents
        while node is not None and node in parents:
            yield node
            node = parents[node]

    def depth(self, node: str) -> int:
        """Number of ancestors of an id."""
        if node not in self._depths:
            self._measure(node)
        return self._depths[node]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` is `older` or descends from it."""
        if self._parents.get(newer) == older and older in self._parents:  # nearly always
            return True
        if older == newer or older not in self._parents or newer not in self._parents:
            return older == newer
        if older not in self._children:
            return False
        depth, depths = self.depth(older), self._depths
        self.depth(newer)
        while depths[newer] > depth:
            jump = self._jumps[newer]
            newer = jump if depths[jump] >= depth else self._parents[newer] or jump
        return newer == older

    def _measure(self, node: str) -> None:
        above = []
        for i in self.line(node):
            if i in self._depths:
                break
            above.append(i)
        depths, jumps = self._depths, self._jumps
        for i in reversed(above):
            parent = self._parents[i]
            if parent is None or parent not in depths:
                depths[i], jumps[i] = 0, i
                continue
            far = jumps[parent]
            # Jumps of equal length are joined to one of twice the length.
            joins = depths[parent] - depths[far] == depths[far] - depths[jumps[far]]
            depths[i], jumps[i] = depths[parent] + 1, jumps[far] if joins else parent
