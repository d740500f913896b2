"""Large contents that are the same as before, told without writing them.

A look at a value that was only read need not write a million texts to find out that they are the
same: it writes a number for them, by which the row is told. For a value of a library it writes
what the adapter of its type says of it.

Notes
-----
What is written with numbers in the place of contents is equal to what was written so before only
if all that the value holds beside them is. One thing it does not show: which text of the rest is
the very object that an array has, too, for pickle writes that one once. `is_rest_as_in` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.spans import is_writeable
from nbckpt.fingerprint.values.text_rows import LEAST_ELEMENTS, Row, addresses_in, row_of

if TYPE_CHECKING:
    import numpy as np

MOST_OTHERS = 64
"""Texts beside the arrays that differ between two looks; each is searched in the arrays."""

_serials = count()


class Content(NamedTuple):
    """A content that was met, and its number."""

    serial: int
    row: Row


class Contents:
    """The contents that the encoding of one value meets.

    Attributes
    ----------
    met
        Of arrays, in the order in which they were met.
    has_taken
        Whether anything was left out of what was written.
    rest
        By its id each atom that the stream holds beside these.

    Parameters
    ----------
    before
        Those of the encoding before.
    """

    def __init__(self, before: Sequence[Content] = ()) -> None:
        self._before = list(before)
        self.met: list[Content] = []
        self.has_taken = False
        self.rest: dict[int, object] = {}

    def begin(self) -> None:
        """The value is encoded from its beginning, perhaps once more."""
        self._before[: len(self.met)] = self.met
        self.met = []
        self.has_taken = False

    def end(self, memo: Mapping[int, tuple[int, object]]) -> None:
        """Note the atoms that a pickler remembers."""
        self.rest = {i: obj for i, (_, obj) in memo.items() if type(obj) in ATOMS}

    def reduced(self, array: np.ndarray) -> Any:
        """What to write for an array of objects; NotImplemented if its content is to be written."""
        is_c = bool(array.flags.c_contiguous)
        is_row = is_c or array.flags.f_contiguous
        if array.size < LEAST_ELEMENTS or array.dtype.kind != "O" or not is_row:
            return NotImplemented
        content = self._content((array if is_c else array.T).reshape(-1))
        if content is None:
            return NotImplemented
        self.met.append(content)
        self.has_taken = True
        about = ("known", content.serial, array.shape, is_c, is_writeable(array), array.dtype)
        return tuple, (about,)

    def told(self, parts: Sequence[object]) -> Any:
        """What to write for a value of which an adapter has told by these parts."""
        self.has_taken = True
        return tuple, (("told", repr(parts)),)

    def _content(self, elements: np.ndarray) -> Content | None:
        place = len(self.met)
        if place < len(self._before) and self._before[place].row.holds(elements):
            return self._before[place]
        row = row_of(elements, ATOMS)
        return None if row is None else Content(next(_serials), row)

    def is_rest_as_in(self, other: Contents) -> bool:
        """True if of two looks at the same contents both have the same of their objects beside."""
        differing = self.rest.keys() ^ other.rest.keys()
        if not differing or not self.met:
            return True
        return len(differing) <= MOST_OTHERS and not self._has_any(differing)

    def _has_any(self, addresses: Iterable[int]) -> bool:
        rows = [addresses_in(content.row.elements) for content in self.met]
        return any(bool((row == address).any()) for row in rows for address in addresses)
