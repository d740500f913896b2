"""The walk through blocks and branches: what is certain after what may not have run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from nbckpt.fingerprint.code.flow import Flow

WALKED_AS = {
    "AsyncFor": "For",
    "AsyncFunctionDef": "FunctionDef",
    "AsyncWith": "With",
    "DictComp": "scope",
    "GeneratorExp": "scope",
    "Lambda": "scope",
    "ListComp": "scope",
    "SetComp": "scope",
    "TryStar": "Try",
}
"""Kinds of nodes that are walked as another kind is."""


class Branches(Flow, ast.NodeVisitor):
    """Statements of which parts may not run, in the order in which a cell runs.

    `passing` are the `with` items that let every exception pass.
    """

    def __init__(self, defined: frozenset[str], passing: frozenset[ast.withitem]) -> None:
        super().__init__(defined)
        self.passing = passing

    def visit(self, node: ast.AST) -> None:
        """Walk `node` as its kind asks for."""
        kind = type(node).__name__
        walk = getattr(self, f"visit_{WALKED_AS.get(kind, kind)}", self.generic_visit)
        walk(node)

    # Blocks and branches

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Walk `statements`; whether the end can be reached."""
        reaches_end = True
        for statement in statements:
            self.visit(statement)
            if isinstance(statement, ast.Raise | ast.Continue | ast.Break | ast.Return):
                reaches_end = False
        return reaches_end

    def branches(self, blocks: Iterable[Sequence[ast.stmt]]) -> None:
        """Walk alternatives of which one runs; certain is what all bind that reach their end."""
        before = self.bound
        ends = []
        for statements in blocks:
            self.bound = set(before)
            if self.block(statements):
                ends.append(self.bound)
        self.bound = set.intersection(*ends) if ends else set(before)

    def perhaps(self, *nodes: ast.AST) -> None:
        """Walk what may not run at all."""
        before = self.bound
        self.bound = set(before)
        for node in nodes:
            self.visit(node)
        self.bound = before

    def visit_If(self, node: ast.If) -> None:
        """One of two blocks runs."""
        self.visit(node.test)
        self.branches([node.body, node.orelse])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """A loop, whose body may not run."""
        self.visit(node.iter)
        self.n_loops += 1
        self.perhaps(node.target, *node.body)
        self.n_loops -= 1
        self.perhaps(*node.orelse)

    def visit_While(self, node: ast.While) -> None:
        """A loop, whose body may not run."""
        self.visit(node.test)
        self.n_loops += 1
        self.perhaps(*node.body)
        self.n_loops -= 1
        self.perhaps(*node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        """A block that may stop anywhere, and what runs then."""
        before = set(self.bound)
        ends = [self.bound] if self.block([*node.body, *node.orelse]) else []
        for handler in node.handlers:
            self.bound = set(before)
            if handler.type:
                self.visit(handler.type)
            if handler.name:
                self.bind(handler.name)
            if self.block(handler.body):
                ends.append(self.bound)
        after = set.intersection(*ends) if ends else set(before)
        self.bound = before
        self.block(node.finalbody)
        self.bound = after | before

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """A block that may stop half-way, unless its managers let every exception pass."""
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars:
                self.visit(item.optional_vars)
        if self.passing.issuperset(node.items):
            self.block(node.body)
        else:
            self.perhaps(*node.body)

    def visit_Match(self, node: ast.Match) -> None:
        """One of several blocks runs, or none."""
        self.visit(node.subject)
        before = self.bound
        ends = []
        for case in node.cases:
            self.bound = set(before)
            self.visit(case.pattern)
            if case.guard:
                self.visit(case.guard)
            if self.block(case.body):
                ends.append(self.bound)
        if not any(_matches_all(case) for case in node.cases):
            ends.append(before)
        self.bound = set.intersection(*ends) if ends else set(before)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        """A pattern that binds a name."""
        self.generic_visit(node)
        if node.name:
            self.bind(node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        """A pattern that binds the rest of a sequence."""
        if node.name:
            self.bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """A pattern that binds the rest of a mapping."""
        self.generic_visit(node)
        if node.rest:
            self.bind(node.rest)


def _matches_all(case: ast.match_case) -> bool:
    is_wildcard = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    return is_wildcard and case.guard is None
