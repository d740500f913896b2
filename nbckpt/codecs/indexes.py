"""Indexes of pandas that a variable holds by themselves: their names can be changed through it.

Frames that merely have one index in common are not tied: dozens do, and nobody names it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice
from typing import Any

from nbckpt.fingerprint.values.raw_members import members_of

FEW = 64
"""Elements of a container that is looked into."""


def pairs_by_index(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Pairs of variables of which one holds an index by itself that the other has as well."""
    pandas = sys.modules.get("pandas")
    if len(values) < 2 or pandas is None or not hasattr(pandas, "Index"):
        return []
    alone: dict[int, list[str]] = {}
    for name, value in values.items():
        for part in _parts(value):
            if _is_a(part, pandas.Index):
                alone.setdefault(id(part), []).append(name)
    if not alone:
        return []
    pairs = [pair for names in alone.values() for pair in combinations(names, 2)]
    tables = pandas.DataFrame, pandas.Series
    for name, value in values.items():
        for part in _parts(value):
            if _is_a(part, *tables):
                pairs += [(one, name) for a in _axes(part) for one in alone.get(id(a), ())]
    return [(one, other) for one, other in pairs if one != other]


def _is_a(value: object, *kinds: type) -> bool:
    """True if `value` is of any of `kinds`, by its type: a dead weak proxy has no class."""
    return issubclass(type(value), kinds)


def _axes(table: Any) -> Iterable[object]:
    return getattr(getattr(table, "_mgr", None), "axes", ())


def _parts(value: Any) -> Iterator[object]:
    """`value`, or what a small container or object holds."""
    kind = type(value)
    if kind in {list, tuple}:
        yield from value[:FEW]
    elif kind is dict:
        yield from islice(list(value.values()), FEW)
    else:
        yield value
        if kind.__dictoffset__ and str(kind.__module__).partition(".")[0] != "pandas":
            yield from islice(list(members_of(value).values()), FEW)
