"""The containers inside plain data, found level by level at the speed of C.

A pickler's memo tells the same of any value, and takes ten times as long to be copied and looked
through: at a cell that touches two lists of a hundred thousand rows that is half of its cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from nbckpt.values.plain import ATOMS

LEVELS = 8
"""Deeper data is left to the memo, and so is a list that holds itself."""

_ROWS = frozenset({list, tuple})
_CONTAINERS = frozenset({list, tuple, dict})


def ids_of(values: Iterable[object]) -> frozenset[int] | None:
    """Identities of all lists, dicts and filled tuples inside; None if there is more than these."""
    level: list[Any] = list(values)
    ids: set[int] = set()
    for _ in range(LEVELS):
        types = set(map(type, level))
        if not types <= ATOMS | _CONTAINERS:
            return None
        if not types <= _CONTAINERS:
            level = [item for item in level if type(item) in _CONTAINERS]
        if not level:
            return frozenset(ids - {id(())})  # there is one empty tuple, and it never changes
        n_before = len(ids)
        ids.update(map(id, level))
        if len(ids) - n_before < len(level):  # some are there twice: each is followed once
            level = list({id(item): item for item in level}.values())
        children = _children(level, types)
        if children is None:
            return None
        level = children
    return None


def _children(level: list[Any], types: set[type]) -> list[Any] | None:
    """What lies directly in the containers of one level; None if keys of dicts hold more."""
    if dict not in types:
        return list(chain.from_iterable(level))
    dicts = [item for item in level if type(item) is dict]
    if not set(map(type, chain.from_iterable(dicts))) <= ATOMS:
        return None
    rows = [item for item in level if type(item) in _ROWS]
    return [*chain.from_iterable(rows), *chain.from_iterable(map(dict.values, dicts))]
