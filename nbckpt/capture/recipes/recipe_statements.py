"""Tests that a statement does nothing but build a value."""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

from nbckpt.runtime.user_code_errors import user_code_errors

_EFFECTFUL_MODULES = frozenset(
    {"subprocess", "multiprocessing", "tempfile", "shutil", "shelve", "dbm", "socketserver",
     "webbrowser", "os", "signal", "ctypes", "http", "xmlrpc", "logging", "smtplib", "ftplib",
     "imaplib", "poplib", "selenium", "ray", "distributed", "wandb", "mlflow"}
)  # fmt: skip
"""Classes and functions of these do more than build a value when they are called."""

_EFFECTFUL_CLASSES = re.compile(r".*(Thread|Timer|Process|Popen|Writer|Server|PdfPages)")

_WRITING_MODE = re.compile(r"(?=.*[wax+])[rwaxbtU+]{1,4}")

_BUILDERS = frozenset({"open", "sqlite3.connect", "duckdb.connect", "socket.socket", "numpy.load"})
"""Functions that build a value, beside classes."""

_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Dict, ast.Set,
    ast.JoinedStr, ast.FormattedValue, ast.UnaryOp, ast.BinOp, ast.Call, ast.Starred, ast.keyword,
    ast.expr_context, ast.operator, ast.unaryop, ast.Slice,
)  # fmt: skip
"""Syntax that a recipe may be made of: nothing that assigns, awaits, yields or loops."""

_PURE_CALLS = frozenset(
    {"os.getenv", "os.environ.get", "str", "int", "float", "bool", "bytes", "dict", "list",
     "tuple", "set", "pathlib.Path", "Path", "getpass.getuser"}
)  # fmt: skip


def sole_call(statement: ast.stmt, name: str) -> ast.Call | None:
    """The call of a statement that binds its result to `name` alone; None if it is another one."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]  # type: ignore[attr-defined]
    value = statement.value  # type: ignore[attr-defined]
    is_simple = len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name
    return value if is_simple and isinstance(value, ast.Call) else None


def is_plain(call: ast.Call, namespace: Mapping[str, object]) -> bool:
    """True if the arguments are constants, names and calls that only compute."""
    for node in ast.walk(call):
        if not isinstance(node, _EXPRESSIONS):
            return False
        if isinstance(node, ast.Call) and node is not call:
            function = _resolve(node.func, namespace)
            is_pure = ast.unparse(node.func) in _PURE_CALLS
            if not is_pure and not (isinstance(function, type) and _is_harmless(function)):
                return False
    return True


def builds(call: ast.Call, value: Any, namespace: Mapping[str, object]) -> bool:
    """True if such a call gives values like this one, and does nothing else."""
    if issubclass(type(value), types.GeneratorType | types.CoroutineType):
        return _is_of_its_code(call, value, namespace)
    if _is_writable(value) or _may_write(call, namespace):
        return False
    function = _resolve(call.func, namespace)
    if isinstance(function, type):
        return isinstance(value, function) and _is_harmless(function)
    return _qualified(function) in _BUILDERS


def _is_of_its_code(
    call: ast.Call,
    value: types.GeneratorType[Any, Any, Any] | types.CoroutineType[Any, Any, Any],
    namespace: Mapping[str, object],
) -> bool:
    """True if a call gives such a generator, or such a coroutine that has not begun."""
    if isinstance(value, types.GeneratorType):
        code, can_be = value.gi_code, True
    else:
        code, can_be = value.cr_code, inspect.getcoroutinestate(value) == inspect.CORO_CREATED
    function = _resolve(call.func, namespace)
    return can_be and isinstance(function, types.FunctionType) and function.__code__ is code


def _is_harmless(cls: type) -> bool:
    for base in cls.__mro__:
        module = str(base.__module__).split(".")[0]
        if module in _EFFECTFUL_MODULES or _EFFECTFUL_CLASSES.fullmatch(base.__name__):
            return False
    home = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and hasattr(home, "__name__")


def _is_writable(value: object) -> bool:
    """True if a file was opened to be written: opening it again might empty it."""
    try:
        if issubclass(type(value), io.IOBase) and not value.closed:  # type: ignore[attr-defined]
            return bool(value.writable())  # type: ignore[attr-defined]
        return _is_writing_mode(getattr(value, "mode", None))
    except user_code_errors():  # whatever its own code raises when it is asked
        return True


def _may_write(call: ast.Call, namespace: Mapping[str, object]) -> bool:
    """True if an argument is, or may be, the mode of a file that is to be written."""
    if any(isinstance(a, ast.Starred) for a in call.args):
        return True
    if any(not _is_mapping_without_mode(s, namespace) for s in _spread(call)):
        return True
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return any(_may_be_writing_mode(mode, namespace) for mode in modes)


def _spread(call: ast.Call) -> list[ast.expr]:
    return [k.value for k in call.keywords if k.arg is None]


def _is_mapping_without_mode(node: ast.expr, namespace: Mapping[str, object]) -> bool:
    value = namespace.get(node.id) if isinstance(node, ast.Name) else None
    return isinstance(value, Mapping) and "mode" not in value


def _may_be_writing_mode(node: ast.expr, namespace: Mapping[str, object]) -> bool:
    if isinstance(node, ast.Constant):
        return _is_writing_mode(node.value)
    if isinstance(node, ast.Name):
        return _is_writing_mode(namespace.get(node.id))
    return not isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Attribute)


def _is_writing_mode(value: object) -> bool:
    return isinstance(value, str) and _WRITING_MODE.fullmatch(value) is not None


def _resolve(node: ast.expr, namespace: Mapping[str, object]) -> object:
    """The object that a name or a chain of attributes of modules and classes stands for."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, namespace)
        if isinstance(owner, types.ModuleType | type):
            return getattr(owner, node.attr, None)
    return None


def _qualified(function: object) -> str:
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__qualname__", "")
    plain = getattr(function, "__name__", name)
    if name != plain and vars(sys.modules.get(module, object)).get(plain) is function:
        name = plain  # pybind11 puts a class of its own before the name of each function
    return name if module in ("builtins", "io", "_io") else f"{module.lstrip('_')}.{name}"
