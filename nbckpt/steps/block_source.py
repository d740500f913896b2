"""The source of a `with nbckpt.checkpoint(…)` statement: its body, and what can run after it."""

from __future__ import annotations

import ast
import linecache
from types import FrameType

from nbckpt.errors import UsageError
from nbckpt.runtime.source_trees import parse


def with_at(frame: FrameType) -> tuple[ast.With, ast.Module]:
    """The `with` statement that `frame` is entering, and the code that can run after it."""
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = parse(text)
    except SyntaxError:
        tree = ast.Module([], [])
    line = frame.f_lineno
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.With) and node.lineno <= line < node.body[0].lineno + 1
    ]
    if not found:
        message = "the source of this `with` block cannot be read: put it into a cell or a file"
        raise UsageError(message)
    node = max(found, key=lambda node: node.lineno)
    return node, _after(node, tree)


def _after(node: ast.With, tree: ast.Module) -> ast.Module:
    """The statements of a cell or script that can run after one of them.

    Of the statement around a nested one, all that it reads: it may be a loop.
    """
    place, outer = next((i, s) for i, s in enumerate(tree.body) if node in ast.walk(s))
    following = tree.body[place + 1 :]
    others = {*ast.walk(outer)}.difference(ast.walk(node))
    read = {n.id for n in others if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    reads = [ast.Expr(ast.Name(name, ast.Load())) for name in sorted(read)]
    return ast.fix_missing_locations(ast.Module([*reads, *following], []))


def body_of(node: ast.With) -> ast.Module:
    """The body as code of its own, without the guard and without the step's own name."""
    body = node.body[0].body if is_guarded(node) else node.body  # type: ignore[attr-defined]
    own = {item.optional_vars.id for item in node.items if isinstance(item.optional_vars, ast.Name)}
    tree = ast.Module(list(body), [])
    return ast.fix_missing_locations(_Unnamed(own).generic_visit(tree))  # type: ignore[return-value]


class _Unnamed(ast.NodeTransformer):
    """Replaces names that are no variables of the user's by constants."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(node.id) if node.id in self._names else node


def is_guarded(node: ast.With) -> bool:
    """True if the body is one `if step.todo:`."""
    first = node.body[0]
    return (
        len(node.body) == 1
        and isinstance(first, ast.If)
        and not first.orelse
        and isinstance(first.test, ast.Attribute)
        and first.test.attr == "todo"
    )
