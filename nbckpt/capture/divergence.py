"""The place inside two values at which they part, as one would write the way to it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from nbckpt.codecs.refused_objects import children_of
from nbckpt.digests import Digest
from nbckpt.runtime.user_code_errors import user_code_errors

DEPTH = 12
MOST_CHILDREN = 2000
"""Of one object; where the values part behind that, the way ends there."""

Digester: TypeAlias = Callable[[object], Digest]


def path_of_divergence(
    name: str, one: object, other: object, digest: Digester, other_digest: Digester
) -> str:
    """The way from a variable to where two values of it differ: ``cfg['rows'][3]``.

    Parameters
    ----------
    digest, other_digest
        Digests of what is inside `one`, and inside `other`.
    """
    path = name
    for _ in range(DEPTH):
        if type(one) is not type(other):
            return path
        if (place := _place_in_array(one, other)) is not None:
            return path + place
        mine, its = _children(one), _children(other)
        label = _first_differing(mine, its, digest, other_digest)
        if label is None:
            return path
        path += label
        if label not in mine or label not in its:
            return path
        one, other = mine[label], its[label]
    return path


def _place_in_array(one: Any, other: Any) -> str | None:
    """The first element at which two arrays differ; None if they are none, or differ otherwise."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(one) is not numpy.ndarray:
        return None
    if (one.dtype, one.shape) != (other.dtype, other.shape) or one.dtype.hasobject or not one.ndim:
        return None
    differing = (one != other) & ~((one != one) & (other != other))  # NaN is NaN
    found = numpy.flatnonzero(differing)
    if not len(found):
        return None
    return str(list(map(int, numpy.unravel_index(found[0], one.shape))))


def _children(value: object) -> dict[str, object]:
    try:
        found = itertools.islice(children_of(value), MOST_CHILDREN)
        return {label: child for label, child in found if label != "{…}"}
    except user_code_errors():  # a value's own code: the way ends here
        return {}


def _first_differing(
    mine: dict[str, object], its: dict[str, object], digest: Digester, other_digest: Digester
) -> str | None:
    for label in {**mine, **its}:
        if label not in mine or label not in its:
            return label
        if digest(mine[label]) != other_digest(its[label]):
            return label
    return None
