"""Functions, classes and modules of which a stream holds the name, and not the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

from nbckpt.codecs import functions
from nbckpt.fingerprint.values.homes import is_made_module
from nbckpt.fingerprint.values.raw_members import types_that


def homes_of(namespace: Mapping[str, object], names: Sequence[str]) -> dict[int, str]:
    """Where the notebook's own functions and classes live: id → the first of their names."""
    homes: dict[int, str] = {}
    named = types_that(lambda k: issubclass(k, functions.NAMED), map(namespace.get, names))
    for name in names:
        value: Any = namespace[name]
        if id(type(value)) in named and not functions.is_importable(value):
            own_name = value.__name__
            is_at_home = namespace.get(own_name) is value
            homes.setdefault(id(value), own_name if is_at_home else name)
    return homes


def is_by_reference(value: object) -> bool:
    """True if a stream holds only the name of `value`: it is a module, or can be imported."""
    if issubclass(type(value), ModuleType):
        return not is_made_module(value)
    return _is_named(value) and functions.is_importable(value)


def _is_named(value: object) -> TypeGuard[FunctionType | type]:
    """True if `value` is a function or class, by its type: a dead weak proxy has no class."""
    return issubclass(type(value), functions.NAMED)
