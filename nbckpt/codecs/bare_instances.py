"""Instances of the notebook's classes that have a `__new__`: made again without it.

Pickle calls it. What it writes besides (a count of instances, a registry) it would write twice:
the class comes back with what was written. Where a class says itself how its instances are
pickled, it may count on its `__new__`, and has it called.
"""

from __future__ import annotations

import copyreg
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.values.reducing import NEW_OBJECT, reduction_of

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import Reducer

_TELLING = frozenset(
    {
        "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__",
        "__getnewargs_ex__",
    }
)  # fmt: skip


def reducer_for(kind: type) -> Reducer | None:
    """How such an instance is written; None of other classes."""
    members = [vars(base) for base in kind.__mro__]
    new = next((own["__new__"] for own in members if "__new__" in own), None)
    if type(new) is not staticmethod or type(new.__func__) is not FunctionType:
        return None
    if new.__func__.__module__ != "__main__" or kind in copyreg.dispatch_table:
        return None
    own = {name for one in members for name in _TELLING & one.keys() if _is_code(one[name])}
    return None if own else _reduce


def _is_code(member: object) -> bool:
    return type(member) in (FunctionType, classmethod, staticmethod, property)


def _reduce(_: object, value: Any) -> Any:
    make, arguments, *rest = reduction_of(value, 5)
    if make is not NEW_OBJECT or arguments != (type(value),):
        return make, arguments, *rest
    return new_bare, arguments, *rest


def new_bare(kind: type) -> object:
    """An instance without attributes, as the first base that is no Python code makes it."""
    for base in kind.__mro__:
        new = vars(base).get("__new__")
        if new is not None and type(new) is not staticmethod:
            return new(kind)
    return object.__new__(kind)
