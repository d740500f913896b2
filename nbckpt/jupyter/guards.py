"""Makes the body of `with nbckpt.checkpoint(…)` skippable: wraps it in ``if step.todo:``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from nbckpt.analysis import nodes_of
from nbckpt.blocks import checkpoint


class Guard(ast.NodeTransformer):
    """Rewrites the `with` statements of one cell that are checkpoints."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._count = 0

    def guarded(self, tree: ast.Module) -> ast.Module:
        """The cell with its checkpoints skippable; most have none, and are not walked twice."""
        if any(type(node) is ast.With for node in nodes_of(ast.Module(tree.body, []))):
            tree.body = ast.fix_missing_locations(self.visit(tree)).body
        return tree

    def visit_With(self, node: ast.With) -> ast.With:
        """Wrap the body, unless its user has."""
        self.generic_visit(node)
        item = next((i for i in node.items if self._is_checkpoint(i.context_expr)), None)
        if item is None:
            return node
        if item.optional_vars is None:
            self._count += 1
            item.optional_vars = ast.Name(f"__nbckpt_step_{self._count}", ast.Store())
        if isinstance(item.optional_vars, ast.Name):
            name = ast.Name(item.optional_vars.id, ast.Load())
            test = ast.Attribute(name, "todo", ast.Load())
            guard = ast.If(test, node.body, [])
            node.body = [ast.copy_location(guard, node.body[0])]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave functions alone: a checkpoint in one is refused when it is entered."""
        return node

    def _is_checkpoint(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Name):
            return self._namespace.get(function.id) is checkpoint
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = self._namespace.get(function.value.id)
            # The cell may import nbckpt itself, a line above.
            return function.attr == "checkpoint" and (
                getattr(owner, "__name__", None) == "nbckpt" or function.value.id == "nbckpt"
            )
        return False
