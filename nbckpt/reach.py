"""Which of the user's functions and classes can be called through a value."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.bytecode import NOTHING, Names, names_of_code, union
from nbckpt.definitions import functions_of_class
from nbckpt.homes import home_of
from nbckpt.plain import ATOMS

LIMIT = 2_000
"""Objects to look at in one value before any of the user's code counts as reachable."""

_BULK = frozenset({"numpy", "pandas", "polars", "pyarrow", "torch"})


def definitions_in(
    value: object, namespace: Mapping[str, object], limit: int = LIMIT
) -> list[object] | None:
    """The user's functions and classes inside `value`; None if it is too large to be searched."""
    found: dict[int, object] = {}
    seen: dict[int, object] = {}
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if type(item) in ATOMS or id(item) in seen:
            continue
        seen[id(item)] = item
        if len(seen) + len(waiting) > limit:
            return None
        if _is_definition(item, namespace):
            found[id(item)] = item
        waiting.extend(_inside(item, limit))
    return list(found.values())


def definitions_of_all(namespace: Mapping[str, object]) -> list[object]:
    """The user's functions and classes that have a name."""
    return [value for value in list(namespace.values()) if _is_definition(value, namespace)]


def names_of_definition(definition: object, namespace: Mapping[str, object]) -> Names:
    """The names of `namespace` that a function, or any method of a class, touches."""
    functions: Iterable[FunctionType] = ()
    if isinstance(definition, FunctionType):
        functions = (definition,)
    elif isinstance(definition, type):
        functions = functions_of_class(definition)
    own = [names_of_code(f.__code__) for f in functions if _lives_in(f, namespace)]
    return union(own) if own else NOTHING


def _lives_in(function: FunctionType, namespace: Mapping[str, object]) -> bool:
    # Not by `__module__`: a decorator of a library copies it to its own function.
    own = function.__globals__
    return own is namespace or own.get("__name__") == "__main__"


def _is_definition(value: object, namespace: Mapping[str, object]) -> bool:
    return isinstance(value, FunctionType | type) and home_of(value, namespace) is None


def _inside(value: Any, limit: int) -> Iterator[object]:
    """What hangs directly on `value`; enough of it to notice that it is more than `limit`."""
    kind = type(value)
    if isinstance(value, dict):
        yield from _some([*value.values()] if len(value) <= limit else value.values(), limit)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from _some(value, limit)
    elif isinstance(value, FunctionType):
        yield from (cell.cell_contents for cell in value.__closure__ or () if _is_full(cell))
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, type):
        yield from value.__bases__
        yield from functions_of_class(value)
    if isinstance(value, ModuleType | type) or kind.__module__.partition(".")[0] in _BULK:
        return
    yield kind
    yield from list(getattr(value, "__dict__", {}).values())
    for name in _slots_of(kind):
        yield getattr(value, name, None)


def _some(values: Iterable[object], limit: int) -> Iterator[object]:
    items = list(values)
    if set(map(type, items)) <= ATOMS:
        return
    yield from items[: limit + 1]


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # to ask is the only way to know
    except ValueError:
        return False
    return True


def _slots_of(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else tuple(slots)
