"""Names of a namespace and the objects that they hold, compared with the last look in C.

A cell binds a few names of perhaps a hundred thousand. To find these, the addresses of all objects
are copied from the memory of a list and compared as bytes: half a millisecond per 100,000 names.

Notes
-----
An address proves nothing by itself: it is given to another object once the first one is gone.
Whoever asks holds the objects that it knows, or has those looked at that it does not hold.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Container, Mapping, Sequence, Sized
from types import FunctionType
from typing import NamedTuple

from nbckpt.fingerprint.user_names import Own, is_odd_name, is_user_name

_WORD = 8
_PARTS = 64
_NAMED = (FunctionType, type)


def addresses_of(values: list[object]) -> bytes:
    """The addresses of some objects, eight bytes each."""
    if _ITEMS is None or not values:
        return array("Q", map(id, values)).tobytes()
    items = ctypes.c_void_p.from_address(id(values) + _ITEMS).value
    assert items is not None
    return ctypes.string_at(items, _WORD * len(values))


def _offset_of_items() -> int | None:
    """Where in a list CPython has the address of its items; None where that is not certain.

    A list is the head of an object with a length, that address, and a number of places
    (`Include/cpython/listobject.h`).
    """
    offset = list.__basicsize__ - 2 * _WORD
    if sys.implementation.name != "cpython" or offset != tuple.__basicsize__:
        return None
    if ctypes.sizeof(ctypes.c_void_p) != _WORD:
        return None
    probe: list[object] = [object(), object()]
    items = ctypes.c_void_p.from_address(id(probe) + offset).value
    expected = array("Q", map(id, probe)).tobytes()
    return offset if items and ctypes.string_at(items, 2 * _WORD) == expected else None


_ITEMS = _offset_of_items()


def changed_words(before: bytes, now: bytes) -> list[int]:
    """The numbers of the words that differ between two texts, as far as both go, in order."""
    found: list[int] = []
    todo = [(0, min(len(before), len(now)) // _WORD)]
    while todo:
        start, end = todo.pop()
        if before[start * _WORD : end * _WORD] == now[start * _WORD : end * _WORD]:
            continue
        if end - start == 1:
            found.append(start)
            continue
        step = -(-(end - start) // _PARTS)
        todo += reversed([(i, min(i + step, end)) for i in range(start, end, step)])
    return found


class Moves(NamedTuple):
    """What a look found since the last one.

    Attributes
    ----------
    bound
        Names that may hold another object, new ones among them.
    gone
        Names that were the user's and are no more.
    """

    bound: set[str]
    gone: set[str]


class LiveNames:
    """The user's names in a namespace.

    Attributes
    ----------
    listed
        The user's names, in the order in which they were made.
    present
        The same as a set, which changes at the next look.
    odd
        Keys that are no name that code can use.
    withheld
        Names that code can use and that are not the user's: hidden ones, and nbckpt's own values.

    Parameters
    ----------
    hidden
        Names that are not the user's.
    """

    def __init__(self, hidden: Container[str] = frozenset()) -> None:
        self._hidden = hidden
        self._n_hidden = _length_of(hidden)
        self._names: list[object] = []  # held, so that an address of a key stays that key's
        self._keys = self._values = b""
        self._begin()

    def _begin(self) -> None:
        self.odd: list[object] = []
        self.present: set[str] = set()
        self.withheld: set[str] = set()
        self._candidates: list[str] = []
        self._listed: tuple[str, ...] | None = None
        self._own: set[str] = set()
        self._definitions: dict[str, int] = {}

    @property
    def listed(self) -> tuple[str, ...]:
        """The user's names, in the order in which they were made."""
        if self._listed is None:
            self._listed = tuple(n for n in self._candidates if n in self.present)
        return self._listed

    def definitions(self) -> list[str]:
        """Those of the user's names that hold functions and classes, in their order."""
        return sorted(self._definitions, key=self._definitions.__getitem__)

    def addresses(self) -> Addresses:
        """The addresses of all objects, as of the last look."""
        return Addresses(self._names, self._values)

    def hides_more(self) -> bool:
        """True if names came to the hidden ones since the last look."""
        return _length_of(self._hidden) != self._n_hidden

    def look(self, now: Mapping[str, object]) -> Moves:
        """Compare a namespace that no other thread writes to with what it was."""
        names: list[object] = list(now)
        values = list(now.values())
        keys, addresses = addresses_of(names), addresses_of(values)
        if not keys.startswith(self._keys) or self.hides_more():
            self._n_hidden = _length_of(self._hidden)
            return self._look_at_all(names, values, keys, addresses)
        n_known = len(self._names)
        places = changed_words(self._values, addresses)
        self._keys, self._values, self._names = keys, addresses, names
        bound: set[str] = set()
        gone: set[str] = set()
        for place in (*places, *range(n_known, len(names))):
            name = names[place]
            if place >= n_known:
                self._meet(name)
            if name in self.present or name in self._own:
                assert type(name) is str
                self._learn(name, place, values[place])
                (bound if name in self.present else gone).add(name)
        return Moves(bound, gone)

    def _meet(self, name: object) -> None:
        """Note a key that came."""
        if is_odd_name(name):
            self.odd.append(name)
        elif is_user_name(name):
            assert type(name) is str
            if name in self._hidden:
                self.withheld.add(name)
                return
            self._candidates.append(name)
            self.present.add(name)
            self._listed = None

    def _learn(self, name: str, place: int, value: object) -> None:
        """Note what kind of object one of the user's names holds."""
        kind = type(value)
        self._definitions.pop(name, None)
        if issubclass(kind, Own) != (name in self._own):
            self._listed = None
        if issubclass(kind, Own):
            self._own.add(name)
            self.withheld.add(name)
            self.present.discard(name)
            return
        if name in self._own:
            self._own.discard(name)
            self.withheld.discard(name)
            self.present.add(name)
        if issubclass(kind, _NAMED):
            self._definitions[name] = place

    def _look_at_all(
        self, names: list[object], values: list[object], keys: bytes, addresses: bytes
    ) -> Moves:
        """Look anew: names went, or came back at another place."""
        known = dict(zip(self._words(self._keys), self._words(self._values), strict=True))
        present_before = self.present
        self._begin()
        bound: set[str] = set()
        pairs = zip(self._words(keys), self._words(addresses), strict=True)
        for place, (key, address) in enumerate(pairs):
            name = names[place]
            self._meet(name)
            if name in self.present:
                assert type(name) is str
                self._learn(name, place, values[place])
                is_known = name in present_before and known.get(key) == address
                if not is_known and name in self.present:
                    bound.add(name)
        self._keys, self._values, self._names = keys, addresses, names
        return Moves(bound, present_before - self.present)

    @staticmethod
    def _words(text: bytes) -> memoryview:
        return memoryview(text).cast("Q")


def _length_of(names: Container[str]) -> int:
    return len(names) if isinstance(names, Sized) else 0


class Addresses:
    """Where the objects of all names stood at one moment."""

    __slots__ = ("_names", "_text")

    def __init__(self, names: Sequence[object], text: bytes) -> None:
        self._names, self._text = names, text

    def of(self, name: str) -> int:
        """The address of the object that a name held; 0 if there was no such name."""
        try:
            place = self._names.index(name)
        except ValueError:
            return 0
        return int.from_bytes(self._text[place * _WORD : (place + 1) * _WORD], sys.byteorder)
