"""Walks through code: functions, classes, modules, methods and their wrappers."""

from __future__ import annotations

import functools
import sys
import typing
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.fingerprint.code.bytecode import digest_of_code
from nbckpt.fingerprint.user_names import DECORATED
from nbckpt.fingerprint.values import caches
from nbckpt.fingerprint.values.definitions import content_of_cell, parts_of_class, parts_of_function
from nbckpt.fingerprint.values.homes import home_of_method, is_made_module
from nbckpt.fingerprint.values.instances import put_unknown
from nbckpt.fingerprint.values.walking import Step, Walk


def walk_function(walk: Walk, value: FunctionType) -> None:
    """A function: a library's by name, the user's by what it is made of."""
    walk.found.note_lookup(value)
    if home := walk.found.home(value):
        walk.put(b"named", home)
    elif not walk.is_known(value):
        walk.found.reached[id(value)] = value
        if made := vars(value).get(DECORATED):
            walk.put(b"decorated")
            walk.push([made[1][0]])
            return
        walk.found.is_user_module(str(value.__globals__.get("__name__")))
        walk.put_all(b"function", parts_of_function(value, walk.found.namespace))


def walk_class(walk: Walk, value: type) -> None:
    """A class: a library's by name, the user's by what it is made of."""
    if home := walk.found.home(value):
        walk.put(b"named", home)
    elif not walk.is_known(value):
        walk.found.reached[id(value)] = value
        walk.found.is_user_module(str(value.__module__))
        walk.put_all(b"class", parts_of_class(value))


def walk_module(walk: Walk, value: ModuleType) -> None:
    """A module by its name, and the user's own are noted; one that was made, by what it holds."""
    if is_made_module(value) and not walk.found.note_lookup(value):
        if not walk.is_known(value):
            members = {n: v for n, v in vars(value).items() if n not in _OF_MODULES}
            walk.put(b"made module", value.__name__)
            walk.push([members])
        return
    walk.found.note_lookup(value)
    walk.put(b"module", value.__name__)
    walk.found.is_user_module(value.__name__)


def walk_code(walk: Walk, value: CodeType) -> None:
    """Compiled code."""
    walk.put(b"code", digest_of_code(value))


def walk_method(walk: Walk, value: MethodType) -> None:
    """A method of a Python function, bound to its object."""
    if walk.found.note_lookup(value):
        walk.put(b"lookup", value.__name__)
        return
    if home := home_of_method(value):
        walk.put(b"named", home)
        return
    walk.put(b"method")
    walk.push([value.__func__, value.__self__])


def walk_builtin(walk: Walk, value: BuiltinFunctionType) -> None:
    """A function or method written in C."""
    if walk.found.note_lookup(value):
        walk.put(b"lookup", value.__name__)
        return
    if home := home_of_method(value):
        walk.put(b"named", home)
        return
    walk.put(b"method", value.__name__)
    walk.push([value.__self__])


def walk_partial(walk: Walk, value: functools.partial[Any]) -> None:
    """A `functools.partial`, which others may share."""
    if not walk.is_known(value):
        walk.put(b"partial")
        walk.push([value.func, value.args, value.keywords, vars(value)])


def walk_cached(walk: Walk, value: Any) -> None:
    """A function under `functools.lru_cache`, which others may share: with what it remembers.

    That counts in full, in the order in which the cache would drop it, but where nobody can see
    it: see `caches.is_only_faster`. So a cell that asks for `fib(30)` needs not run again because
    one above asks for `fib(20)` now. What is remembered there is kept and restored all the same.
    """
    if home := walk.found.home(value):
        walk.put(b"named", home)
    elif not walk.is_known(value):
        cache, answers = caches.cache_of(value), caches.answers_of(value)
        if cache is None or answers is None:
            put_unknown(walk, value)
            return
        if not walk.found.counts_caches and caches.is_only_faster(
            value, cache, walk.found.namespace
        ):
            answers = []
        walk.put(b"cached", str(value.cache_parameters()))
        parts = [value.__wrapped__, caches.members_of(value), *caches.columns_of(answers)]
        walk.put_all(b"answers", parts)


def walk_property(walk: Walk, value: property) -> None:
    """A property that lies outside of its class."""
    walk.put(b"property")
    walk.push([value.fget, value.fset, value.fdel])


def walk_wrapped(walk: Walk, value: Any) -> None:
    """A static or class method that lies outside of its class."""
    walk.put(b"wrapped", type(value).__name__)
    walk.push([value.__func__])


def walk_type_variable(walk: Walk, value: Any) -> None:
    """A type variable: a library's by name, the user's by its bounds."""
    if home := walk.found.home(value):
        walk.put(b"named", home)
    elif not walk.is_known(value):
        walk.put(b"variable", type(value).__name__, value.__name__)
        walk.push([getattr(value, name, None) for name in _BOUNDS])


def walk_new_type(walk: Walk, value: Any) -> None:
    """A `typing.NewType`: a library's by name, the user's by what it is."""
    if home := walk.found.home(value):
        walk.put(b"named", home)
    else:
        walk.put(b"new type", value.__name__)
        walk.push([value.__supertype__])


def walk_alias(walk: Walk, value: Any) -> None:
    """A ``type`` statement's alias: a library's by name, the user's by what it stands for."""
    if home := walk.found.home(value):
        walk.put(b"named", home)
    elif not walk.is_known(value):
        walk.put(b"alias", value.__name__)
        walk.push([value.__value__, value.__type_params__])


def walk_cell(walk: Walk, value: CellType) -> None:
    """The cell of a closure."""
    if not walk.is_known(value):
        walk.put(b"cell")
        walk.push([content_of_cell(value)])


_OF_MODULES = frozenset({"__name__", "__loader__", "__package__", "__spec__", "__builtins__"})
_BOUNDS = ("__bound__", "__constraints__", "__covariant__", "__contravariant__")


STEPS: dict[type, Step] = {
    property: walk_property,
    staticmethod: walk_wrapped,
    classmethod: walk_wrapped,
    CellType: walk_cell,
    typing.NewType: walk_new_type,
    typing.TypeVar: walk_type_variable,
    typing.ParamSpec: walk_type_variable,
    typing.TypeVarTuple: walk_type_variable,
    FunctionType: walk_function,
    ModuleType: walk_module,
    CodeType: walk_code,
    MethodType: walk_method,
    BuiltinFunctionType: walk_builtin,
    functools.partial: walk_partial,
    caches.CACHED: walk_cached,
}

if sys.version_info >= (3, 12):
    STEPS[typing.TypeAliasType] = walk_alias
