"""Instances of the notebook's classes that are made again without their `__new__` and `__init__`.

Pickle calls these. What they write besides (a count of instances, a registry) they would write
twice: the class comes back with what was written. And what derives from a class of Python, as
``class Length(float)`` does, is called with what that class needs, which its own `__new__` may not
take. Where a class says itself how its instances are pickled, it may count on these calls, and has
them.
"""

from __future__ import annotations

import copyreg
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values.raw_members import member_of_class, members_of
from nbckpt.fingerprint.values.reducing import (
    NEW_OBJECT,
    asks_for_its_state,
    beside,
    past_getattr,
    reduction_of,
)

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import Reducer

_TELLING = frozenset(
    {
        "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__",
        "__getnewargs_ex__",
    }
)  # fmt: skip
_NOTEBOOK = "__main__"


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for instances made again without `__new__` and `__init__`; else None."""
    if kind in copyreg.dispatch_table:
        return None
    has_base = base_of(kind) is not object
    makers = ("__new__", "__init__") if has_base else ("__new__",)
    if not any(_is_of_the_notebook(kind, name) for name in makers):
        return None
    own = [vars(cls) for cls in kind.__mro__ if not has_base or _is_written(cls)]
    tells = any(_is_code(one[name]) for one in own for name in _TELLING & one.keys())
    return None if tells else _reduce


def _is_written(kind: type) -> bool:
    """True if a class is one of the notebook's, and no tuple with names that Python made there."""
    return kind.__module__ == _NOTEBOOK and "_field_defaults" not in vars(kind)


def _is_of_the_notebook(kind: type, name: str) -> bool:
    """True if a method is code of the notebook."""
    found = member_of_class(kind, name)
    function = found.__func__ if type(found) is staticmethod else found
    return type(function) is FunctionType and function.__module__ == _NOTEBOOK


def _is_code(member: object) -> bool:
    return type(member) in (FunctionType, classmethod, staticmethod, property)


def base_of(kind: type) -> Any:
    """The first base of a class that is not the notebook's."""
    return next(base for base in kind.__mro__ if not _is_written(base))


def _reduce(_: object, value: Any) -> Any:
    kind = type(value)
    reduced = reduction_of(value, 5)
    if asks_for_its_state(kind):
        reduced = past_getattr(reduced)
    make, arguments, *rest = reduced
    if make is NEW_OBJECT and arguments == (kind,):
        if _is_of_the_notebook(kind, "__new__"):
            return new_bare, arguments, *rest
    elif make is NEW_OBJECT and _is_of_the_notebook(kind, "__new__"):
        return new_of_base, (*arguments[:1], base_of(kind), *arguments[1:]), *rest
    elif make is kind:
        reduced = made_by_base, (kind, base_of(kind), *arguments), *rest
        has_state = bool(rest) and rest[0] is not None
        return reduced if has_state else beside(reduced, value, members_of(value))
    return make, arguments, *rest


def new_bare(kind: type) -> object:
    """An instance without attributes, as the first base that is no Python code makes it."""
    for base in kind.__mro__:
        new = vars(base).get("__new__")
        if new is not None and type(new) is not staticmethod:
            return new(kind)
    return object.__new__(kind)


def new_of_base(kind: type, base: Any, *arguments: Any) -> object:
    """An instance, as a base of its class makes it."""
    return base.__new__(kind, *arguments)


def made_by_base(kind: type, base: Any, *arguments: Any) -> object:
    """An instance, as a base of its class makes it when that is called."""
    made = base.__new__(kind, *arguments)
    if base.__init__ is not object.__init__:
        base.__init__(made, *arguments)
    return made
