"""Dicts with attributes, which are forgotten or cut loose when pickle brings them back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbckpt.values.reducing import reduction_of


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """How bunches of type `kind` are written; None for anything else."""
    bunches = sys.modules.get("sklearn.utils._bunch")
    if bunches is not None and kind is bunches.Bunch:
        return _reduce_bunch
    if issubclass(kind, dict) and kind.__dictoffset__ and kind.__reduce_ex__ is dict.__reduce_ex__:
        return _reduce_self_held if kind.__reduce__ is dict.__reduce__ else None
    return None


def _reduce_bunch(_: object, bunch: Any) -> Any:
    return bare_bunch, (type(bunch),), vars(bunch), None, iter(bunch.items()), set_members


def _reduce_self_held(_: object, members: Any) -> Any:
    """A dict whose items are its attributes, as `self.__dict__ = self` makes them."""
    if members.__dict__ is not members:
        return reduction_of(members, 5)
    return bare_bunch, (type(members),), True, None, iter(dict.items(members)), hold_itself


def bare_bunch(kind: Any) -> Any:
    """A bunch that is still to be filled."""
    return kind.__new__(kind)


def hold_itself(members: Any, _: object) -> None:
    """Let a dict's items be its attributes."""
    members.__dict__ = members


def set_members(bunch: Any, members: dict[str, object]) -> None:
    """Give a bunch the attributes that it had."""
    vars(bunch).update(members)
