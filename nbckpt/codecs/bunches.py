"""Dicts with attributes, which are forgotten or cut loose when pickle brings them back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbckpt.codecs import bare_instances
from nbckpt.codecs.bare_instances import new_bare
from nbckpt.fingerprint.values.reducing import reduction_of


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """The reducer for dicts with attributes of type `kind`; None for anything else."""
    bunches = sys.modules.get("sklearn.utils._bunch")
    if bunches is not None and kind is bunches.Bunch:
        return _reduce_bunch
    if issubclass(kind, dict) and kind.__dictoffset__ and kind.__reduce_ex__ is dict.__reduce_ex__:
        return _reduce_mapping if kind.__reduce__ is dict.__reduce__ else None
    return None


def _reduce_bunch(_: object, bunch: Any) -> Any:
    return new_bare, (type(bunch),), vars(bunch), None, iter(bunch.items()), set_members


def _reduce_mapping(pickler: Any, members: Any) -> Any:
    """A dict whose items may be its attributes, as `self.__dict__ = self` makes them."""
    kind = type(members)
    if members.__dict__ is members:
        return new_bare, (kind,), True, None, iter(dict.items(members)), hold_itself
    usual = bare_instances.reducer_for(kind)
    return usual(pickler, members) if usual is not None else reduction_of(members, 5)


def hold_itself(members: Any, _: object) -> None:
    """Let a dict's items be its attributes."""
    members.__dict__ = members


def set_members(bunch: Any, members: dict[str, object]) -> None:
    """Give a bunch the attributes that it had."""
    vars(bunch).update(members)
