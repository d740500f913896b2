"""The blocks of pandas frames, and the arrays inside indexes and extension arrays.

Two frames on one block are two values (copy on write), so the arrays inside are written on their
own, and tie no variables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.values.frames import given_members

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """How holders of arrays of type `kind` are written; None for anything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not str(kind.__module__).startswith("pandas"):
        return None
    internals = sys.modules.get("pandas._libs.internals")
    if internals is None or not hasattr(pandas, "Index"):
        return None  # it is still being imported
    if issubclass(kind, internals.Block):
        return _reduce_block
    if issubclass(kind, pandas.Index | pandas.api.extensions.ExtensionArray):
        return _reduce_owner
    if issubclass(kind, pandas.DataFrame | pandas.Series):
        return _reduce_table
    return None


def _reduce_table(_: NamespacePickler, table: Any) -> Any:
    """A frame or series with the attributes that somebody has set on it, which pandas drops."""
    members = given_members(table)
    if not members:
        return NotImplemented
    make, arguments, state, *_ = table.__reduce_ex__(5)
    return make, arguments, (state, members), None, None, set_state


def set_state(table: Any, state: tuple[Any, dict[str, object]]) -> None:
    """Give a table what pandas wrote of it, and its other attributes."""
    table.__setstate__(state[0])
    vars(table).update(state[1])


def _reduce_block(pickler: NamespacePickler, block: Any) -> Any:
    # A fresh view for each block, so that two frames on one memory come back as two values.
    make, (values, *rest) = block.__reduce_ex__(5)
    if type(values).__module__ == "numpy":
        values = values.view()
        pickler.keep(values)
    _own(pickler, values)
    return make, (values, *rest)


def _reduce_owner(pickler: NamespacePickler, owner: Any) -> Any:
    for attribute in ("_data", "_ndarray", "_codes", "_mask"):
        _own(pickler, getattr(owner, attribute, None))
    return NotImplemented


def _own(pickler: NamespacePickler, values: object) -> None:
    pickler.private.add(id(values))
