"""Pieces of a tree: its digest, and the names inside a scope of its own."""

from __future__ import annotations
import __future__

import ast
import sys
from collections.abc import Mapping
from types import CodeType

from nbckpt.digests import Digest, digest_of
from nbckpt.fingerprint.code.bytecode import (
    QUERIES,
    Names,
    digest_of_code,
    names_of_code,
    short_texts,
    union,
    words_of,
)
from nbckpt.fingerprint.code.nodes import nodes_of, once

_NOWHERE = {"lineno": 1, "end_lineno": 1, "col_offset": 0, "end_col_offset": 0}


def digest_of_tree(tree: ast.Module) -> Digest:
    """The digest of parsed code: comments, spacing and line numbers do not count."""
    return once(tree, "digest", lambda: _digest_of_tree(tree))


def _digest_of_tree(tree: ast.Module) -> Digest:
    # What it compiles to, which takes a tenth of the time of `ast.dump`. As in a shell, where the
    # value of an expression is shown: a module's code lacks its constants.
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    shown = ast.Interactive(tree.body)
    kinds = (ast.stmt, ast.expr, ast.excepthandler, ast.arg, ast.keyword, ast.alias, ast.pattern)
    placed = [node.__dict__ for node in nodes_of(tree) if isinstance(node, kinds)]
    before = [dict(members) for members in placed]
    try:
        for members in placed:  # for each line the compiler may keep an instruction of its own
            members.update(_NOWHERE)
        return digest_of_code(compile(shown, "<cell>", "single", flags, dont_inherit=True))
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return digest_of(ast.dump(tree))
    finally:
        for members, place in zip(placed, before, strict=True):
            members.clear()
            members.update(place)


def runs_queries(tree: ast.Module) -> bool:
    """True if a cell runs queries, which look variables up by the names in their text."""
    called = {last_name(node.func) for node in nodes_of(tree) if isinstance(node, ast.Call)}
    return not QUERIES.isdisjoint(called | attributes_of(tree) | texts_of(tree))


def attributes_of(tree: ast.Module) -> frozenset[str]:
    """The attributes that a cell asks objects for, outside of its functions or in them."""
    return frozenset(node.attr for node in nodes_of(tree) if isinstance(node, ast.Attribute))


def texts_of(tree: ast.Module) -> frozenset[str]:
    """The short strings in a cell."""
    return short_texts(n.value for n in nodes_of(tree) if isinstance(n, ast.Constant))


def mentions_of(tree: ast.Module) -> frozenset[str]:
    """The words in a cell's strings."""
    constants = (n.value for n in nodes_of(tree) if isinstance(n, ast.Constant))
    return frozenset().union(*(words_of(text) for text in constants if isinstance(text, str)))


def scripts_of(tree: ast.Module) -> frozenset[str]:
    """The words of a cell's ``%run`` lines, one of which is the script that it runs."""
    found: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and last_name(node.func) == "run_line_magic":
            texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if len(texts) == 2 and texts[0] == "run":
                found.update(word.strip("'\"") for word in str(texts[1]).split())
    return frozenset(found)


def last_name(node: ast.expr) -> str:
    """`c` of ``a.b.c``, or of ``a.b.c()``."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def names_inside(node: ast.expr | ast.stmt) -> Names:
    """The global names of a scope: of the compiled body of a function, lambda or comprehension.

    The compiler knows every rule of scoping; a second account of them here would differ.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree: ast.Module | ast.Expression
    tree = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    ast.fix_missing_locations(tree)
    try:
        code = compile(tree, "<cell>", mode, flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return Names(everything=True, reason="code that does not compile alone")
    names = names_of_code(code)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return union(names_of_code(c) for c in code.co_consts if isinstance(c, CodeType))
    return names


def bare(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
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


def annotations_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """The annotations of a function's arguments and result."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [a for a in (arguments.vararg, arguments.kwarg) if a]
    found = [a.annotation for a in named if a.annotation]
    return [*found, node.returns] if node.returns else found


def future_flags(namespace: Mapping[str, object]) -> int:
    """Those of `from __future__ import …`, which a shell applies to all cells below."""
    return sum(
        {v.compiler_flag for v in list(namespace.values()) if type(v) is __future__._Feature}  # noqa: SLF001
    )
