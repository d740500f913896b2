"""The pickler of the notebook's values.

The C pickler does the work. Its `reducer_override` is called only for what is not a plain
container, which costs 3 % on a list of small dicts; `persistent_id` would cost 80 %.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import CellType
from typing import TYPE_CHECKING, Any

import cloudpickle

from nbckpt.codecs import storages
from nbckpt.codecs.streams import StreamWriter

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.codecs.known_contents import Contents

OUT_OF_BAND_BYTES = 16 * 1024
"""A buffer smaller than this stays in the stream: a part of its own would cost more."""

Reduced = Any  # what __reduce__ may return, or NotImplemented
Reducer = Callable[["NamespacePickler", Any], Reduced]


def _no_statement(_: str) -> None:
    """None of any name."""


def _never(_: str, __: Iterable[str]) -> str:
    """Nothing."""
    return ""


def _nowhere(_: Iterable[tuple[int, int]]) -> None:
    """None of any places."""


@dataclass(frozen=True)
class Scope:
    """Objects that a stream may refer to instead of holding them.

    Attributes
    ----------
    namespace
        The notebook's variables; functions whose globals these are get them back on restore.
    homes
        id of each notebook function and class → the name under which the namespace has it.
    substitutes
        id of each object that cannot be pickled → what to write in its place.
    tuples
        ids of tuples that are variables: whoever holds one shares it. Others tie nothing, for
        constants are shared by all that comes from the same code.
    max_bytes
        Most bytes of the stream; None for any number.
    members
        Class → names of members of its instances that are written beside what it says of them.
    class_statement
        The class statement that last bound a name; None if another one did, or it is not known.
    changed_since
        Of what a statement that bound a name read, and of itself, what was changed since, a text.
    bytes_of
        Of places in memory, each an address and a size, the first that an array among the variables
        has, as a view of that; None if none has.
    """

    namespace: Mapping[str, object]
    homes: Mapping[int, str] = field(default_factory=dict)
    substitutes: Mapping[int, Reduced] = field(default_factory=dict)
    tuples: frozenset[int] = frozenset()
    max_bytes: int | None = None
    members: Mapping[type, frozenset[str]] = field(default_factory=dict)
    class_statement: Callable[[str], ast.ClassDef | None] = _no_statement
    changed_since: Callable[[str, Iterable[str]], str] = _never
    bytes_of: Callable[[Iterable[tuple[int, int]]], Any] = _nowhere


class CellRef:
    """Stands for an empty closure cell in a stream; functions on it fill it afterwards."""

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def __reduce__(self) -> Any:
        return CellType, ()


@dataclass(frozen=True)
class Source:
    """The text of a cell, under a name that is the same in every process."""

    filename: str
    text: str


class NamespacePickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle is untyped
    """A pickler that knows the notebook's namespace and takes large buffers out of the stream."""

    def __init__(
        self,
        writer: StreamWriter,
        buffers: list[Buffer],
        scope: Scope,
        reducer_of: Callable[[NamespacePickler, type], Reducer | None],
        *,
        own: frozenset[str],
        linked: frozenset[int],
        contents: Contents | None = None,
    ) -> None:
        # Not a method of its own: a pickler that held itself would be garbage for the collector,
        # with the user's values in its memo, and Python < 3.12.4 crashes on memoryviews in it
        # (https://github.com/python/cpython/issues/77894).
        super().__init__(writer, protocol=5, buffer_callback=_taking_large(buffers))
        self.scope = scope
        self.own = own
        self.linked = linked
        self.contents = contents
        self.dicts: dict[int, set[int]] = {}
        self.own_dicts: set[int] = set()
        self.needs: set[str] = set()
        self.views: dict[int, set[int]] = {}
        self.tables: dict[int, set[int]] = {}
        self.written: set[int] = set()
        self.storages: dict[int, storages.StorageRef] = {}
        self.storage_arrays: dict[int, storages.StorageArray] = {}
        self.addresses: set[int] = set()
        self.exporters: dict[int, object] = {}
        self.roots: dict[int, Any] = {}
        self.cells: dict[int, CellRef] = {}
        self.sources: dict[str, Source] = {}
        self.private: set[int] = set()
        self.latest: object = None
        self._reducer_of = reducer_of
        self._reducers: dict[type, Reducer | None] = {}
        self.members: dict[type, set[str]] = {}
        self.kept: list[object] = []

    def keep(self, temporary: object) -> None:
        """Keep a temporary alive as long as what was encoded, so that its id stays its own."""
        self.kept.append(temporary)

    def reducer_override(self, obj: object) -> Reduced:
        """The reduction of `obj`; NotImplemented leaves it to its own `__reduce_ex__`."""
        self.latest = obj
        if self.scope.substitutes and (substitute := self.scope.substitutes.get(id(obj))):
            return substitute
        kind = type(obj)
        if kind not in self._reducers:
            self._reducers[kind] = self._reducer_of(self, kind)
        reducer = self._reducers[kind]
        return NotImplemented if reducer is None else reducer(self, obj)

    def kinds(self) -> Iterable[type]:
        """The types of what was asked for its reducer."""
        return self._reducers

    def default_reduce(self, obj: object) -> Reduced:
        """Reduction of a function or class, as cloudpickle makes it."""
        return super().reducer_override(obj)


def _taking_large(buffers: list[Buffer]) -> Callable[[pickle.PickleBuffer], bool]:
    """A callback that takes large buffers out of the stream."""

    def stays_in_stream(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < OUT_OF_BAND_BYTES:
            return True
        buffers.append(raw)
        return False

    return stays_in_stream
