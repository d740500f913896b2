"""Type variables of the notebook, which cloudpickle brings back as those of its own module."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any

_EXTRA = ("__default__", "__infer_variance__")
"""Set by newer Pythons and by typing_extensions."""


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """How type variables are written; None for anything else."""
    is_variable = kind.__module__ in ("typing", "typing_extensions") and kind.__name__ in _MAKERS
    return _reduce_variable if is_variable else None


def _reduce_variable(_: object, variable: Any) -> Any:
    name, module = variable.__name__, variable.__module__
    if module != "__main__" and getattr(sys.modules.get(module), name, None) is variable:
        return getattr, (sys.modules[module], name)
    kind = type(variable).__name__
    state = {"__module__": module}
    if kind == "TypeVar":
        arguments = (*variable.__constraints__,)
        options = {
            "bound": variable.__bound__,
            "covariant": variable.__covariant__,
            "contravariant": variable.__contravariant__,
        }
    else:
        arguments, options = (), {}
    own = getattr(variable, "__dict__", {})
    state |= {extra: own[extra] for extra in _EXTRA if extra in own}
    return make_variable, (kind, name, arguments, options), state, None, None, set_members


def make_variable(kind: str, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A new type variable."""
    return _MAKERS[kind](name, *arguments, **options)


def set_members(variable: Any, members: dict[str, object]) -> None:
    """Give a type variable what its call does not take, its module above all."""
    for name, value in members.items():
        setattr(variable, name, value)


_MAKERS: dict[str, Any] = {
    "TypeVar": typing.TypeVar,
    "ParamSpec": typing.ParamSpec,
    "TypeVarTuple": typing.TypeVarTuple,
}
