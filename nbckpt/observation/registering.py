"""Calls that register something with a library where nobody can look: ``codecs.register(f)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from nbckpt import keys
from nbckpt.analysis import nodes_of
from nbckpt.observation.attached import Attached
from nbckpt.observation.ownership import is_users, is_users_module
from nbckpt.observation.stores import resolved

_NAMES = re.compile(
    r"(un)?register(_\w+)?|add_((\w+_)?hooks?|type)|addaudithook|settrace|setprofile"
)
_ONLY_EFFECTS = frozenset({"atexit"})


def registering_calls(tree: ast.Module, namespace: Mapping[str, object]) -> Iterator[Attached]:
    """What a cell registers with libraries, as its text has it."""
    for call in _calls(tree):
        function = call.func if isinstance(call, ast.Call) else call
        name = function.attr if isinstance(function, ast.Attribute) else (
            function.id if isinstance(function, ast.Name) else ""
        )  # fmt: skip
        if not _NAMES.fullmatch(name):
            continue
        home = _home_of(function, namespace)
        if not home:
            continue
        statement = ast.Module([ast.Expr(call)], [])
        yield Attached(
            where=f"call {home}.{name} {ast.unparse(call)[:200]}",
            what=f"what '{name}' of {home} was given",
            source=ast.unparse(tree),
            change=None,
            known=keys.key_of(ast.fix_missing_locations(statement), namespace).digest,
            is_input=home not in _ONLY_EFFECTS,
        )


def _calls(tree: ast.Module) -> Iterator[ast.expr]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Call):
            yield node
        for decorator in getattr(node, "decorator_list", ()):
            if not isinstance(decorator, ast.Call):
                yield decorator


def _home_of(function: ast.expr, namespace: Mapping[str, object]) -> str:
    """The library whose function is called; empty if it is none's."""
    if isinstance(function, ast.Name):
        value = namespace.get(function.id)
        is_code = issubclass(type(value), FunctionType | BuiltinFunctionType | MethodType)
        return _library(getattr(value, "__module__", None)) if is_code else ""
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    top = resolved(root, namespace) if isinstance(root, ast.Name) else None
    if not isinstance(function, ast.Attribute) or not isinstance(top, ModuleType | type):
        return ""
    holder = resolved(function.value, namespace)
    if holder is None or is_users(holder, namespace):
        return ""
    if isinstance(holder, ModuleType):
        return _library(holder.__name__)
    return _library(getattr(holder, "__module__", type(holder).__module__))


def _library(name: object) -> str:
    return "" if not isinstance(name, str) or is_users_module(name) or name == "" else name
