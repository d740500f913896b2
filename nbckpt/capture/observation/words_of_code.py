"""The code that a cell, the notebook or a module has, and the names and strings in it."""

from __future__ import annotations

import ast
import contextlib
import dis
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import islice
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.capture.observation.ownership import DEPTH, is_users
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.code.nodes import once
from nbckpt.fingerprint.values.definitions import functions_of_class
from nbckpt.fingerprint.values.homes import MODULE_OF_CLASS, is_users_module
from nbckpt.fingerprint.values.plain import ATOMS, CONTAINERS, FEW
from nbckpt.fingerprint.values.segments import is_plain


def words_of_tree(tree: ast.Module) -> frozenset[str]:
    """All names of a cell's text, and the words inside its strings."""
    return once(tree, "words", lambda: frozenset(_words_of_tree(tree)))


def _words_of_tree(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
    for text in texts_of_tree(tree):
        yield from words_of(text)


def texts_of_tree(tree: ast.Module) -> Iterator[str]:
    """The strings in a cell."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@lru_cache(maxsize=4096)
def words_of_code(code: CodeType) -> frozenset[str]:
    """All names in some code, and the words of its strings."""
    words = {name for part in with_nested(code) for name in part.co_names}
    return frozenset(words.union(*map(words_of, strings_of_code(code))))


@lru_cache(maxsize=4096)
def strings_of_code(code: CodeType) -> frozenset[str]:
    """The strings in some code."""
    return frozenset(c for p in with_nested(code) for c in p.co_consts if isinstance(c, str))


@lru_cache(maxsize=4096)
def sets_items(code: CodeType) -> bool:
    """True if a function sets or deletes an item of something."""
    steps = (step for part in with_nested(code) for step in dis.get_instructions(part))
    return any(step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for step in steps)


def with_nested(code: CodeType) -> Iterable[CodeType]:
    """Some code, and that of functions and classes defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_nested(constant)


MANY = 100
"""Elements of a container that are looked at for functions."""

_CACHED = type(lru_cache(lambda: None))


def words_of_all(namespace: Mapping[str, object]) -> frozenset[str]:
    """All names in the code of the notebook's functions and classes, and words of its strings."""
    return frozenset().union(*map(words_of_code, codes_of_all(namespace)))


def codes_reached(tree: ast.Module, namespace: Mapping[str, object]) -> list[CodeType]:
    """The code of the functions and classes that a cell names, and that these name themselves.

    Of a module beside the notebook that is named it is all code.
    """
    is_own, seen = partial(_is_own, namespace), dict[int, object]({id(namespace): namespace})
    words = set(words_of_tree(tree))
    waiting, found = [*words], list[CodeType]()
    while waiting:
        value = namespace.get(waiting.pop())
        if type(value) in ATOMS:
            continue
        if type(value) is ModuleType:
            inside = (
                codes_of_modules([value.__name__]) if is_users_module(value.__name__) else iter(())
            )
        else:
            inside = _codes_in(value, "__main__", is_own, seen)
        for code in inside:
            found.append(code)
            new = words_of_code(code) - words
            words |= new
            waiting += new
    return found


def _is_own(namespace: Mapping[str, object], function: FunctionType) -> bool:
    return is_users(function, namespace, 0)


def codes_of_all(namespace: Mapping[str, object]) -> Iterator[CodeType]:
    """The code of functions and classes that the notebook has defined and still holds."""
    is_own = partial(_is_own, namespace)
    seen: dict[int, object] = {id(namespace): namespace}
    for value in list(namespace.values()):
        yield from _codes_in(value, "__main__", is_own, seen)


def codes_of_definition(
    definitions: Iterable[object], namespace: Mapping[str, object]
) -> Iterator[CodeType]:
    """The code of some functions and classes of the notebook's."""
    for definition in definitions:
        if isinstance(definition, FunctionType):
            if definition.__globals__ is namespace or _is_own(namespace, definition):
                yield definition.__code__
        elif isinstance(definition, type) and MODULE_OF_CLASS(definition) == "__main__":
            yield from (function.__code__ for function in functions_of_class(definition))


def codes_of_modules(modules: Iterable[str]) -> Iterator[CodeType]:
    """The code of functions and classes that some modules define."""
    for name in modules:
        module = sys.modules.get(name)
        own = vars(module) if isinstance(module, ModuleType) else {}

        def is_own(function: FunctionType, own: dict[str, object] = own) -> bool:
            return function.__globals__ is own

        seen: dict[int, object] = {id(own): own}
        for value in list(own.values()):
            yield from _codes_in(value, name, is_own, seen)


def _codes_in(
    value: Any,
    home: str,
    is_own: Callable[[FunctionType], bool],
    seen: dict[int, object],
    depth: int = DEPTH,
) -> Iterator[CodeType]:
    """The code of own functions that a value is, wraps or holds, and of its own class."""
    kind = type(value)
    if kind in ATOMS or depth < 0 or id(value) in seen:
        return
    seen[id(value)] = value
    if kind in CONTAINERS and len(value) >= FEW and is_plain(value):
        return  # no function is in it
    if kind is FunctionType:
        if is_own(value):
            yield value.__code__
        parts = [*_contents_of(value), vars(value).get("__wrapped__")]
    elif issubclass(kind, type):
        if MODULE_OF_CLASS(value) == home:
            yield from _codes_of_class(value, home)
        return
    else:
        if MODULE_OF_CLASS(kind) == home:
            yield from _codes_of_class(kind, home)
        parts = parts_of(value, kind)
    for part in parts:
        yield from _codes_in(part, home, is_own, seen, depth - 1)


def _codes_of_class(cls: type, home: str) -> Iterator[CodeType]:
    for base in cls.__mro__:
        if MODULE_OF_CLASS(base) == home:
            yield from (function.__code__ for function in functions_of_class(base))


def _contents_of(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty
            yield cell.cell_contents


def parts_of(value: Any, kind: type) -> list[object]:
    """Parts that may hold functions, of a value of a few kinds that do."""
    if kind is dict:
        return [*islice(value.values(), MANY)]
    if kind is list or kind is tuple:
        return [*value[:MANY]]
    if kind is set or kind is frozenset:
        return [*islice(value, MANY)]
    if kind is MethodType:
        return [value.__func__]
    if issubclass(kind, partial):
        return [value.func, *value.args]
    return [value.__wrapped__] if kind is _CACHED else []
