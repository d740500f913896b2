"""The nodes of a tree, listed once: every question to a cell's text is asked of this list."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar, cast

Answer = TypeVar("Answer")

_ANSWERS = "_nbckpt_answers"
"""The attribute of a tree that holds what was found out about it; `ast` ignores it."""


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """All nodes of `tree`, itself first, in the order of the text; not to be changed.

    Asked once per tree: the tree must not be changed afterwards.
    """
    return once(tree, "nodes", lambda: _listed(tree))


def run_nodes(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a cell that run with it: not those inside of the functions that it defines."""
    return once(tree, "nodes that run", lambda: list(_run_nodes(tree)))


def once(tree: ast.AST, question: Hashable, answer: Callable[[], Answer]) -> Answer:
    """The result of `answer`, remembered with the tree as the answer to `question`."""
    answers: dict[Hashable, Any] = tree.__dict__.setdefault(_ANSWERS, {})
    if question not in answers:
        answers[question] = answer()
    return cast("Answer", answers[question])


def _listed(tree: ast.AST) -> list[ast.AST]:
    # `ast.walk` takes twice as long. By field: tracebacks hang parents on nodes as attributes.
    found: list[ast.AST] = []
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        members = node.__dict__
        inside: list[Any] = []
        for name in node._fields:
            part = members.get(name)
            if type(part) is list:
                inside.extend([p for p in part if isinstance(p, ast.AST)])
            elif isinstance(part, ast.AST):
                inside.append(part)
        inside.reverse()
        waiting.extend(inside)
    return found


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += reversed([*ast.iter_child_nodes(node)])
