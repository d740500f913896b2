"""Variables that lie on one memory: what changes one of them in place changes the others.

Memory is told by its addresses, whoever shows it: arrays, buffers, tensors, columns of Arrow and
polars, pointers of `ctypes`; and what maps a file or a shared block, by the file or the block.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from nbckpt.fingerprint.keys.regions import (
    ANYWHERE,
    FEW,
    Region,
    are_of_strangers,
    regions_of,
    shows_memory,
)
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import types_that
from nbckpt.fingerprint.values.segments import segments_of

_NO_WAYS = ("closed", "anywhere")
"""Kinds by way of which no code changes memory that others show."""


def on_same_memory(names: Iterable[str], namespace: Mapping[str, object]) -> frozenset[str]:
    """The variables that are views of the memory of any of `names`, or have views there."""
    values = [v for n in names if type(v := namespace.get(n)) not in ATOMS]
    shown = (r for value in values for part in (value, *_many_in(value)) for r in regions_of(part))
    regions = [region for region in shown if region.kind not in _NO_WAYS]
    if not regions:
        return frozenset()
    places, items = _Places(regions), list(namespace.items())
    return frozenset(
        n for n, value in items if any(map(places.meets, regions_of(value, also_in_c=True)))
    )


def _many_in(value: object) -> list[object]:
    """Objects in a container that `regions_of` does not look into, and that may show memory."""
    kind = type(value)
    if kind not in (dict, list, tuple) or len(value) <= FEW:  # type: ignore[arg-type]
        return []
    segments = segments_of(value, is_variable=False)
    if segments is not None and not (segments.kind is not None and shows_memory(segments.kind)):
        return []
    held: list[object] = [*value.values()] if kind is dict else [*value]  # type: ignore[attr-defined, misc]
    kinds = types_that(shows_memory, held)
    return [one for one in held if id(type(one)) in kinds] if kinds else []


def also_on(
    name: str, namespace: Mapping[str, object], apart: Iterable[str], *, are_tables_values: bool
) -> str:
    """A variable outside of `apart` through which the memory of `name` is seen; or nothing.

    Parameters
    ----------
    apart
        Variables that are kept together with it: these count where an array is over memory whose
        owner shows no more than the address (``__array_interface__``), as none keeps that.
    are_tables_values
        Whether what pandas shows of memory does not count for arrays that are read-only.
    """
    own = regions_of(namespace[name]) if name in namespace else []
    left_out = {name, *apart}
    if not own:
        return ""
    for other, value in list(namespace.items()):
        if other == name or not is_user_name(other):
            continue
        if other in left_out and not are_of_strangers(namespace[name], value):
            continue
        for there in regions_of(_other_results(value, left_out, namespace, other)):
            if any(_is_seen(here, there, are_tables_values) for here in own):
                return other
    return ""


def _other_results(
    value: object, names: Iterable[str], namespace: Mapping[str, object], holder: str
) -> object:
    """IPython's results without those that are the objects of some variables themselves.

    These are kept by name, and go with their variable.
    """
    if holder != "Out" or type(value) is not dict:
        return value
    own = [namespace[name] for name in names if name in namespace]
    return {n: v for n, v in value.items() if not any(v is one for one in own)}


def _is_seen(one: Region, other: Region, are_tables_values: bool) -> bool:
    if one.place != other.place or one.start >= other.end or other.start >= one.end:
        return False  # also where one is anywhere: it is at no address
    kinds = {one.kind, other.kind}
    if "table" in kinds:
        return "raw" in kinds or (not are_tables_values and "read" in kinds)
    return "raw" in kinds


class _Places:
    """Regions to ask whether others meet any of them."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self.ends: dict[str, list[tuple[int, int]]] = {}
        for region in sorted(regions):
            spans = self.ends.setdefault(region.place, [])
            if spans and region.start <= spans[-1][0]:
                spans[-1] = (max(spans[-1][0], region.end), spans[-1][1])
            else:
                spans.append((region.end, region.start))

    def meets(self, region: Region) -> bool:
        if region is ANYWHERE:
            return True
        spans = self.ends.get(region.place, [])
        i = bisect_left(spans, (region.start + 1, 0))
        return i < len(spans) and spans[i][1] < region.end
