"""The containers inside plain data, found at the speed of C.

A pickler's memo tells the same of any value, and takes several times as long to be copied and
looked through: at a cell that touches two lists of a hundred thousand rows that is half its cost.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbckpt.fingerprint.values.plain import levels_of, mutable_of


def ids_of(values: Iterable[object], tuples: frozenset[int] = frozenset()) -> frozenset[int] | None:
    """Identities of all lists and dicts inside, and of those tuples whose identity is in `tuples`.

    None if there is more than plain data.
    """
    levels = levels_of(values)
    if levels is None:
        return None
    ids = frozenset(map(id, mutable_of(levels)))
    return ids | tuples.intersection(id(c) for level in levels for c in level) if tuples else ids
