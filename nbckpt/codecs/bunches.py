"""scikit-learn's bunches: dicts with attributes, which they forget when pickle brings them back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """How bunches of type `kind` are written; None for anything else."""
    bunches = sys.modules.get("sklearn.utils._bunch")
    return _reduce_bunch if bunches is not None and kind is bunches.Bunch else None


def _reduce_bunch(_: object, bunch: Any) -> Any:
    return bare_bunch, (type(bunch),), vars(bunch), None, iter(bunch.items()), set_members


def bare_bunch(kind: Any) -> Any:
    """A bunch that is still to be filled."""
    return kind.__new__(kind)


def set_members(bunch: Any, members: dict[str, object]) -> None:
    """Give a bunch the attributes that it had."""
    vars(bunch).update(members)
