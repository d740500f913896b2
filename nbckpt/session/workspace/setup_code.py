"""Code that only sets a notebook up: imports from libraries, and magics that touch no variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbckpt.fingerprint.values.sources import user_modules

_SETTING_UP = frozenset({"autoreload", "config", "load_ext", "matplotlib", "nbckpt", "resume"})
"""Line magics that run no code of the notebook."""


def sets_up(tree: ast.Module) -> bool:
    """True if code only imports from libraries, and runs magics that do not touch variables."""
    return all(map(_sets_up, tree.body))


def _sets_up(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import(names=names):
            return not any(user_modules(alias.name) for alias in names)
        case ast.ImportFrom(level=0, module=str(module)):
            return not user_modules(module)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="get_ipython")), attr="run_line_magic"
                ),
                args=[ast.Constant(value=str(name)), *_],
            )
        ):
            return name in _SETTING_UP and not any(map(user_modules, _words(statement)))
    return False


def _words(statement: ast.stmt) -> Iterator[str]:
    """The words of a magic line: an extension may lie beside the notebook."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant):
            yield from str(node.value).split()
