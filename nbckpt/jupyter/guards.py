"""Rewrites the blocks of a cell that nbckpt skips or runs again.

The body of `with nbckpt.checkpoint(…)` gets an ``if step.todo:`` around it, and that of
`with nbckpt.recover(…)` a loop over its attempts.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from nbckpt.fingerprint.code import nodes_of

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Guard(ast.NodeTransformer):
    """Rewrites the `with` statements of one cell that are nbckpt's."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._count = 0
        self._imported: dict[str, str] = {}

    def guarded(self, tree: ast.Module) -> ast.Module:
        """The cell with its blocks rewritten; most have none, and are not walked twice."""
        if any(type(node) is ast.With for node in nodes_of(ast.Module(tree.body, []))):
            self._imported = _imported(tree)
            tree.body = ast.fix_missing_locations(self.visit(tree)).body
        return tree

    def visit_With(self, node: ast.With) -> ast.With | list[ast.stmt]:
        """Rewrite the block, unless its user has."""
        self.generic_visit(node)
        for item in node.items:
            if self._is_call_of("checkpoint", item.context_expr):
                return self._skippable(node, item)
            if self._is_call_of("recover", item.context_expr):
                return self._tried_again(node, item)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave functions alone: a block in one is refused when it is entered."""
        return node

    def _skippable(self, node: ast.With, item: ast.withitem) -> ast.With:
        if item.optional_vars is None:
            item.optional_vars = ast.Name(self._new_name("step"), ast.Store())
        if isinstance(item.optional_vars, ast.Name):
            name = ast.Name(item.optional_vars.id, ast.Load())
            test = ast.Attribute(name, "todo", ast.Load())
            guard = ast.If(test, node.body, [])
            node.body = [ast.copy_location(guard, node.body[0])]
        return node

    def _tried_again(self, node: ast.With, item: ast.withitem) -> list[ast.stmt]:
        """``for attempt in recover(…): with attempt: …``, and what left a loop around it."""
        name = self._new_name("attempt")
        attempt = ast.withitem(ast.Name(name, ast.Load()), item.optional_vars)
        leaving = _Leaving(name)
        body = [s for statement in node.body for s in _listed(leaving.visit(statement))]
        # The node itself is the cell's code, of which others take a digest: it stays as it is.
        items = [attempt if i is item else i for i in node.items]
        block = ast.copy_location(ast.With(items, body), node)
        loop = ast.For(ast.Name(name, ast.Store()), item.context_expr, [block], [])
        after = [_left(name, how) for how in sorted(leaving.used)]
        return [ast.copy_location(statement, node) for statement in (loop, *after)]

    def _new_name(self, what: str) -> str:
        self._count += 1
        return f"__nbckpt_{what}_{self._count}"

    def _is_call_of(self, name: str, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Name):
            if self._imported.get(function.id) == name:
                return True
            value = self._namespace.get(function.id)
            module = getattr(value, "__module__", None)
            return module in ("nbckpt.steps.block", "nbckpt.steps.retry_block") and (
                getattr(value, "__name__", None) == name
            )
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = self._namespace.get(function.value.id)
            # The cell may import nbckpt itself, a line above.
            return function.attr == name and (
                getattr(owner, "__name__", None) == "nbckpt"
                or function.value.id == "nbckpt"
                or self._imported.get(function.value.id) == ""
            )
        return False


class _Leaving(ast.NodeTransformer):
    """Has a `break` or `continue` of a loop around the block leave the loop of attempts first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.used: set[str] = set()

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return self._leave(node)

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return self._leave(node)

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        if isinstance(node, _LOOPS):  # in its body they are its own
            node.orelse = [s for one in node.orelse for s in _listed(self.visit(one))]
            return node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return node
        found: ast.AST | list[ast.stmt] = super().visit(node)
        return found

    def _leave(self, node: ast.Break | ast.Continue) -> list[ast.stmt]:
        how = "break" if isinstance(node, ast.Break) else "continue"
        self.used.add(how)
        target = ast.Attribute(ast.Name(self._name, ast.Load()), "left", ast.Store())
        said = ast.Assign([target], ast.Constant(how))
        return [ast.copy_location(said, node), ast.copy_location(ast.Break(), node)]


def _left(name: str, how: str) -> ast.If:
    """``if attempt.left == "break": break``."""
    said = ast.Attribute(ast.Name(name, ast.Load()), "left", ast.Load())
    test = ast.Compare(said, [ast.Eq()], [ast.Constant(how)])
    return ast.If(test, [ast.Break() if how == "break" else ast.Continue()], [])


def _listed(visited: ast.AST | list[ast.stmt]) -> list[ast.stmt]:
    return visited if isinstance(visited, list) else [visited]  # type: ignore[list-item]


def _imported(tree: ast.Module) -> dict[str, str]:
    """Names that a cell imports of nbckpt itself → what they are there; nothing for the package."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "nbckpt":
            found.update((alias.asname or alias.name, alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            names = (alias for alias in node.names if alias.name == "nbckpt")
            found.update((alias.asname or alias.name, "") for alias in names)
    return found
