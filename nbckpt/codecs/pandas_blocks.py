"""The blocks of pandas frames, and the arrays inside indexes and extension arrays.

Two frames on one block are two values (copy on write), so the arrays inside are written on their
own, and tie no variables; but an array that lies on the memory of a table stays there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values.frames import array_in, given_members
from nbckpt.fingerprint.values.spans import owner_of

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for pandas' holders of arrays of type `kind`; None for anything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not str(kind.__module__).startswith("pandas"):
        return None
    internals = sys.modules.get("pandas._libs.internals")
    if internals is None or not hasattr(pandas, "Index"):
        return None  # it is still being imported
    if issubclass(kind, internals.Block):
        return _reduce_block
    if kind.__name__ == "SingleBlockManager":
        return _reduce_manager
    if issubclass(kind, pandas.Index | pandas.api.extensions.ExtensionArray):
        return _reduce_owner
    if issubclass(kind, pandas.DataFrame | pandas.Series):
        return _reduce_table
    return None


def _reduce_table(_: NamespacePickler, table: Any) -> Any:
    """A frame or series with the attributes that somebody has set on it, which pandas drops.

    And with the very `attrs` that it has, which a variable may hold; pandas copies them.
    """
    members = given_members(table)
    attrs = vars(table).get("_attrs")
    if type(attrs) is dict and (attrs or getrefcount(attrs) > _ALONE):
        members = {**members, "_attrs": attrs}
    make, arguments, state, *_ = table.__reduce_ex__(5)
    if members:
        return make, arguments, (state, members), None, None, set_state
    if type(state) is dict and state.get("attrs") is attrs:
        state["attrs"] = {}  # the pickler holds what it has written: `attrs` would not be alone
    return make, arguments, state


_HOLDER: list[dict[str, object]] = [{}]
_FOUND = _HOLDER[0]
_ALONE = getrefcount(_FOUND)
"""References to a dict that one object holds, and a variable that was looked up."""


def set_state(table: Any, state: tuple[Any, dict[str, object]]) -> None:
    """Give a table what pandas wrote of it, and its other attributes."""
    table.__setstate__(state[0])
    vars(table).update(state[1])


def _reduce_block(pickler: NamespacePickler, block: Any) -> Any:
    make, (values, *rest) = block.__reduce_ex__(5)
    return make, (_values_of(pickler, block, values), *rest)


def _reduce_manager(pickler: NamespacePickler, manager: Any) -> Any:
    """The values of a series, which has a block, and writes what this holds itself."""
    block = manager.blocks[0]
    if not _is_copied(block):
        return NotImplemented
    make, arguments, state, *_ = manager.__reduce_ex__(5)
    return make, arguments, _replaced(state, block.values, _values_of(pickler, block, block.values))


def _replaced(state: Any, old: object, new: object) -> Any:
    """Lists, tuples and dicts with something else in the place of `old`."""
    if state is old:
        return new
    if type(state) in {list, tuple}:
        return type(state)(_replaced(part, old, new) for part in state)
    if type(state) is dict:
        return {key: _replaced(part, old, new) for key, part in state.items()}
    return state


def _values_of(pickler: NamespacePickler, block: Any, values: Any) -> Any:
    """The values of a block, fresh, so that two tables on one memory come back as two values."""
    is_copied = _is_copied(block)
    if type(values).__module__ == "numpy":
        values = values.view()
        pickler.keep(values)
        parts = [values]
    else:
        if is_copied and not hasattr(values, "_pa_array"):  # Arrow's memory is never written to
            values = values[:]
            pickler.keep(values)
        parts = [array_in(values, attribute) for attribute in _ATTRIBUTES]
    for part in parts:
        _own(pickler, part, is_written=True, is_copied=is_copied)
    return values


def _is_copied(block: Any) -> bool:
    """True if pandas copies a block before it writes to it, as another table has it as well."""
    refs = getattr(block, "refs", None)
    return refs is not None and bool(refs.has_reference())


def _reduce_owner(pickler: NamespacePickler, owner: Any) -> Any:
    for attribute in _ATTRIBUTES:
        _own(pickler, array_in(owner, attribute))
    return NotImplemented


_ATTRIBUTES = ("_data", "_ndarray", "_codes", "_mask", "_left", "_right")
"""Where an index or extension array has its arrays."""


def _own(
    pickler: NamespacePickler, values: Any, *, is_written: bool = False, is_copied: bool = False
) -> None:
    """Write an array of a table on its own, unless an array lies on its memory, too.

    Parameters
    ----------
    is_written
        Whether the table writes to it; if not, only an array that can be written to matters.
    is_copied
        Whether it then has a copy: nobody can be given both that and the memory of an array.
    """
    if type(values).__module__ == "numpy" and not is_copied:
        owner = owner_of(values)
        pickler.tables.setdefault(id(owner), set()).add(id(values))
        if is_written:
            pickler.written.add(id(owner))
        if id(owner) in pickler.linked:
            return
    pickler.private.add(id(values))
