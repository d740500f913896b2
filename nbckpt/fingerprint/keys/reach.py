"""The user's functions and classes that can be called through a value."""

from __future__ import annotations

import gc
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import (
    AsyncGeneratorType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ProxyTypes, ReferenceType

from nbckpt.fingerprint.code.bytecode import (
    NOTHING,
    Names,
    names_of_code,
    union,
)
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.caches import cache_of
from nbckpt.fingerprint.values.definitions import BOOKKEEPING, functions_of_class
from nbckpt.fingerprint.values.generators import code_of
from nbckpt.fingerprint.values.homes import home_of, module_of_class
from nbckpt.fingerprint.values.lookups import reaches_all
from nbckpt.fingerprint.values.plain import ATOMS, levels_of
from nbckpt.fingerprint.values.raw_members import elements_of
from nbckpt.fingerprint.values.segments import segments_of
from nbckpt.fingerprint.values.text_rows import is_known
from nbckpt.runtime.user_code_errors import user_code_errors

LIMIT = 2_000
"""Objects to look at in one value before any of the user's code counts as reachable."""

MANY = 100
"""From so many elements on it is worth asking whether a container is plain data."""

_IN_C = frozenset({"_operator", "builtins", "collections", "functools", "itertools", "operator"})
"""Homes of iterators and other types that tell only the garbage collector what they hold."""

_BULK = frozenset({"numpy", "pandas", "polars", "pyarrow", "torch"})


def definitions_in(
    value: object,
    namespace: Mapping[str, object],
    limit: int = LIMIT,
    counts: Callable[[object, Mapping[str, object]], bool] | None = None,
    met: Callable[[object], object] = lambda _: None,
) -> list[object] | None:
    """The user's functions and classes inside `value`; None if it is too large to be searched.

    What reaches any variable, as `eval` does, is among them. With `counts`, it is what that says.

    Parameters
    ----------
    met
        Is told of all functions, classes and modules on the way.
    """
    counts = counts or is_definition
    found: list[object] = []
    seen: dict[int, object] = {}
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if type(item) in ATOMS or id(item) in seen:
            continue
        seen[id(item)] = item
        is_code = _is_a(item, FunctionType | type | ModuleType)
        if is_code:
            met(item)
        if reaches_all(item, namespace):
            found.append(item)
        elif counts(item, namespace):
            found.append(item)
            waiting.extend(_inside_definition(item))
        elif not is_code:
            waiting.extend(_inside(item))
        if len(seen) + len(waiting) > limit:
            return None
    return found


def definitions_of_all(namespace: Mapping[str, object]) -> list[object]:
    """The user's functions and classes that have a name."""
    return [value for value in list(namespace.values()) if is_definition(value, namespace)]


def names_of_definition(definition: object, namespace: Mapping[str, object]) -> Names:
    """The names of `namespace` that a function, or any method of a class, touches."""
    if reason := reaches_all(definition, namespace):
        return Names(everything=True, reason=reason.removesuffix("()"))
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


def is_definition(value: object, namespace: Mapping[str, object]) -> bool:
    """True if `value` is a function or class of the user's."""
    return _is_a(value, FunctionType | type) and home_of(value, namespace) is None


def _is_a(value: object, kinds: Any) -> bool:
    """`isinstance`, without asking the value itself: a dead weak proxy would raise."""
    return issubclass(type(value), kinds)


def _inside_definition(definition: object) -> Iterator[object]:
    """Objects that hang on a function or class: its closure, defaults, bases, methods."""
    if isinstance(definition, type):
        yield from definition.__bases__
        yield from functions_of_class(definition)
        yield type(definition)
        yield from (v for n, v in list(vars(definition).items()) if n not in BOOKKEEPING)
    if isinstance(definition, FunctionType):
        yield from (cell.cell_contents for cell in definition.__closure__ or () if _is_full(cell))
        yield from definition.__defaults__ or ()
        yield from (definition.__kwdefaults__ or {}).values()
        yield from vars(definition).values()


def _inside(value: Any) -> Iterator[object]:
    """Objects that hang directly on a value: elements, attributes, its class."""
    kind = type(value)
    if issubclass(kind, Own):
        return
    home = module_of_class(kind)
    if home.partition(".")[0] in _BULK:
        yield from _elements(value, _objects_in(value))
        return
    if issubclass(kind, ReferenceType) or any(kind is one for one in ProxyTypes):
        yield from _referred(value)
        return
    yield kind
    if (kind is list or kind is dict) and len(value) > MANY:
        segments = segments_of(value, is_variable=False)
        if segments is not None and segments.kind is not None:
            yield segments.kind  # what instances of it hold is plain
        if segments is not None or levels_of([value]) is not None:
            return
    if issubclass(kind, MethodType):
        yield from (value.__func__, value.__self__)
    elif issubclass(kind, GeneratorType | CoroutineType | AsyncGeneratorType):
        yield from _inside_generator(value)
    elif issubclass(kind, dict):
        yield from _elements(value, dict.values(value))
        if issubclass(kind, defaultdict):  # asking any other mapping may make an entry
            yield value.default_factory
    elif issubclass(kind, list | tuple | set | frozenset | deque):
        yield from _elements(value, elements_of(value))
    elif (cache := cache_of(value)) is not None:
        yield value.__wrapped__
        yield from _elements(cache.keys, cache.keys)
        yield from _elements(cache.values, cache.values)
    elif home in _IN_C:
        yield from gc.get_referents(value)
    yield from _attributes(value)


def _referred(reference: Any) -> Iterator[object]:
    """The target of a weak reference or proxy, if it is alive."""
    try:
        yield reference() if isinstance(reference, ReferenceType) else reference.__repr__.__self__
    except (ReferenceError, AttributeError):
        return


def _inside_generator(generator: Any) -> Iterator[object]:
    """The code of a generator or coroutine that has not ended, and its variables."""
    prefix = {GeneratorType: "gi", CoroutineType: "cr"}.get(type(generator), "ag")
    if frame := getattr(generator, f"{prefix}_frame"):
        yield code_of(frame)
        yield from list(frame.f_locals.values())


def _objects_in(table: Any) -> list[object]:
    """The objects that an array holds, or the columns of a table."""
    try:
        if hasattr(table, "items") and hasattr(table, "columns"):
            kinds = enumerate(table.dtypes)
            return [table.iloc[:, i] for i, kind in kinds if str(kind) == "object"]
        if not getattr(getattr(table, "dtype", None), "hasobject", False):
            return []
        array = table.to_numpy() if hasattr(table, "to_numpy") else table
        if type(array) is sys.modules["numpy"].ndarray and array.dtype.kind == "O":
            found: list[object] = [] if is_known(array) else array.reshape(-1).tolist()
            return found
        return list(table.reshape(-1) if hasattr(table, "reshape") else table)
    except user_code_errors():  # a shape that the package itself cannot show
        return []


def _elements(container: object, elements: Iterable[object]) -> list[object]:
    """The elements that may hold code; none of plain data."""
    items = elements if type(elements) is list else list(elements)
    if set(map(type, items)) <= ATOMS:
        return []
    return [] if len(items) > MANY and levels_of([container]) is not None else items


def _attributes(value: object) -> list[object]:
    try:
        found = list(getattr(value, "__dict__", {}).values())
        return [*found, *(getattr(value, name, None) for name in _slots_of(type(value)))]
    except user_code_errors():  # a property of that name may raise anything
        return []


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
