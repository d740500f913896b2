"""What cannot change while a name is bound to the same object, and is not looked at again."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType

from nbckpt.values.plain import ATOMS


def identity_of(value: object) -> int:
    """What changes when a name is bound to another object, or parts of a definition anew."""
    kind = type(value)
    if kind is FunctionType:
        return hash((id(value), *map(id, _parts_of(value))))
    if not issubclass(kind, type):
        return id(value)
    from nbckpt.codecs.pickler import is_by_reference

    if is_by_reference(value):
        return id(value)
    return hash((id(value), *map(id, vars(value).values())))


def is_fixed(value: object) -> bool:
    """Whether nothing inside `value` can change that `identity_of` does not tell."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is ModuleType:  # what was imported is kept by its name, another one by its content
        return sys.modules.get(getattr(value, "__name__", "")) is value
    if kind is not FunctionType:
        return False
    is_bare = not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)  # type: ignore[attr-defined]
    return is_bare and not vars(value) and not value.__annotations__


def _parts_of(function: object) -> tuple[object, ...]:
    names = ("__code__", "__name__", "__qualname__", "__doc__", "__module__")
    return tuple(getattr(function, name) for name in names)
