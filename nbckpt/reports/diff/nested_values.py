"""Values that are made of others, by path: containers, dataclasses, models, any object's members.

What a value's own `__eq__` says is not asked: what differs inside it is what is told.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import compress
from types import ModuleType
from typing import Any, NamedTuple

from nbckpt.reports.diff.aligning import Stretch, ends, stretches
from nbckpt.reports.diff.details import (
    Detail,
    Limits,
    Row,
    same,
)
from nbckpt.reports.diff.drawings import is_drawing
from nbckpt.reports.diff.parts import (
    Parts,
    Step,
    keyed,
    parts_of,
)
from nbckpt.reports.diff.value_texts import (
    ELLIPSIS,
    is_equal,
    is_scalar,
    told,
    told_apart,
)
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import type_name_of
from nbckpt.text.units import count_text
from nbckpt.types.adapter import Missing, Pair
from nbckpt.types.registry import adapter_for

ONE = Limits(rows=1, lines=0, objects=50_000, compared_bytes=100_000_000)
"""For an array or a frame that is a part of something else."""

PATH_CHARACTERS = 120
Leaf = Callable[[Any, Any, Limits], Detail | None]
LEAVES: list[Leaf] = []
"""Families of values that are parts of others and are not walked; `families` names them."""


class Place(NamedTuple):
    """A pair of values to be compared, and the way to them."""

    before: Any
    after: Any
    step: Step | None
    parent: Place | None

    def path(self) -> str:
        """The way from the variable to here, as one would write it."""
        steps: list[str] = []
        place: Place | None = self
        while place is not None:
            steps.append(str(place.step or ""))
            place = place.parent
        return "".join(reversed(steps))


def detail(before: Any, after: Any, limits: Limits) -> Detail | None:
    """Differences between two values made of others; None if one has no parts, or another type."""
    if is_scalar(before) or type_name_of(before) != type_name_of(after):
        return None
    walk = Walk(limits).run(before, after)
    return None if walk.n_unknown and walk.seen == 1 else walk.detail()


def are_equal(before: Any, after: Any) -> bool:
    """True if nothing is found to differ in the first so many parts of two values."""
    walk = Walk(ONE).run(before, after)
    return not walk.count and not walk.n_unknown


class Walk:
    """A walk through two values side by side.

    Attributes
    ----------
    rows
        The first places where they differ.
    count, added, removed
        How many there are, and how many of these are in one of the two only.
    n_unknown
        Parts that cannot be looked into.
    seen
        Parts that were compared.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.rows: list[Row] = []
        self.count = self.added = self.removed = 0
        self.n_unknown = 0
        self.seen = 0
        self.is_cut = False
        self.is_by_place = self.is_drawn = False
        self._met: set[tuple[int, int]] = set()
        self._alive: list[object] = []  # so that no id is given to another object meanwhile

    def run(self, before: Any, after: Any) -> Walk:
        """Compare all there is, in order, up to the limit."""
        until = time.monotonic() + self.limits.walk_s
        waiting = [iter([Place(before, after, None, None)])]
        while waiting and not self.is_cut:
            place = next(waiting[-1], None)
            if place is None:
                waiting.pop()
                continue
            self.seen += 1
            self.is_cut = self.seen >= self.limits.objects or (
                self.seen % 256 == 0 and time.monotonic() > until
            )
            waiting.append(self._compare(place))
        return self

    def detail(self) -> Detail:
        """The findings of the walk."""
        looked = f"the first {self.seen:,} parts" if self.is_cut else count_text(self.seen, "part")
        if self.count:
            changed = self.count - self.added - self.removed
            counts = (("added", self.added), ("removed", self.removed), ("changed", changed))
            summary = ", ".join(f"{n:,} {what}" for what, n in counts if n)
            summary += f" in {looked}" if self.is_cut else ""
            summary += "; long lists were compared place by place" if self.is_by_place else ""
            more = self.count - len(self.rows)
            return Detail("tree", summary, tuple(self.rows), more=more)
        if self.n_unknown:
            inside = count_text(self.n_unknown, "part")
            return Detail("tree", f"no difference found; {inside} cannot be looked into")
        if self.is_cut:
            return Detail("tree", f"no difference in {looked}; the rest was not compared")
        if self.is_drawn:
            return Detail("tree", "no difference found in titles, labels, limits, colors and data")
        return same("tree")

    def _compare(self, place: Place) -> Iterator[Place]:
        before, after = place.before, place.after
        if before is after:
            return
        if before is Missing or after is Missing:
            self._differ(place)
        elif is_scalar(before) or is_scalar(after):
            if not is_equal(before, after):
                self._differ(place)
        elif (found := self._of_leaf(before, after)) is not None:
            if not found.is_same:
                self._differ(place, found)
        else:
            yield from self._inside(place)

    def _of_leaf(self, before: Any, after: Any) -> Detail | None:
        for leaf in LEAVES if type(before) not in _PLAIN else ():
            try:
                found = leaf(before, after, ONE)
            except user_code_errors():  # what a value may raise when it is asked what it is
                continue
            if found:
                return found
        return None

    def _inside(self, place: Place) -> Iterator[Place]:
        before, after = place.before, place.after
        pair = id(before), id(after)
        if pair in self._met:
            return
        self._met.add(pair)
        self._alive.append((before, after))
        if isinstance(before, ModuleType) or type_name_of(before) != type_name_of(after):
            if told(before) != told(after) or type_name_of(before) != type_name_of(after):
                self._differ(place)
            return
        if type(before) is dict and type(after) is dict and _are_flat_dicts(before, after):
            yield from _of_flat_dicts(place, before, after)
            return
        if (pairs := _told_pairs(before, after)) is not None:
            yield from (Place(p.before, p.after, Step("%s", p.path), place) for p in pairs)
            return
        self.is_drawn |= is_drawing(before)
        old, new = parts_of(before), parts_of(after)
        if old is None or new is None:
            self.n_unknown += 1
            return
        if old.items is not None and new.items is not None:
            yield from self._of_items(place, old.items, new.items)
        yield from _of_named(place, old, new)

    def _of_items(self, place: Place, old: Sequence[Any], new: Sequence[Any]) -> Iterator[Place]:
        for s in self._stretches(old, new):
            if s.is_equal:
                continue
            n_pairs = min(s.i2 - s.i1, s.j2 - s.j1)
            for k in _unequal(old, new, s, n_pairs):
                yield Place(old[s.i1 + k], new[s.j1 + k], Step("[%s]", s.j1 + k), place)
            for i in range(s.i1 + n_pairs, s.i2):
                yield Place(old[i], Missing, Step("[%s]", i), place)
            for j in range(s.j1 + n_pairs, s.j2):
                yield Place(Missing, new[j], Step("[%s]", j), place)

    def _stretches(self, old: Sequence[Any], new: Sequence[Any]) -> list[Stretch]:
        """Alignment of the items: those of one place if nothing better is found."""
        start, stop = ends(old, new) if _are_flat(old, new) else (0, 0)
        rest = Stretch(False, start, len(old) - stop, start, len(new) - stop)
        limit = self.limits.aligned
        if rest.i2 - rest.i1 == rest.j2 - rest.j1 == 1:
            return [rest]
        keys = [_keys(old[rest.i1 : rest.i2]), _keys(new[rest.j1 : rest.j2])]
        found = None
        if keys[0] is not None and keys[1] is not None:
            found = stretches(keys[0], keys[1], limit)
        if found is None:
            self.is_by_place |= max(len(old), len(new)) > limit
            return [rest]
        return [
            Stretch(s.is_equal, s.i1 + start, s.i2 + start, s.j1 + start, s.j2 + start)
            for s in found
        ]

    def _differ(self, place: Place, how: Detail | None = None) -> None:
        self.count += 1
        before, after = place.before, place.after
        self.added += before is Missing
        self.removed += after is Missing
        if len(self.rows) >= self.limits.rows:
            return
        room = self.limits.characters
        if before is Missing or after is Missing:
            texts = ["" if v is Missing else told(v, room) for v in (before, after)]
        else:
            texts = list(told_apart(before, after, room))
        if how is not None and (how.lines or how.kind in ("array", "frame")):
            texts[1] = f"{texts[1]} ({how.summary})"
        self.rows.append(Row(_cut_path(place.path()), *texts))


def _told_pairs(before: Any, after: Any) -> list[Pair] | None:
    """The places that the adapter of two values tells of; None if there is none, or it fails."""
    adapter = adapter_for(type(before))
    if adapter is None or adapter.diff is None:
        return None
    try:
        return list(adapter.diff(before, after))
    except user_code_errors():  # of another package: as the parts of any object
        return None


def _cut_path(path: str) -> str:
    """A path without its middle if it is long."""
    if len(path) <= PATH_CHARACTERS:
        return path
    half = PATH_CHARACTERS // 2 - 1
    return f"{path[:half]} {ELLIPSIS} {path[-half:]}"


_PLAIN = (dict, list, tuple, set)
_FLAT = frozenset({int, float, str, bool, bytes, type(None)})
_KEY_PARTS = 400_000
"""Of a list of lists or dicts; some tenths of a second."""


def _is_flat(items: Iterable[Any]) -> bool:
    return set(map(type, items)) <= _FLAT


def _are_flat(old: Iterable[Any], new: Iterable[Any]) -> bool:
    """True if all are atoms, and those that Python calls equal are of one type."""
    types = {*map(type, old), *map(type, new)}
    return types <= _FLAT and len(types & {int, float, bool}) <= 1


def _unequal(old: Sequence[Any], new: Sequence[Any], s: Stretch, n: int) -> Iterable[int]:
    """Of a stretch, the places of the pairs that are worth a look; found in C if they are atoms."""
    if n < 1000 or not _are_flat(old, new):
        return range(n)
    return compress(range(n), map(operator.ne, old[s.i1 : s.i1 + n], new[s.j1 : s.j1 + n]))


def _are_flat_dicts(old: dict[Any, Any], new: dict[Any, Any]) -> bool:
    return all(_is_flat(d) and _is_flat(d.values()) for d in (old, new))


def _of_flat_dicts(place: Place, old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Place]:
    for key, value in old.items():
        other = new.get(key, Missing)
        if other is Missing or value != other or type(value) is not type(other):
            yield Place(value, other, Step("[%s]", key), place)
    for key, value in new.items():
        if key not in old:
            yield Place(Missing, value, Step("[%s]", key), place)


def _of_named(place: Place, old: Parts, new: Parts) -> Iterator[Place]:
    for key, (step, value) in old.named.items():
        _, other = new.named.get(key, (step, Missing))
        yield Place(value, other, step, place)
    for key, (step, value) in new.named.items():
        if key not in old.named:
            yield Place(Missing, value, step, place)


def _keys(items: Sequence[Any]) -> list[Hashable] | None:
    """For each item what equal ones have in common; None if that cannot be said of all."""
    found: list[Hashable] = []
    room = _KEY_PARTS
    if len(items) * max((keyed(item)[1] for item in items[:3]), default=1) > room:
        return None
    for item in items:
        key, cost = keyed(item)
        room -= cost
        if key is None or room < 0:
            return None
        found.append(key)
    return found
