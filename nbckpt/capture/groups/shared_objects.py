"""Variables that hold a common object that can change, as the last looks at them found.

A step's key names those of its inputs that share. To find them takes as long as pickling them, and
a capture a moment ago has just done that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbckpt.codecs.encode import Encoded


class Ties:
    """Remembers of each variable with which others it directly shares."""

    def __init__(self) -> None:
        self._of: dict[str, frozenset[str]] = {}

    def learn(self, ties: Mapping[str, frozenset[str]]) -> None:
        """Note what a look found: name → the names it shares with."""
        self._of.update(ties)

    def forget(self, name: str) -> None:
        """Know nothing of a variable any more."""
        self._of.pop(name, None)

    def groups(self, names: Iterable[str]) -> list[tuple[str, ...]] | None:
        """The groups of two and more among `names`; None if one of them is not known."""
        wanted = list(names)
        if not all(name in self._of for name in wanted):
            return None
        pairs = [(name, other) for name in wanted for other in self._of[name] if other in wanted]
        return [group for group in connected(wanted, pairs) if len(group) > 1]


def _pairs_of(shares: Mapping[str, Collection[int]]) -> list[tuple[str, str]]:
    """The pairs of variables that have an object in common."""
    pairs: list[tuple[str, str]] = []
    seen: set[int] = set()
    before: list[str] = []
    by_size = sorted((name for name in shares if shares[name]), key=lambda n: len(shares[n]))
    for name in by_size:  # the largest last: no set is made of it
        ids = shares[name]
        if not seen.isdisjoint(ids):
            pairs += [(other, name) for other in before if not set(shares[other]).isdisjoint(ids)]
        if name != by_size[-1]:
            seen.update(ids)
        before.append(name)
    return pairs


def connected(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The connected components of `names`, each sorted; in the order of their first names."""
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for one, other in pairs:
        leader[find(one)] = find(other)
    groups: dict[str, list[str]] = {}
    for name in sorted(leader):
        groups.setdefault(find(name), []).append(name)
    return [tuple(group) for group in groups.values()]


def _mutual(needs: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
    """Pairs of definitions that need each other: neither could be loaded first."""

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        queue = [name]
        while queue:
            more = needs.get(queue.pop(), frozenset()) - found
            found |= more
            queue.extend(more)
        return found

    reach = {name: reached(name) for name, needed in needs.items() if needed}
    return [(a, b) for a, names in reach.items() for b in names if a in reach.get(b, ())]


def pairs_of_encoded(encoded: Mapping[str, Encoded]) -> list[tuple[str, str]]:
    """Pairs of variables that share what can change, or of which one lies on the other's memory."""
    pairs = _pairs_of({name: one.shares for name, one in encoded.items()})
    arrays = {name: one for name, one in encoded.items() if one.views}
    seen = frozenset[int]().union(*(one.views for one in arrays.values()))
    for table, one in encoded.items():
        for memory in one.tables & seen:
            pairs += [
                (table, name)
                for name, other in arrays.items()
                if name != table and memory in other.views
                if memory in one.written or memory in other.written
            ]
    return pairs


def mutual_groups(
    groups: Iterable[tuple[str, ...]], encoded: Mapping[str, Encoded]
) -> list[tuple[str, str]]:
    """Pairs of groups, each by its first name, that need each other's definitions."""
    first = {name: group[0] for group in groups for name in group}
    needs: dict[str, set[str]] = {}
    for name, one in encoded.items():
        if needed := {first[n] for n in one.needs if n in first} - {first[name]}:
            needs.setdefault(first[name], set()).update(needed)
    return _mutual({name: frozenset(needed) for name, needed in needs.items()})
