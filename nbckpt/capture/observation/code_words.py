"""Names and strings in the text of a cell, and in the code of functions."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType

from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.code.nodes import once


def words_of_tree(tree: ast.Module) -> frozenset[str]:
    """All names of a cell's text, and the words inside its strings."""
    return once(tree, "words", lambda: frozenset(_words_of_tree(tree)))


def _words_of_tree(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
    for text in texts_of_tree(tree):
        yield from words_of(text)


def texts_of_tree(tree: ast.Module) -> Iterator[str]:
    """The strings in a cell."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@lru_cache(maxsize=4096)
def words_of_code(code: CodeType) -> frozenset[str]:
    """All names in some code, and the words of its strings."""
    words = {name for part in with_nested(code) for name in part.co_names}
    return frozenset(words.union(*map(words_of, strings_of_code(code))))


@lru_cache(maxsize=4096)
def strings_of_code(code: CodeType) -> frozenset[str]:
    """The strings in some code."""
    return frozenset(c for p in with_nested(code) for c in p.co_consts if isinstance(c, str))


@lru_cache(maxsize=4096)
def sets_items(code: CodeType) -> bool:
    """True if a function sets or deletes an item of something."""
    steps = (step for part in with_nested(code) for step in dis.get_instructions(part))
    return any(step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for step in steps)


def with_nested(code: CodeType) -> Iterable[CodeType]:
    """Some code, and that of functions and classes defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_nested(constant)
