"""The statements of the notebook that last bound each name, and the order in which they ran."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

serials: Iterator[int] = itertools.count()
"""Serial numbers that order statements that ran and values that were made again."""


@dataclass(frozen=True)
class NameBinding:
    """The statement that last bound a name; no statement when it was part of a larger one."""

    serial: int
    statement: ast.stmt | None
    definition: ast.ClassDef | None = None


@dataclass(eq=False, repr=False)
class Bindings:
    """The top-level statement of the notebook that last bound each name."""

    _last: dict[str, NameBinding] = field(default_factory=dict)
    _named: dict[str, int] = field(default_factory=dict)
    _set_on: dict[str, tuple[int, str]] = field(default_factory=dict)

    def ran(self, tree: ast.Module) -> None:
        """Note the statements of a cell that ran."""
        for statement in tree.body:
            serial = next(serials)
            is_plain = isinstance(statement, ast.Assign | ast.AnnAssign)
            for name in _bound_by(statement):
                definition = statement if isinstance(statement, ast.ClassDef) else None
                self._last[name] = NameBinding(serial, statement if is_plain else None, definition)
            self._named.update(dict.fromkeys(_loaded_by(statement), serial))
            for holder, attribute in _attributes_set_by(statement):
                self._set_on[holder] = serial, attribute

    def of(self, name: str) -> NameBinding | None:
        """The last binding of `name`; None if no cell bound it."""
        return self._last.get(name)

    def class_statement(self, name: str) -> ast.ClassDef | None:
        """The class statement that last bound a name; None if another statement did."""
        binding = self._last.get(name)
        return None if binding is None else binding.definition

    def changed_since(self, name: str, read: Iterable[str]) -> str:
        """A name of `read` bound, or attribute of `name` set, since `name` was bound; or empty."""
        binding = self._last.get(name)
        serial = -1 if binding is None else binding.serial
        for other in sorted(read):
            later = self._last.get(other)
            if binding is not None and later is not None and later.serial > serial:
                return repr(other)
        set_at, attribute = self._set_on.get(name, (-1, ""))
        return f"{name}.{attribute}" if set_at > serial else ""

    def is_named_since(self, name: str, serial: int) -> bool:
        """True if a statement that came later has read a name."""
        return self._named.get(name, -1) > serial


def _bound_by(statement: ast.stmt) -> Iterable[str]:
    """The names that a statement binds."""
    from nbckpt.fingerprint.code import names_of_tree, nodes_of

    nodes = nodes_of(statement)
    is_simple = isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign)
    if is_simple and not any(_binds_otherwise(node) for node in nodes):
        return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names_of_tree(ast.Module([statement], [])).binds


def _attributes_set_by(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names and attributes that a statement sets on them: ``P.x = 1``, ``setattr(P, "x", 1)``."""
    from nbckpt.fingerprint.code import nodes_of

    for node in nodes_of(statement):
        match node:
            case ast.Attribute(value=ast.Name(id=holder), attr=attribute, ctx=ast.Store()):
                yield holder, attribute
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=holder), *_]):
                yield holder, "…"
            case _:
                continue


def _loaded_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement reads, in functions that it defines, too."""
    from nbckpt.fingerprint.code import nodes_of

    nodes = nodes_of(statement)
    return (n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store))


def _binds_otherwise(node: ast.AST) -> bool:
    """True if a node binds names by another way than that of a plain assignment."""
    if isinstance(node, ast.Name):
        return node.id == "get_ipython"
    return isinstance(node, ast.NamedExpr | ast.Lambda | ast.comprehension)
