"""The containers inside plain data, found at the speed of C.

A pickler's memo tells the same of any value, and takes several times as long to be copied and
looked through: at a cell that touches two lists of a hundred thousand rows that is half its cost.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbckpt.fingerprint.values.plain import levels_of, mutable_of
from nbckpt.runtime import addresses


def ids_of(values: Iterable[object], tuples: frozenset[int] = frozenset()) -> frozenset[int] | None:
    """Identities of all lists and dicts inside, and of those tuples whose identity is in `tuples`.

    None if there is more than plain data.
    """
    levels = levels_of(values)
    if levels is None:
        return None
    ids = frozenset(addresses.ids_of(tuple(mutable_of(levels))))
    if not tuples:
        return ids
    return ids.union(*(tuples.intersection(addresses.ids_of(tuple(level))) for level in levels))
