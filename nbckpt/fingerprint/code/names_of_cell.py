"""The walk through a cell's tree: what each kind of statement and expression does to names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from nbckpt.fingerprint.code import managers
from nbckpt.fingerprint.code.branches import Branches
from nbckpt.fingerprint.code.bytecode import (
    FRAMES,
    TOUCHES_ALL,
    Names,
    union,
    words_of,
)
from nbckpt.fingerprint.code.magiclines import Effect, effect_of, parsed
from nbckpt.fingerprint.code.nodes import nodes_of, once
from nbckpt.fingerprint.code.scopes import (
    annotations_of,
    attributes_of,
    bare,
    last_name,
    mentions_of,
    names_inside,
    runs_queries,
    texts_of,
)

_HIDEABLE = (TOUCHES_ALL - {"get_ipython"}) | {"dir", "locals", "vars"}
"""Builtins of which it matters whether the user has a variable of that name."""


def names_of_tree(tree: ast.Module, defined: Collection[str] = ()) -> Names:
    """The global names that a cell reads, binds and loads.

    Parameters
    ----------
    tree
        The parsed text of a cell, as IPython transformed it.
    defined
        Names that the namespace has: a user's own `eval` is not the builtin. If it is the
        namespace itself, what stands after ``with`` is looked up there.
    """
    own = frozenset(name for name in _HIDEABLE if name in defined)
    passing = managers.passing_items(tree, defined if isinstance(defined, Mapping) else None)
    return once(tree, ("names", own, passing), lambda: _names_of_tree(tree, own, passing))


def _names_of_tree(tree: ast.Module, defined: frozenset[str], passing: tuple[bool, ...]) -> Names:
    items = (n for n in nodes_of(tree) if isinstance(n, ast.withitem))
    scan = _Scan(defined, frozenset(n for n, p in zip(items, passing, strict=True) if p))
    scan.block(tree.body)
    queries = runs_queries(tree)
    words = mentions_of(tree)
    return Names(
        reads=frozenset(scan.reads),
        binds=frozenset(scan.binds),
        loads=frozenset(scan.loads),
        everything=bool(scan.reason),
        reason=scan.reason,
        queries=queries,
        mentions=words if queries else frozenset(),
        words=words,
        imports=frozenset(scan.imports),
        before=dict(scan.before),
        deferred=dict(scan.deferred),
        certain=frozenset(scan.bound),
        forward=frozenset(scan.forward),
        magics=frozenset(scan.magics),
        texts=texts_of(tree),
        attributes=attributes_of(tree),
    )


class _Scan(Branches, ast.NodeVisitor):
    """One walk through a cell in the order in which it runs."""

    # Statements that bind

    def visit_Assign(self, node: ast.Assign) -> None:
        first = node.targets[0]
        if isinstance(node.value, ast.Lambda) and isinstance(first, ast.Name):
            self.visit_defaults(node.value.args)
            self.define(first.id, names_inside(node.value), escapes=len(node.targets) > 1)
        else:
            self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit_annotation(node.annotation)
        if node.value:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.load(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.load(target.id)
                self.bind(target.id)  # from here on it is this code that decides what it is
            else:
                self.visit(target)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.add(alias.name)
            self.bind(alias.asname or alias.name.partition(".")[0])
            if alias.name == "__main__":
                self.touch_all("__main__")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        self.imports.add(module)
        if module == "__main__":
            self.touch_all("__main__")
        for alias in node.names:
            if alias.name == "*":
                self.touch_all(f"from {module} import *")
                continue
            self.imports.add(f"{module}.{alias.name}")
            self.bind(alias.asname or alias.name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in node.decorator_list:
            self.visit(part)
        for annotation in annotations_of(node):
            self.visit_annotation(annotation)
        self.visit_defaults(node.args)
        self.define(node.name, names_inside(bare(node)), escapes=bool(node.decorator_list))

    def visit_annotation(self, annotation: ast.expr) -> None:
        """Walk an annotation; names inside a string may be looked up by whoever asks for them."""
        for part in ast.walk(annotation):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                self.forward |= words_of(part.value)
        self.visit(annotation)

    def visit_defaults(self, arguments: ast.arguments) -> None:
        """Walk the default values, which are made when a function is defined."""
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.visit(default)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        outside = (self.bound, self.outer, self.in_class, self.methods, self.owner)
        self.outer = self.outer if self.in_class else self.bound
        self.bound, self.in_class, self.methods = set(self.bound), True, []
        self.owner = node.name
        self.block(node.body)
        methods = union(self.methods)
        self.bound, self.outer, self.in_class, self.methods, self.owner = outside
        may_call = bool(node.decorator_list or node.bases or node.keywords)
        self.define(node.name, methods, escapes=may_call)

    # Expressions

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.load(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.bind(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        self.perhaps(*node.values[1:])

    def visit_Compare(self, node: ast.Compare) -> None:
        if name := self._name_asked_for(node):
            self.load(name)
            return
        self.visit(node.left)
        self.visit(node.comparators[0])
        self.perhaps(*node.comparators[1:])

    def _name_asked_for(self, node: ast.Compare) -> str:
        """`x` of ``'x' in globals()``, which asks for no more than this name."""
        name, place = node.left, node.comparators[0]
        is_membership = len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn)
        if not is_membership or not isinstance(name, ast.Constant):
            return ""
        is_plain = isinstance(place, ast.Call) and not (place.args or place.keywords)
        asked = last_name(place) if is_plain and isinstance(place.func, ast.Name) else ""  # type: ignore[attr-defined]
        is_builtin = asked in ("dir", "globals", "locals", "vars") and not self.in_class
        if not is_builtin or asked in self.bound | self.defined:
            return ""
        return name.value if isinstance(name.value, str) else ""

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self.perhaps(node.body)
        self.perhaps(node.orelse)

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        if node.msg:
            self.perhaps(node.msg)

    def visit_scope(self, node: ast.expr) -> None:
        """A comprehension or lambda: it may run from here on, and binds nothing for certain."""
        if generators := getattr(node, "generators", None):
            self.visit(generators[0].iter)  # runs outside of it
        self.run_later(names_inside(node))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in FRAMES:
            self.touch_all(f".{node.attr}")
        if node.attr in TOUCHES_ALL and last_name(node.value) in ("builtins", "__builtins__"):
            self.touch_all(f"{node.attr}()")
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        is_modules = isinstance(node.value, ast.Attribute) and node.value.attr == "modules"
        index = node.slice.value if isinstance(node.slice, ast.Constant) else "__main__"
        if is_modules and index == "__main__":
            self.touch_all("sys.modules['__main__']")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if effect := _magic(node):
            self.run_magic(effect)
            return
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        bare = not node.args and not node.keywords
        if name in ("dir", "locals", "vars") and bare and name not in self.bound | self.defined:
            self.touch_all(f"{name}()")
        if any(isinstance(a, ast.Constant) and a.value == "__main__" for a in node.args):
            self.touch_all("__main__")
        self.generic_visit(node)

    def run_magic(self, effect: Effect) -> None:
        """Walk what a magic does."""
        if effect.anything:
            self.touch_all(effect.label)
            self.magics.add(effect.label)
        for expression in effect.reads:
            if tree := parsed(expression):
                self.visit(tree)
        for code in effect.code:
            self.run_text(effect, code)
        for name in effect.binds:
            self.bind(name)

    def run_text(self, effect: Effect, code: str) -> None:
        """Walk Python that a magic runs."""
        tree = parsed(code)
        if tree is None:
            self.touch_all(effect.label)
        elif effect.keeps:
            self.block(tree.body)
        else:
            self.perhaps(*tree.body)


def _magic(node: ast.Call) -> Effect | None:
    """Effect of ``get_ipython().method('…')``; None for any other call."""
    if not isinstance(node.func, ast.Attribute) or not isinstance(node.func.value, ast.Call):
        return None
    if last_name(node.func.value.func) != "get_ipython":
        return None
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return effect_of(node.func.attr, texts) if len(texts) == len(node.args) else None
