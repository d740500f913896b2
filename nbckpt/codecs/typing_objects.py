"""Objects that `typing` makes for the notebook, and those that reduce to a name alone.

pickle looks such a name up in the module, which does not have it yet when a notebook is restored.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.functions import is_importable, refer
from nbckpt.codecs.loading import from_namespace
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.reducing import NEW_OBJECT, beside

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_EXTRA = ("__default__", "__infer_variance__")
"""Set by newer Pythons and by typing_extensions."""


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for type variables and the like of type `kind`; None for anything else."""
    if kind is typing.NewType:
        return _reduce_new_type
    if kind.__name__ == "TypeAliasType" and kind.__module__ == "typing":
        return _reduce_alias
    if kind.__module__ in ("typing", "typing_extensions") and kind.__name__ in _MAKERS:
        return _reduce_variable
    return _reduce_as_it_says if _says_itself(kind) else None


def _says_itself(kind: type) -> bool:
    """True if a class of the notebook's has code of its own that says how it is pickled."""
    methods = (kind.__reduce__, kind.__reduce_ex__)
    is_own = kind.__module__ == "__main__" and not issubclass(kind, BaseException)
    return is_own and any(isinstance(method, FunctionType) for method in methods)


def _reduce_as_it_says(pickler: NamespacePickler, value: Any) -> Any:
    reduced = value.__reduce_ex__(5)
    if not isinstance(reduced, str):
        return _with_plain_members(reduced, value)
    if pickler.scope.namespace.get(reduced) is value and reduced not in pickler.own:
        pickler.needs.add(reduced)
        return from_namespace, (reduced,)
    return NEW_OBJECT, (type(value),), getattr(value, "__dict__", None)


def _with_plain_members(reduced: Any, value: Any) -> Any:
    """A class's own reduction, with plain attributes that it leaves out: they may have changed.

    Its own code may compute them again from what is there when the value comes back.
    """
    if not isinstance(reduced, tuple) or (len(reduced) > 2 and reduced[2] is not None):
        return reduced
    members = getattr(value, "__dict__", None)
    if type(members) is not dict:
        return reduced
    return beside(reduced, value, [n for n, v in members.items() if type(v) in ATOMS])


def _reduce_new_type(pickler: NamespacePickler, value: Any) -> Any:
    if is_importable(value):
        return getattr, (sys.modules[value.__module__], value.__name__)
    if reference := refer(pickler, value):
        return reference
    members = {"__module__": value.__module__, "__qualname__": value.__qualname__}
    made = (value.__name__, value.__supertype__)
    return typing.NewType, made, members, None, None, set_members


def _reduce_alias(pickler: NamespacePickler, alias: Any) -> Any:
    if is_importable(alias):
        return getattr, (sys.modules[alias.__module__], alias.__name__)
    if reference := refer(pickler, alias):
        return reference
    return make_alias, (alias.__name__, alias.__value__, alias.__type_params__)


def make_alias(name: str, value: object, parameters: tuple[Any, ...]) -> Any:
    """A new name for a type."""
    make: Any = getattr(typing, "TypeAliasType")  # noqa: B009  # from Python 3.12 on
    return make(name, value, type_params=parameters)


def _reduce_variable(pickler: NamespacePickler, variable: Any) -> Any:
    if is_importable(variable):
        return getattr, (sys.modules[variable.__module__], variable.__name__)
    if reference := refer(pickler, variable):
        return reference
    kind = type(variable).__name__
    options, arguments = {}, ()
    if kind == "TypeVar":
        arguments = variable.__constraints__
        options = {
            "bound": variable.__bound__,
            "covariant": variable.__covariant__,
            "contravariant": variable.__contravariant__,
        }
    own = getattr(variable, "__dict__", {})
    members = {"__module__": variable.__module__} | {n: own[n] for n in _EXTRA if n in own}
    made = (kind, variable.__name__, arguments, options)
    return make_variable, made, members, None, None, set_members


def make_variable(kind: str, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A new type variable."""
    return _MAKERS[kind](name, *arguments, **options)


def set_members(value: Any, members: dict[str, object]) -> None:
    """Set what the call that made `value` does not take, its module above all."""
    for name, member in members.items():
        setattr(value, name, member)


_MAKERS: dict[str, Any] = {
    "TypeVar": typing.TypeVar,
    "ParamSpec": typing.ParamSpec,
    "TypeVarTuple": typing.TypeVarTuple,
}
