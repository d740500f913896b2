"""Which names can a cell read, bind and touch: questions to its text, without a namespace.

Notes
-----
The walk follows the order in which a cell runs, so that a name which the cell has certainly bound
by then is not an input. Certainly: a loop's body may run zero times, a branch may not be taken,
and a `try` may stop anywhere; what only these bind may still be read from before. One exception
is made: the body of ``with`` counts as run to its end unless the manager is one that is known to
swallow errors, because otherwise every ``with open(…) as f: text = f.read()`` would depend on the
`text` of its last run.

The body of a function that the cell defines runs when it is called, and it can only be called
after its name was loaded; so what it reads counts from there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Sequence
from types import CodeType

from nbckpt.bytecode import (
    FRAMES,
    NOTHING,
    QUERIES,
    TOUCHES_ALL,
    Names,
    digest_of_code,
    names_of_code,
    reach_of_all,
    union,
    words_of,
)
from nbckpt.digests import Digest, digest_of
from nbckpt.magiclines import Effect, effect_of, parsed

__all__ = ["Names", "digest_of_code", "digest_of_tree", "names_of_code", "names_of_tree"]

SWALLOWS = frozenset({"suppress", "raises", "assertRaises", "ExitStack", "AsyncExitStack"})
"""Context managers after which the body may have stopped half-way."""

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


def names_of_tree(tree: ast.Module, defined: Collection[str] = ()) -> Names:
    """The global names that a cell reads, binds and loads.

    Parameters
    ----------
    tree
        The parsed text of a cell, as IPython transformed it.
    defined
        Names that the namespace has: a user's own `eval` is not the builtin.
    """
    scan = _Scan(frozenset(defined))
    scan.block(tree.body)
    return Names(
        reads=frozenset(scan.reads),
        binds=frozenset(scan.binds),
        loads=frozenset(scan.loads),
        everything=bool(scan.reason),
        reason=scan.reason,
        mentions=_mentions(tree),
        imports=frozenset(scan.imports),
        before=dict(scan.before),
        deferred=dict(scan.deferred),
    )


def digest_of_tree(tree: ast.AST) -> Digest:
    """The digest of parsed code: comments, spacing and line numbers do not count."""
    return digest_of(ast.dump(tree))


def _mentions(tree: ast.Module) -> frozenset[str]:
    """The words in a cell's strings, if it runs queries that look variables up by name."""
    called = {_last_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if not called & QUERIES:
        return frozenset()
    constants = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
    return frozenset().union(*(words_of(text) for text in constants if isinstance(text, str)))


def _last_name(node: ast.expr) -> str:
    """`c` of ``a.b.c``, or of ``a.b.c()``."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class _Scan(ast.NodeVisitor):
    """One walk through a cell in the order in which it runs.

    `bound` holds what is certainly bound at this point; `in_class` is true directly inside a
    class body, whose names are its own.
    """

    def __init__(self, defined: frozenset[str]) -> None:
        self.defined = defined - {"get_ipython"}
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.loads: set[str] = set()
        self.imports: set[str] = set()
        self.before: dict[str, frozenset[str]] = {}
        self.deferred: dict[str, Names] = {}
        self.bound: set[str] = set()
        self.outer: set[str] = set()
        self.in_class = False
        self.methods: list[Names] = []
        self.reason = ""

    def visit(self, node: ast.AST) -> None:
        """Walk `node` as its kind asks for."""
        kind = type(node).__name__
        walk = getattr(self, f"visit_{WALKED_AS.get(kind, kind)}", self.generic_visit)
        walk(node)

    # What happens to names

    def load(self, name: str, *, from_function: bool = False) -> None:
        """`name` is looked up at this point."""
        self.loads.add(name)
        bound = self.outer if from_function and self.in_class else self.bound
        known = self.before.get(name)
        now = frozenset(self.outer if self.in_class else self.bound)
        is_news = known is None or not known <= now
        self.before[name] = now if known is None else known & now
        if name in self.deferred and is_news:
            self.run_later(self.deferred[name])
        if name in bound:
            return
        self.reads.add(name)
        if name in TOUCHES_ALL and name not in self.defined and name not in self.deferred:
            self.touch_all(name if name == "__main__" else f"{name}()")

    def bind(self, name: str) -> None:
        """`name` is certainly bound from here on."""
        self.bound.add(name)
        if not self.in_class:
            self.binds.add(name)

    def touch_all(self, construct: str) -> None:
        """From here on anything can have happened, because of `construct`."""
        self.reason = self.reason or construct

    def run_later(self, names: Names) -> None:
        """The body of a function may run from here on."""
        self.binds |= names.binds
        self.imports |= names.imports
        for name in sorted(names.loads):
            self.load(name, from_function=True)
        if reason := reach_of_all(names, self.bound | self.defined | self.deferred.keys()):
            self.touch_all(reason)

    def define(self, name: str, names: Names, *, escapes: bool) -> None:
        """A function or class `name` is defined; it `escapes` when others may call it at once."""
        self.loads |= names.loads
        self.binds |= names.binds
        if escapes:
            self.run_later(names)
        if self.in_class:
            self.methods.append(names)
        else:
            self.deferred[name] = union([names, self.deferred.get(name, NOTHING)])
        self.bind(name)

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
        self.visit(node.test)
        self.branches([node.body, node.orelse])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.perhaps(node.target, *node.body)
        self.perhaps(*node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self.perhaps(*node.body)
        self.perhaps(*node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
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
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars:
                self.visit(item.optional_vars)
        if any(_last_name(item.context_expr) in SWALLOWS for item in node.items):
            self.perhaps(*node.body)
            return
        self.block(node.body)

    def visit_Match(self, node: ast.Match) -> None:
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
        self.generic_visit(node)
        if node.name:
            self.bind(node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest:
            self.bind(node.rest)

    # Statements that bind

    def visit_Assign(self, node: ast.Assign) -> None:
        first = node.targets[0]
        if isinstance(node.value, ast.Lambda) and isinstance(first, ast.Name):
            self.visit_defaults(node.value.args)
            self.define(first.id, _names_inside(node.value), escapes=len(node.targets) > 1)
        else:
            self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
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
        for part in (*node.decorator_list, *_annotations(node)):
            self.visit(part)
        self.visit_defaults(node.args)
        self.define(node.name, _names_inside(_bare(node)), escapes=bool(node.decorator_list))

    def visit_defaults(self, arguments: ast.arguments) -> None:
        """Walk the default values, which are made when a function is defined."""
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.visit(default)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        outside = (self.bound, self.outer, self.in_class, self.methods)
        self.outer = self.outer if self.in_class else self.bound
        self.bound, self.in_class, self.methods = set(self.bound), True, []
        self.block(node.body)
        methods = union(self.methods)
        self.bound, self.outer, self.in_class, self.methods = outside
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
        self.visit(node.left)
        self.visit(node.comparators[0])
        self.perhaps(*node.comparators[1:])

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
        self.run_later(_names_inside(node))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in FRAMES:
            self.touch_all(f".{node.attr}")
        if node.attr in TOUCHES_ALL and _last_name(node.value) in ("builtins", "__builtins__"):
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
        if name in ("locals", "vars") and bare and name not in self.bound | self.defined:
            self.touch_all(f"{name}()")
        if any(isinstance(a, ast.Constant) and a.value == "__main__" for a in node.args):
            self.touch_all("__main__")
        self.generic_visit(node)

    def run_magic(self, effect: Effect) -> None:
        """Walk what a magic does."""
        if effect.anything:
            self.touch_all(effect.label)
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
    """What ``get_ipython().method('…')`` does; None for any other call."""
    if not isinstance(node.func, ast.Attribute) or not isinstance(node.func.value, ast.Call):
        return None
    if _last_name(node.func.value.func) != "get_ipython":
        return None
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return effect_of(node.func.attr, texts) if len(texts) == len(node.args) else None


def _names_inside(node: ast.expr | ast.stmt) -> Names:
    """The global names of a scope: of the compiled body of a function, lambda or comprehension.

    The compiler knows every rule of scoping; a second account of them here would differ.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree: ast.Module | ast.Expression
    tree = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])
    try:
        code = compile(
            ast.fix_missing_locations(tree),
            "<cell>",
            "exec" if isinstance(tree, ast.Module) else "eval",
            flags,
        )
    except (SyntaxError, ValueError, RecursionError):
        return Names(everything=True, reason="code that does not compile alone")
    names = names_of_code(code)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return union(names_of_code(c) for c in code.co_consts if isinstance(c, CodeType))
    return names


def _bare(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """A function without decorators, defaults and annotations, which run where it is defined."""
    arguments = node.args
    bare = ast.arguments(
        posonlyargs=[ast.arg(a.arg) for a in arguments.posonlyargs],
        args=[ast.arg(a.arg) for a in arguments.args],
        vararg=ast.arg(arguments.vararg.arg) if arguments.vararg else None,
        kwonlyargs=[ast.arg(a.arg) for a in arguments.kwonlyargs],
        kw_defaults=[None] * len(arguments.kwonlyargs),
        kwarg=ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
        defaults=[],
    )
    copy = type(node)(name=node.name, args=bare, body=node.body, decorator_list=[])
    if sys.version_info >= (3, 12):
        copy.type_params = []
    return ast.copy_location(copy, node)


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [a for a in (arguments.vararg, arguments.kwarg) if a]
    found = [a.annotation for a in named if a.annotation]
    return [*found, node.returns] if node.returns else found


def _matches_all(case: ast.match_case) -> bool:
    is_wildcard = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    return is_wildcard and case.guard is None
