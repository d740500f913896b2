"""Large lists and dicts by segments: what is as it was is not encoded again.

Their elements are plain data, or instances of one class that are what their attributes are.

A list to which each cell appends is looked at in each cell: for a key, and to be kept. What was
looked at is remembered as the objects that were found. Numbers and texts never change, so where a
segment holds the very objects that it held, it has the bytes and the digest that it had; to compare
identities takes a tenth of the time that it takes to encode.
"""

from __future__ import annotations

import marshal
from _pickle import dumps  # the one of `pickle` may have been replaced
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from itertools import chain, repeat
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

from blake3 import blake3

from nbckpt.fingerprint.values import plain
from nbckpt.fingerprint.values.attributes import dict_getter_of, is_its_attributes
from nbckpt.runtime.addresses import are_at

SEGMENT_ITEMS = 512
"""Elements of a list, or keys of a dict, that are encoded together: part of what names a value."""

LEAST_ITEMS = 2 * SEGMENT_ITEMS
MOST_ROOTS = 16
MOST_OBJECTS = 10_000_000
"""Objects inside what is remembered: 80 MB of addresses."""

MOST_BYTES = 32 * 1024 * 1024
"""Of all segments' bytes that are held."""

LONG_TEXT = 64 * 1024
"""From so many characters on a text may be better off on its own."""

REMEMBERS: ContextVar[bool] = ContextVar("nbckpt_remembers_segments", default=True)
"""False where what is known is to be checked."""


Columns: TypeAlias = "tuple[tuple[Any, ...], ...]"
"""The elements of a list; or the keys of a dict, and its values. Behind instances, their dicts."""


class _Level(NamedTuple):
    """Containers at one depth of a segment: how long each is, and all that they hold."""

    rows: list[Any]
    dicts: list[Any]
    sizes: tuple[int, ...]
    inside: tuple[Any, ...]

    def is_as_it_was(self) -> bool:
        """Whether the same containers hold the same objects."""
        inside = _inside(self.rows, self.dicts)
        if len(inside) != len(self.inside) or not are_at(self.inside, inside, 0):
            return False
        return self.sizes == _sizes(self.rows, self.dicts)


class Segment:
    """Some elements of a list, or some keys of a dict with their values, as they were found.

    Parameters
    ----------
    has_instances
        Whether the last column is that of the dicts of the one before it.

    Attributes
    ----------
    n_objects
        What it holds at all depths.
    """

    __slots__ = (
        "_columns", "_data", "_digest", "_has_long_text", "_instances", "_levels", "n_objects",
    )  # fmt: skip

    def __init__(self, columns: Columns, levels: list[_Level], *, has_instances: bool) -> None:
        self._columns = columns
        self._instances = len(columns) - 2 if has_instances else None
        self._levels = levels
        self._digest: bytes | None = None
        self._data: bytes | None = None
        self._has_long_text: bool | None = None
        self.n_objects = sum(map(len, columns)) + sum(len(level.inside) for level in levels)

    def is_as_it_was(self, columns: Columns, start: int) -> bool:
        """Whether its elements stand there, and hold what they held.

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

    def instances(self) -> tuple[object, ...]:
        """Its elements, where these are instances."""
        return () if self._instances is None else self._columns[self._instances]

    def containers(self) -> Iterator[object]:
        """The lists, dicts and instances inside."""
        yield from self.instances()
        for level in self._levels:
            yield from (c for c in level.rows if type(c) is list)
            yield from level.dicts

    def digest(self) -> bytes:
        """The same of equal elements in every process.

        Raises
        ------
        ValueError, MemoryError
            If they are too deep or too large.
        """
        if self._digest is None:
            data = marshal.dumps(self._elements(), plain.MARSHAL_VERSION)
            self._digest = blake3(data).digest()
        return self._digest

    def pickled(self) -> bytes:
        """A pickle of the list of its elements, which is held then."""
        if self._data is None:
            self._data = dumps(self._elements(), 5)
        return self._data

    def _elements(self) -> list[Any]:
        columns = [c for number, c in enumerate(self._columns) if number != self._instances]
        return [*chain.from_iterable(columns)]

    def let_bytes_go(self) -> None:
        """Hold no pickle."""
        self._data = None

    def has_long_text(self) -> bool:
        """Whether there is a text in it that may be better off on its own."""
        if self._has_long_text is None:
            every = chain(*self._columns, *(level.inside for level in self._levels))
            texts = (one for one in every if type(one) in plain.TEXTS)
            self._has_long_text = any(len(text) >= LONG_TEXT for text in texts)
        return self._has_long_text


class Segments:
    """A list or dict, of which each object that can change is met once, as it was found.

    Attributes
    ----------
    kind
        The class of its elements; None of plain data.
    n_objects
        What it holds at all depths.
    n_held_bytes
        Size of the pickles that are held.
    """

    __slots__ = ("kind", "n_held_bytes", "n_objects", "segments")

    def __init__(self, kind: type | None, segments: list[Segment], n_objects: int) -> None:
        self.kind = kind
        self.segments = segments
        self.n_objects = n_objects
        self.n_held_bytes = 0

    def instances(self) -> Iterator[object]:
        """Its elements, where these are instances."""
        return chain.from_iterable(segment.instances() for segment in self.segments)

    def containers(self) -> list[object]:
        """The lists, dicts and instances inside."""
        return [*chain.from_iterable(segment.containers() for segment in self.segments)]

    def digest(self) -> bytes | None:
        """The same of equal values in every process, whatever their class is.

        None if one is too deep or too large.
        """
        hasher = blake3()
        try:
            for segment in self.segments:
                hasher.update(segment.digest())
        except (ValueError, MemoryError):
            return None
        return hasher.digest()

    def pickled(self, most: int | None = None) -> list[bytes] | None:
        """A pickle of each segment; those of a value that is not too large are held.

        None if they have more bytes than `most`.
        """
        pieces: list[bytes] = []
        n_bytes = 0
        for segment in self.segments:
            pieces.append(segment.pickled())
            n_bytes += len(pieces[-1])
            if most is not None and n_bytes > most:
                self._let_bytes_go()
                return None
        self.n_held_bytes = n_bytes
        if n_bytes > MOST_BYTES:
            self._let_bytes_go()
        return pieces

    def _let_bytes_go(self) -> None:
        self.n_held_bytes = 0
        for segment in self.segments:
            segment.let_bytes_go()


_memory: OrderedDict[int, Segments] = OrderedDict()
_lock = Lock()


def segments_of(root: Any, *, is_variable: bool) -> Segments | None:
    """A list or dict by segments.

    None if it is short, holds a container or an instance twice, or elements of other kinds.

    Parameters
    ----------
    is_variable
        Whether it will be asked for again, as the value of a variable is.
    """
    if (type(root) is not list and type(root) is not dict) or len(root) < LEAST_ITEMS:
        return None
    found = plain.once_a_block(root, _by_segments)
    if is_variable and found is not None and _memory.get(id(root)) is not found:
        _note(root, found)
    return found


def is_plain(root: object) -> bool:
    """Whether a value is plain data all through."""
    found = segments_of(root, is_variable=False)
    if found is not None:
        return found.kind is None
    return plain.levels_of([root]) is not None


def forget_all_but(values: Iterable[object]) -> None:
    """Remember nothing of what are not values of variables any more."""
    if _memory and _lock.acquire(blocking=False):
        try:
            for gone in _memory.keys() - set(map(id, values)):
                del _memory[gone]
        finally:
            _lock.release()


def _by_segments(root: Any) -> Segments | None:
    known = _memory.get(id(root)) if REMEMBERS.get() else None
    found = _found(root, known)
    if known is not None and found is not None:
        _note(root, found)
    return found


def _note(root: object, found: Segments) -> None:
    if REMEMBERS.get() and _lock.acquire(blocking=False):  # else another thread is at it
        try:
            _remember(root, found)
        finally:
            _lock.release()


def _remember(root: object, found: Segments) -> None:
    _memory[id(root)] = found
    _memory.move_to_end(id(root))
    n_objects = sum(one.n_objects for one in _memory.values())
    n_bytes = sum(one.n_held_bytes for one in _memory.values())
    while _memory and (
        len(_memory) > MOST_ROOTS or n_objects > MOST_OBJECTS or n_bytes > MOST_BYTES
    ):
        _, oldest = _memory.popitem(last=False)
        n_objects -= oldest.n_objects
        n_bytes -= oldest.n_held_bytes


def _found(root: Any, before: Segments | None) -> Segments | None:
    columns: Columns = (tuple(root),)
    if type(root) is dict:
        columns = (columns[0], tuple(root.values()))
    kind = _kind_of_instances(columns[-1])
    if kind is not None:
        columns = (*columns, tuple(map(dict_getter_of(kind), columns[-1])))
    if before is not None and before.kind is not kind:
        before = None
    known: Sequence[Segment] = () if before is None else before.segments
    segments: list[Segment] = []
    n_objects = 0
    is_new = before is None
    for number, start in enumerate(range(0, len(columns[-1]), SEGMENT_ITEMS)):
        if number < len(known) and known[number].is_as_it_was(columns, start):
            segment = known[number]
        else:
            own = tuple(column[start : start + SEGMENT_ITEMS] for column in columns)
            levels = _levels_in(_parts(own, kind))
            if levels is None:
                return None
            segment, is_new = Segment(own, levels, has_instances=kind is not None), True
        n_objects += segment.n_objects
        if n_objects > plain.MANY_ITEMS:
            return None
        segments.append(segment)
    if before is not None and not is_new and len(segments) == len(known):
        return before
    found = Segments(kind, segments, n_objects)
    if is_new and not plain.are_different([root, *found.containers()]):
        return None
    return found


def _kind_of_instances(elements: tuple[Any, ...]) -> type | None:
    kind = type(elements[0])
    if kind in plain.PLAIN or not is_its_attributes(kind):
        return None
    return kind if set(map(type, elements)) == {kind} else None


def _parts(own: Columns, kind: type | None) -> list[Any]:
    columns = own if kind is None else (*own[:-2], own[-1])
    return [*chain.from_iterable(columns)]


def _levels_in(elements: Sequence[Any]) -> list[_Level] | None:
    levels: list[_Level] = []
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
        sizes = _sizes(rows, dicts)
        if sum(sizes) > plain.MANY_ITEMS:
            return None
        level = _inside(rows, dicts)
        levels.append(_Level(rows, dicts, sizes, level))
    return None


def _inside(rows: list[Any], dicts: list[Any]) -> tuple[Any, ...]:
    """What containers hold, which of atoms alone no collector looks through."""
    return tuple(
        chain(
            chain.from_iterable(rows),
            chain.from_iterable(dicts),
            chain.from_iterable(map(dict.values, dicts)),
        )
    )


def _sizes(rows: list[Any], dicts: list[Any]) -> tuple[int, ...]:
    return tuple(map(len, chain(rows, dicts)))
