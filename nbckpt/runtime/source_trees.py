"""Trees of source text, also where several threads ask at a time."""

from __future__ import annotations

import ast
import sys
from contextlib import suppress
from typing import Any, Literal, overload

_IS_SOUND = sys.version_info >= (3, 12)
_TRIES = 20


@overload
def parse(source: str | bytes) -> ast.Module: ...
@overload
def parse(source: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...


def parse(
    source: str | bytes, mode: Literal["exec", "eval"] = "exec"
) -> ast.Module | ast.Expression:
    """
    `source` as :func:`ast.parse` gives it.

    Parameters
    ----------
    source
        The text of a module, or an expression.
    mode
        ``"exec"`` for an :class:`ast.Module`, ``"eval"`` for an :class:`ast.Expression`.

    Raises
    ------
    SyntaxError, ValueError
        Where Python cannot read it.

    Notes
    -----
    Before 3.11.8 an interpreter counts the depth of a tree once for all its threads. Where the
    collector lets another thread parse in between, both find a depth that is not theirs, and
    raise ``SystemError: AST constructor recursion depth mismatch`` (CPython issue 106905).
    """
    for _ in range(0 if _IS_SOUND else _TRIES):
        with suppress(SystemError):
            return _parsed(source, mode)
    return _parsed(source, mode)


def _parsed(source: str | bytes, mode: str) -> ast.Module | ast.Expression:
    tree: Any = ast.parse(source, mode=mode)
    assert isinstance(tree, ast.Module | ast.Expression)
    return tree
