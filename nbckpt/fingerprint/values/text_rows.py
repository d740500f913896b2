"""Rows of texts and numbers in arrays of objects: told by identity to be as they were.

Such an array is a row of addresses, and what lies there never changes. While a copy of the row
keeps the objects alive, an equal row is the same content. A row is known as long as somebody else
holds it, so that no text outlives its variable for a look.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from nbckpt.runtime.addresses import memory_at

if TYPE_CHECKING:
    import numpy as np

LEAST_ELEMENTS = 5_000
"""Fewer are gone through as quickly as they are compared."""


class Row:
    """The objects of an array in the order in which they lay, all of them texts and numbers.

    Attributes
    ----------
    address
        Of the array's memory.
    encoded
        What was computed from the elements of some places.
    """

    __slots__ = ("__weakref__", "address", "elements", "encoded")

    def __init__(self, address: int, elements: np.ndarray) -> None:
        self.address = address
        self.elements = elements
        self.encoded: dict[tuple[int, int], bytes] = {}

    def holds(self, elements: np.ndarray, start: int = 0) -> bool:
        """True if these are the very objects that lay from a place on, `elements` in one piece."""
        own = self.elements[start : start + len(elements)]
        return len(own) == len(elements) and bool(
            (addresses_in(own) == addresses_in(elements)).all()
        )


_rows: WeakValueDictionary[int, Row] = WeakValueDictionary()


def row_of(elements: np.ndarray, kinds: Set[type]) -> Row | None:
    """A row of an array's objects, known from here on; None if there are others among them.

    Parameters
    ----------
    elements
        (n,) objects in one piece of memory.
    kinds
        The types of texts and numbers, which never change.
    """
    held = elements.copy()
    if not set(map(type, held.tolist())) <= kinds:
        return None
    row = _rows[elements.ctypes.data] = Row(elements.ctypes.data, held)
    return row


def is_known(array: Any) -> bool:
    """True if an array holds nothing but texts and numbers, as is known of its row."""
    if not _rows or type(array) is not sys.modules["numpy"].ndarray or array.dtype.kind != "O":
        return False
    if array.size < LEAST_ELEMENTS or not array.flags.c_contiguous:
        return False
    elements = array.reshape(-1)
    address, width = elements.ctypes.data, elements.itemsize
    return any(
        row.address <= address < row.address + row.elements.nbytes
        and row.holds(elements, (address - row.address) // width)
        for row in list(_rows.values())
    )


def encoded(atoms: Sequence[Any], make: Callable[[], bytes]) -> bytes:
    """`make()`, which depends on `atoms` alone; known if a row has the very same objects."""
    if len(atoms) < LEAST_ELEMENTS or not _rows:
        return make()
    import numpy as np

    count = len(atoms)
    elements = np.fromiter(atoms, dtype=object, count=count)
    for row in list(_rows.values()):
        for start in range(0, len(row.elements) - count + 1, count):
            if row.elements[start] is atoms[0] and row.holds(elements, start):
                if (start, count) not in row.encoded:
                    row.encoded[start, count] = make()
                return row.encoded[start, count]
    return make()


def addresses_in(row: np.ndarray) -> np.ndarray:
    """The addresses of the objects of a row, on its memory."""
    import numpy as np

    return np.frombuffer(memoryview(memory_at(row.ctypes.data, row.nbytes)), np.uintp)
