"""Large lists and dicts by segments: what is as it was is not encoded again.

Their elements are plain data, or instances of one class that are what their attributes are.

A list to which each cell appends is looked at in each cell: for a key, and to be kept. What was
looked at is remembered as the objects that were found. Numbers and texts never change, so where a
segment holds the very objects that it held, it has the bytes and the digest that it had; to compare
identities takes a tenth of the time that it takes to encode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from blake3 import blake3

from nbckpt.fingerprint.values import plain, remembering
from nbckpt.fingerprint.values.attributes import dict_getter_of, is_its_attributes
from nbckpt.fingerprint.values.remembering import MOST_BYTES
from nbckpt.fingerprint.values.segment_contents import SEGMENT_ITEMS, Columns, Segment, levels_in
from nbckpt.runtime.addresses import address_of

LEAST_ITEMS = 2 * SEGMENT_ITEMS
LONG_TEXT = 64 * 1024
"""A text of so many characters may be better off on its own."""

SAMPLE = 16
"""So many segments, the first ones, tell whether texts are shared by many elements."""

MOST_TWICE = 0.1
"""Of what the sample takes in memory, what it may take more when no segment shares with another."""


class Segments:
    """A list or dict, of which each object that can change is met once, as it was found.

    Attributes
    ----------
    kind
        The class of its elements; None of plain data.
    is_whole
        False if something in it is of another kind, or there twice: then these are some of it.
    n_objects
        What it holds at all depths.
    n_held_bytes
        Size of the pickles that are held.
    """

    __slots__ = ("is_whole", "kind", "n_held_bytes", "n_objects", "segments")

    def __init__(self, kind: type | None, segments: list[Segment], *, is_whole: bool) -> None:
        self.kind = kind
        self.segments = segments
        self.is_whole = is_whole
        self.n_objects = sum(segment.n_objects for segment in segments)
        self.n_held_bytes = 0

    def containers(self) -> list[object]:
        """The lists and dicts inside; of instances, too."""
        some = chain.from_iterable(segment.containers() for segment in self.segments)
        return [*chain.from_iterable(some)]

    def digest(self) -> bytes:
        """The same of equal values in every process, whatever their class is."""
        hasher = blake3()
        for segment in self.segments:
            hasher.update(segment.digest())
        return hasher.digest()

    def is_written_whole(self, tuples: frozenset[int]) -> bool:
        """True if one pickle is better than one of each segment.

        It is where texts are many or shared by many elements: each segment would have its own.
        By what is in it alone, so that equal values have equal bytes.

        Parameters
        ----------
        tuples
            Ids of tuples that come back as they are shared.
        """
        if sum(segment.n_letters for segment in self.segments) > MOST_BYTES:
            return True
        if tuples and any(segment.holds_one_of(tuples) for segment in self.segments):
            return True
        found: dict[int, int] = {}
        n_bytes = n_twice = 0
        for segment in islice(self.segments, SAMPLE):
            shared = segment.shared()
            n_twice += sum(shared[one] for one in shared.keys() & found.keys())
            found |= shared
            n_bytes += 8 * segment.n_objects
        return n_twice > MOST_TWICE * (n_bytes + sum(found.values()))

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


def segments_of(root: Any, *, is_variable: bool) -> Segments | None:
    """A list or dict by segments.

    None if it is short, holds a container or an instance twice, a long text, or elements of other
    kinds.

    Parameters
    ----------
    is_variable
        Whether it will be asked for again, as the value of a variable is.
    """
    if (type(root) is not list and type(root) is not dict) or len(root) < LEAST_ITEMS:
        return None
    found = plain.once_a_block(root, _by_segments)
    if is_variable and remembering.known(root) is not found:
        remembering.note(root, found)
    return found if found.is_whole else None


def is_plain(root: object) -> bool:
    """True if a value is plain data all through."""
    found = segments_of(root, is_variable=False)
    if found is not None:
        return found.kind is None
    return plain.levels_of([root]) is not None


def instances_in(root: Any) -> Sequence[object]:
    """The elements of a list, or the values of a dict."""
    return tuple(root.values()) if type(root) is dict else tuple(root)


def _by_segments(root: Any) -> Segments:
    known = remembering.known(root)
    found = _found(root, known)
    if known is not None:
        remembering.note(root, found)
    return found


def _found(root: Any, before: Segments | None) -> Segments:
    columns: Columns = (tuple(root),)
    if type(root) is dict:
        columns = (columns[0], tuple(root.values()))
    instances = columns[-1]
    kind = _kind_of_instances(instances)
    if kind is not None:
        # Not the instances: somebody may be told when one goes.
        columns = (*columns[:-1], tuple(map(dict_getter_of(kind), instances)))
    if before is not None and before.kind is not kind:
        before = None
    known: Sequence[Segment] = () if before is None else before.segments
    segments: list[Segment] = []
    n_objects = 0
    fresh: list[int] = []
    for number, start in enumerate(range(0, len(columns[-1]), SEGMENT_ITEMS)):
        if number < len(known) and known[number].is_as_it_was(columns, start):
            segment = known[number]
        else:
            own = tuple(column[start : start + SEGMENT_ITEMS] for column in columns)
            levels = levels_in([*chain.from_iterable(own)])
            if levels is None:
                return Segments(kind, segments, is_whole=False)
            segment = Segment(own, levels)
            fresh.append(number)
        segments.append(segment)
        n_objects += segment.n_objects
        if n_objects > plain.MANY_ITEMS or segment.longest >= LONG_TEXT:
            return Segments(kind, segments, is_whole=False)
    if before is None or not before.is_whole:
        fresh = [*range(len(segments))]
    elif not fresh and len(segments) == len(known):
        return before
    is_once = _is_once(root, segments, () if kind is None else instances, fresh)
    return Segments(kind, segments, is_whole=is_once)


def _is_once(
    root: object, segments: Sequence[Segment], instances: Sequence[object], fresh: Sequence[int]
) -> bool:
    """True if each container and instance is there once.

    Parameters
    ----------
    fresh
        Numbers of the segments that may hold one twice, or one of another segment.
    """
    met = [root, *_met_in(segments, instances, fresh)]
    if not plain.are_different(met):
        return False
    if len(fresh) in (0, len(segments)):
        return True
    others = sorted({*range(len(segments))}.difference(fresh))
    known = map(address_of, _met_in(segments, instances, others))
    return {*map(address_of, met)}.isdisjoint(known)


def _met_in(
    segments: Sequence[Segment], instances: Sequence[object], numbers: Sequence[int]
) -> Iterator[object]:
    """Containers and instances of some segments."""
    inside = (segments[number].containers() for number in numbers)
    starts = (number * SEGMENT_ITEMS for number in numbers)
    own = (instances[start : start + SEGMENT_ITEMS] for start in starts)
    return chain(chain.from_iterable(chain.from_iterable(inside)), chain.from_iterable(own))


def _kind_of_instances(elements: tuple[Any, ...]) -> type | None:
    kind = type(elements[0])
    if kind in plain.PLAIN or not is_its_attributes(kind):
        return None
    return kind if set(map(type, elements)) == {kind} else None
