"""Equality of functions and of classes, by their code and the values that they hold."""

from __future__ import annotations

from contextvars import ContextVar
from types import CodeType, FunctionType, MethodType
from typing import Any

from nbckpt.fingerprint.values.caches import CACHED
from nbckpt.reports.diff.nested_values import are_equal
from nbckpt.runtime.context import called_with

_TELLING = frozenset(
    {
        "__annotations__",
        "__match_args__",
        "__slots__",
        "__pydantic_fields__",
        "__dataclass_fields__",
    }
)
"""Of a class's members between double underscores that are no functions, those that count."""

_asked: ContextVar[frozenset[tuple[int, int]]] = ContextVar("nbckpt_asked", default=frozenset())
"""Pairs that are being compared: a closure may hold its own function."""


def are_alike(before: Any, after: Any) -> bool:
    """True if two functions or classes have the same code, defaults, closure and attributes."""
    before, after = _inner(before), _inner(after)
    if before is after:
        return True
    pair = id(before), id(after)
    if pair in _asked.get():
        return True
    if isinstance(before, FunctionType) and isinstance(after, FunctionType):
        return called_with(_asked, _asked.get() | {pair}, _are_alike_functions, before, after)
    if isinstance(before, type) and isinstance(after, type):
        return called_with(_asked, _asked.get() | {pair}, _are_alike_classes, before, after)
    return False


def _inner(value: Any) -> Any:
    if isinstance(value, MethodType):
        return value.__func__
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    return value.__wrapped__ if isinstance(value, CACHED) else value


def _are_alike_functions(before: FunctionType, after: FunctionType) -> bool:
    if before.__qualname__ != after.__qualname__:
        return False
    if _told_code(before.__code__) != _told_code(after.__code__):
        return False
    return are_equal(_held_by(before), _held_by(after))


def _held_by(function: FunctionType) -> list[object]:
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    return [function.__defaults__, function.__kwdefaults__, cells, function.__annotations__]


def _contents(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _are_alike_classes(before: type, after: type) -> bool:
    named = [(c.__qualname__, [b.__qualname__ for b in c.__bases__]) for c in (before, after)]
    old, new = members_of(before), members_of(after)
    if named[0] != named[1] or old.keys() != new.keys():
        return False
    return all(_are_alike_members(old[name], new[name]) for name in old)


def members_of(cls: type) -> dict[str, Any]:
    """Members that the body of a class defined, by name."""
    return {
        n: m
        for n, m in vars(cls).items()
        if not n.startswith(("__", "_abc_")) or n in _TELLING or isinstance(_inner(m), FunctionType)
    }


def _are_alike_members(before: Any, after: Any) -> bool:
    if isinstance(before, property) and isinstance(after, property):
        pairs = zip(_functions_of(before), _functions_of(after), strict=True)
        return all(x is y or are_alike(x, y) for x, y in pairs)
    before, after = _inner(before), _inner(after)
    if isinstance(before, FunctionType | type):
        return are_alike(before, after)
    return are_equal(before, after)


def _functions_of(one: property) -> tuple[Any, ...]:
    return one.fget, one.fset, one.fdel


def _told_code(code: CodeType) -> object:
    constants = [_told_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants
