"""Code that only sets something up: it makes it, starts it, or points the process to it.

Decided by its text, and rather once too seldom: a cell that is taken for one may run again without
a question, after a resume, beside values that come back as they were.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import NamedTuple

from nbckpt.fingerprint.code import names_of_tree
from nbckpt.session.history.recorded_cells import parsed
from nbckpt.steps.remake.outside_effects import effect_of

_TO_TEXT = frozenset({"str", "int", "repr", "format", "id"})
"""Builtins that change nothing that they are given."""
_POINTS = frozenset({"update", "setdefault"})
"""Methods of ``os.environ`` that set what they are given."""


class SetupCode(NamedTuple):
    """Names and statements of a cell, by its text.

    Attributes
    ----------
    acts
        What it may do outside of the notebook, as far as the text tells.
    """

    body: tuple[ast.stmt, ...]
    binds: frozenset[str]
    reads: frozenset[str]
    acts: str

    @classmethod
    def of(cls, source: str, defined: Collection[str]) -> SetupCode:
        """Those of a cell in a notebook that defines these functions and classes."""
        tree = parsed(source)
        names = names_of_tree(tree)
        reads = frozenset(names.loads | names.reads)
        called = sorted(reads.intersection(defined))
        acts = effect_of(tree, {}) or (f"{called[0]}() of this notebook" if called else "")
        body = (s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom | ast.Pass))
        return cls(tuple(body), frozenset(names.binds), reads, acts)

    def leans_on(self, refused: set[str], recipes: set[str], known: set[str]) -> bool:
        """True if it makes recipes alone, or points the process to what does not come back."""
        if self.binds & recipes:
            return self.binds <= recipes | known
        leans = bool(self.body) and bool(self.reads & refused) and self.binds <= known
        return leans and all(map(_points, self.body))

    def only_sets_up(
        self, refused: set[str], made: set[str], known: set[str], others: set[str]
    ) -> bool:
        """True if it makes, starts and points to such things, and touches no other variable.

        Parameters
        ----------
        refused, made
            What does not come back; that, and what is made by its own statement.
        known, others
            Definitions; and variables that come back and can be changed in place.
        """
        if not self.binds <= made | known or self.reads & others:
            return False
        here = self.binds & made
        return all(
            _makes(s, made) or _starts(s, here) or (_points(s) and _is_plain(s, refused))
            for s in self.body
        )


def _makes(statement: ast.stmt, made: set[str]) -> bool:
    """True for ``name = …``."""
    if not isinstance(statement, ast.Assign):
        return False
    return all(isinstance(t, ast.Name) and t.id in made for t in statement.targets)


def _starts(statement: ast.stmt, made: Collection[str]) -> bool:
    """True for ``name.start()``, of what the cell itself has made."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return isinstance(statement.value.func, ast.Attribute) and _root(statement.value.func) in made


def _points(statement: ast.stmt) -> bool:
    """True for ``os.environ[…] = …`` and ``os.environ.update(…)``."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
        return all(isinstance(t, ast.Subscript) and _is_environment(t.value) for t in targets)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    if not isinstance(function, ast.Attribute) or function.attr not in _POINTS:
        return False
    return _is_environment(function.value)


def _is_plain(statement: ast.stmt, refused: set[str]) -> bool:
    """True if all that it calls is its own method, a text of something, or asks what is refused."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    own = statement.value if isinstance(statement, ast.Expr) else None
    return all(
        call is own
        or (isinstance(call.func, ast.Name) and call.func.id in _TO_TEXT)
        or (isinstance(call.func, ast.Attribute) and _root(call.func) in refused)
        for call in calls
    ) and not any(_is_environment(n) for n in ast.walk(_value(statement)))


def _value(statement: ast.stmt) -> ast.AST:
    """What a statement gives to the environment."""
    if isinstance(statement, ast.Assign):
        return statement.value
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    return ast.Tuple([*statement.value.args, *(k.value for k in statement.value.keywords)])


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_environment(node: ast.AST) -> bool:
    """True for ``os.environ`` and a bare ``environ``."""
    if isinstance(node, ast.Attribute):
        return node.attr == "environ" and isinstance(node.value, ast.Name) and node.value.id == "os"
    return isinstance(node, ast.Name) and node.id == "environ"
