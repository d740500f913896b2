"""One segment of a large list or dict: what it was found to hold, and the bytes of that."""

from __future__ import annotations

import marshal
from _pickle import dumps  # the one of `pickle` may have been replaced
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

from blake3 import blake3

from nbckpt.fingerprint.values import plain
from nbckpt.runtime.addresses import are_at, ids_of

SEGMENT_ITEMS = 512
"""Elements of a list, or keys of a dict, that are encoded together: part of what names a value."""

Columns: TypeAlias = "tuple[tuple[Any, ...], ...]"
"""The elements of a list; or the keys of a dict, and its values; of instances their dicts."""

_CODES = dict.fromkeys(plain.ATOMS, 0) | {list: 1, tuple: 2, dict: 3}


class Level(NamedTuple):
    """Containers at one depth of a segment: how long each is, and all that they hold.

    Attributes
    ----------
    rows
        Lists and tuples, `lists` among them.
    """

    rows: list[Any]
    lists: list[Any]
    dicts: list[Any]
    sizes: tuple[int, ...]
    inside: tuple[Any, ...]

    def is_as_it_was(self) -> bool:
        """True if the same containers hold the same objects."""
        now, n_sizes = _read(self.rows, self.dicts), len(self.sizes)
        return (
            len(now) == n_sizes + len(self.inside)
            and now[:n_sizes] == self.sizes
            and are_at(self.inside, now, n_sizes)
        )


class Segment:
    """Some elements of a list, or some keys of a dict with their values, as they were found.

    What is said of it is said of what was found, whatever a thread has changed since.

    Attributes
    ----------
    n_objects
        What it holds at all depths.
    n_letters
        Characters and bytes of all texts inside.
    longest
        Of the longest one.
    """

    __slots__ = (
        "_columns", "_data", "_digest", "_levels", "_shared", "longest", "n_letters", "n_objects",
    )  # fmt: skip

    def __init__(self, columns: Columns, levels: list[Level]) -> None:
        self._columns = columns
        self._levels = levels
        self._digest: bytes | None = None
        self._data: bytes | None = None
        self._shared: dict[int, int] | None = None
        self.n_objects = sum(map(len, columns)) + sum(len(level.inside) for level in levels)
        lengths = [len(text) for text in self._every() if type(text) in plain.TEXTS]
        self.n_letters, self.longest = sum(lengths), max(lengths, default=0)

    def is_as_it_was(self, columns: Columns, start: int) -> bool:
        """True if its elements stand there, and hold what they held.

        Parameters
        ----------
        columns
            All elements of the list, or all keys and all values.
        start
            The number of the first one.
        """
        return (
            len(self._columns) == len(columns)
            and len(self._columns[0]) == min(SEGMENT_ITEMS, len(columns[0]) - start)
            and all(map(are_at, self._columns, columns, repeat(start)))
            and all(level.is_as_it_was() for level in self._levels)
        )

    def containers(self) -> Iterable[list[Any]]:
        """The lists and dicts inside, some at a time."""
        for level in self._levels:
            yield level.lists
            yield level.dicts

    def holds_one_of(self, tuples: frozenset[int]) -> bool:
        """True if one of some tuples, by their ids, is inside."""
        rows = chain.from_iterable(level.rows for level in self._levels)
        return not tuples.isdisjoint(ids_of(tuple(rows)))

    def shared(self) -> dict[int, int]:
        """Ids of the texts and tuples inside that a pickle writes once, and bytes of each."""
        if self._shared is None:
            texts = tuple(t for t in self._every() if type(t) in plain.TEXTS and len(t) > 1)
            rows = chain.from_iterable(level.rows for level in self._levels)
            tuples = tuple(row for row in rows if type(row) is tuple and row)
            self._shared = dict(zip(ids_of(texts), (50 + len(t) for t in texts), strict=True))
            self._shared.update(zip(ids_of(tuples), (40 + 8 * len(t) for t in tuples), strict=True))
        return self._shared

    def digest(self) -> bytes:
        """The same of equal elements in every process."""
        if self._digest is None:
            hasher = blake3()
            for column in self._columns:
                hasher.update(_encoded(column))
            for level in self._levels:
                hasher.update(marshal.dumps(level.sizes, plain.MARSHAL_VERSION))
                hasher.update(_encoded(level.inside))
            self._digest = hasher.digest()
        return self._digest

    def pickled(self) -> bytes:
        """A pickle of the list of its elements, which is held then."""
        if self._data is None:
            self._data = dumps(self._made_again(), 5)
        return self._data

    def let_bytes_go(self) -> None:
        """Hold no pickle."""
        self._data = None

    def _every(self) -> Iterable[Any]:
        return chain(*self._columns, *(level.inside for level in self._levels))

    def _made_again(self) -> list[Any]:
        """The elements, of containers that nobody else has: the live ones may change meanwhile."""
        rows: list[Any] = []
        dicts: list[Any] = []
        for level in reversed(self._levels):
            rows, dicts = _containers_of(level, _filled(level.inside, rows, dicts))
        return _filled([*chain.from_iterable(self._columns)], rows, dicts)


def levels_in(elements: Sequence[Any]) -> list[Level] | None:
    """The containers inside some elements, depth by depth; None if not all is plain data."""
    levels: list[Level] = []
    level: Sequence[Any] = elements
    for _ in range(plain.LEVELS - 1):  # the root is one
        types = set(map(type, level))
        if not types <= plain.PLAIN:
            return None
        kinds = types & plain.CONTAINERS
        if not kinds:
            return levels
        dicts = [c for c in level if type(c) is dict] if dict in kinds else []
        rows = [c for c in level if type(c) is list or type(c) is tuple] if kinds - {dict} else []
        n_sizes = len(rows) + len(dicts)
        if sum(map(len, chain(rows, dicts))) > plain.MANY_ITEMS:
            return None
        read = _read(rows, dicts)
        level = read[n_sizes:]
        lists = [row for row in rows if type(row) is list] if tuple in kinds else rows
        levels.append(Level(rows, lists, dicts, read[:n_sizes], level))
    return None


def _read(rows: list[Any], dicts: list[Any]) -> tuple[Any, ...]:
    """The lengths of containers, then what they hold: in one call, so that no thread comes between.

    What holds atoms alone is no matter for the collector.
    """
    return tuple(
        chain(
            map(len, rows),
            map(len, dicts),
            chain.from_iterable(rows),
            chain.from_iterable(dicts),
            chain.from_iterable(map(dict.values, dicts)),
        )
    )


def _filled(found: Sequence[Any], rows: list[Any], dicts: list[Any]) -> list[Any]:
    """The same with other containers, which stand in the order of those that are there."""
    if not rows and not dicts:
        return [*found]
    row, mapping = iter(rows), iter(dicts)
    return [
        next(mapping) if type(one) is dict else next(row) if type(one) in (list, tuple) else one
        for one in found
    ]


def _containers_of(level: Level, inside: list[Any]) -> tuple[list[Any], list[Any]]:
    """Containers as those of a level, that hold these objects."""
    rows: list[Any] = []
    dicts: list[Any] = []
    at = 0
    for row, size in zip(level.rows, level.sizes, strict=False):
        part = inside[at : at + size]
        rows.append(part if type(row) is list else tuple(part))
        at += size
    sizes = level.sizes[len(rows) :]
    value_at = at + sum(sizes)
    for size in sizes:
        pairs = zip(inside[at : at + size], inside[value_at : value_at + size], strict=True)
        dicts.append(dict(pairs))
        at, value_at = at + size, value_at + size
    return rows, dicts


def _encoded(found: tuple[Any, ...]) -> bytes:
    """The canonical bytes of what stands in a row; of containers their kinds."""
    kinds = set(map(type, found))
    if kinds.isdisjoint(plain.CONTAINERS):
        return marshal.dumps(found, plain.MARSHAL_VERSION)
    codes = bytes(map(_CODES.__getitem__, map(type, found)))
    atoms = [one for one in found if type(one) not in plain.CONTAINERS]
    return marshal.dumps((codes, atoms), plain.MARSHAL_VERSION)
