"""A variable that is a large list or dict, as a pickle of each of its segments.

The bytes of a segment that did not change are those of the last time: see
`fingerprint.values.segments`. They are texts in the stream, so that a pickler is no part of it, and
what a pickler would number in one segment moves nothing in the next.
"""

from __future__ import annotations

import copyreg
from _pickle import loads  # that of `pickle` may have been replaced
from array import array
from collections.abc import Callable, Iterable, Mapping
from sys import intern
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.streams import PAYLOAD_BYTES
from nbckpt.fingerprint.values.segments import Segments, instances_in, segments_of
from nbckpt.runtime.addresses import packed_ids_of

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import Scope

_SLICE_BYTES = PAYLOAD_BYTES // 2

Piece = bytes | tuple[bytes, ...]
"""A segment's pickle; a longer one in slices, so that each of them stays in the stream."""


class Segmented:
    """Stands for a list or dict in a stream, and is read as that.

    Attributes
    ----------
    kinds
        The class of its elements, if that is no plain data.
    """

    __slots__ = ("_pieces", "_root", "_segments", "kinds")

    def __init__(self, root: object, segments: Segments, pieces: Iterable[Piece]) -> None:
        self._root = root
        self._segments = segments
        self._pieces = pieces
        self.kinds = frozenset(() if segments.kind is None else (segments.kind,))

    def reduced(self) -> Any:
        """The function that makes the value, and its arguments."""
        is_list = type(self._root) is list
        if self._segments.kind is None:
            return list_of if is_list else dict_of, (*self._pieces,)
        make = list_of_instances if is_list else dict_of_instances
        return make, (self._segments.kind, *self._pieces)

    def shares(self) -> array[int]:
        """Identities of all that can change in it."""
        inside = self._segments.containers()
        if self.kinds:
            inside += instances_in(self._root)
        return packed_ids_of((self._root, *inside))


def segmented(value: Any, scope: Scope, is_usual: Callable[[type], bool]) -> Segmented | None:
    """The object that stands for a value in a stream.

    None if it stands there itself: another kind of value, one that is better written whole, or
    one that is too large, of which the usual way tells.

    Parameters
    ----------
    is_usual
        Whether instances of a class are written as pickle writes them.
    """
    most = scope.max_bytes
    if type(value) not in (list, dict) or (most is not None and len(value) > most):
        return None  # each element has a byte and more
    segments = segments_of(value, is_variable=True)
    if segments is None:
        return None
    kind = segments.kind
    if kind is not None and (scope.substitutes or kind in scope.members or not is_usual(kind)):
        return None
    if segments.is_written_whole(scope.tuples):
        return None
    try:
        pieces = segments.pickled(most)
    except MemoryError:
        return None
    if pieces is None:
        return None
    return Segmented(value, segments, map(_sliced, pieces))


def _sliced(piece: bytes) -> Piece:
    if len(piece) < PAYLOAD_BYTES:
        return piece
    return tuple(
        piece[start : start + _SLICE_BYTES] for start in range(0, len(piece), _SLICE_BYTES)
    )


def _loaded(piece: Piece) -> list[Any]:
    found: list[Any] = loads(piece if isinstance(piece, bytes) else b"".join(piece))
    return found


def list_of(*pieces: Piece) -> list[Any]:
    """The list of which these are the segments."""
    made: list[Any] = []
    for piece in pieces:
        made += _loaded(piece)
    return made


def dict_of(*pieces: Piece) -> dict[Any, Any]:
    """The dict of which these are the segments: keys, then as many values."""
    made: dict[Any, Any] = {}
    for piece in pieces:
        parts = _loaded(piece)
        half = len(parts) // 2
        made.update(zip(parts[:half], parts[half:], strict=True))
    return made


def list_of_instances(kind: type, *pieces: Piece) -> list[Any]:
    """The list of instances of a class with these attributes."""
    return _instances(kind, list_of(*pieces))


def dict_of_instances(kind: type, *pieces: Piece) -> dict[Any, Any]:
    """The dict whose values are instances of a class with these attributes."""
    made = dict_of(*pieces)
    return dict(zip(made, _instances(kind, made.values()), strict=True))


def _instances(kind: type, attributes: Iterable[Mapping[Any, Any]]) -> list[Any]:
    """Instances as pickle makes them, which lets those of a class share the names' table."""
    made = []
    for own in attributes:
        instance = copyreg.__newobj__(kind)  # type: ignore[attr-defined]
        members = instance.__dict__
        for name, value in own.items():
            members[intern(name) if type(name) is str else name] = value
        made.append(instance)
    return made
