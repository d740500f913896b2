"""Cells whose text tells that they attach nothing, define nothing, or only import."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.values.plain import ATOMS

_INERT = (
    ast.Module, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Name, ast.Constant,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict,
    ast.Set, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.Pass, ast.If,
    ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.NamedExpr,
)  # fmt: skip
_HARMLESS = frozenset(
    {"abs", "bool", "dict", "float", "int", "len", "list", "max", "min", "print", "range", "repr",
     "round", "set", "sorted", "str", "sum", "tuple"}
)  # fmt: skip
"""Builtins that only compute, given plain values."""


def defines(tree: ast.Module) -> bool:
    """True if a cell makes a function or a class."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return any(isinstance(node, kinds) for node in nodes_of(tree))


def is_inert(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell only computes with plain values: nothing attached can change what it does."""
    return _computes_only(tree, namespace, ast.Call) is False


def is_harmless(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell cannot attach anything: it calls nothing but simple builtins."""
    return _computes_only(tree, namespace) is not None


def _computes_only(
    tree: ast.Module, namespace: Mapping[str, object], *never: type[ast.AST]
) -> bool | None:
    """True if a cell calls builtins; None if it does more than that and compute."""
    loaded: set[str] = set()
    bound: set[str] = set()
    is_calling = False
    for node in nodes_of(tree):
        kind = type(node)
        if kind in never:
            return None
        if kind is ast.Name:
            (bound if type(node.ctx) is ast.Store else loaded).add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Call:
            function = node.func  # type: ignore[attr-defined]
            if type(function) is not ast.Name or function.id not in _HARMLESS:
                return None
            is_calling = True
        elif not issubclass(kind, _INERT):
            return None
    for name in loaded:
        if name in namespace:
            if type(namespace[name]) not in ATOMS:
                return None
        elif name not in bound and name not in _HARMLESS:
            return None
    return is_calling


def only_imports(tree: ast.Module) -> bool:
    """True if a cell imports, and does nothing that could change what it has imported."""
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or not any(isinstance(part, _ACTS) and not _is_set_up(part) for part in ast.walk(node))
        for node in tree.body
    )


_ACTS = (ast.Call, ast.Await, ast.AugAssign, ast.Delete, ast.With, ast.AsyncWith, ast.For,
         ast.AsyncFor, ast.Attribute, ast.Subscript, ast.Starred, ast.comprehension)  # fmt: skip


def _is_set_up(part: ast.AST) -> bool:
    """A call or attribute of `sys` or `os`, or a magic but `%run`."""
    root: Any = part
    while isinstance(root, ast.Call | ast.Attribute):
        if isinstance(root, ast.Attribute) and root.attr in ("run_line_magic", "run_cell_magic"):
            return isinstance(part, ast.Attribute) or _magic(part) not in ("run", "")
        root = root.func if isinstance(root, ast.Call) else root.value
    return isinstance(root, ast.Name) and root.id in ("sys", "os", "get_ipython")


def _magic(call: Any) -> str:
    name = call.args[0] if getattr(call, "args", None) else None
    return str(name.value) if isinstance(name, ast.Constant) else ""
