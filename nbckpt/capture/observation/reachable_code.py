"""The code that a cell can reach by its names: the notebook's, and that of modules beside it."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, pairwise
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

from nbckpt.capture.observation.ownership import modules_beside
from nbckpt.capture.observation.words_of_code import (
    codes_of_all,
    codes_of_definition,
    codes_of_modules,
    words_of_code,
    words_of_tree,
)
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.keys.reach import definitions_in, is_definition
from nbckpt.fingerprint.values.homes import is_users_module, members_of_module, module_of
from nbckpt.fingerprint.values.plain import ATOMS


class Reached(NamedTuple):
    """The names in a cell and in the code that it may call.

    Modules beside a notebook import each other: a cell that reaches one of them reaches all.

    Attributes
    ----------
    words
        All names, and the words of strings.
    dotted
        Attributes that are asked of attributes or names, as ``utils.checkpoint``.
    spaces
        Where the words are looked up.
    """

    words: frozenset[str]
    dotted: frozenset[str]
    spaces: tuple[Mapping[str, object], ...]

    def named(self) -> Iterator[object]:
        """The objects that the words stand for."""
        for space in self.spaces:
            yield from (space[word] for word in self.words & space.keys())


def reached(
    tree: ast.Module, namespace: Mapping[str, object], *, everything: bool = False
) -> Reached:
    """The names reached through functions, instances, containers and modules of the user's.

    With `everything` it is what it could reach by any variable.
    """
    words = set(words_of_tree(tree))
    dotted = {name for node in nodes_of(tree) for name in _dotted(node)}
    waiting, is_beside = [*words, *(namespace if everything else ())], False
    while waiting:
        value = namespace.get(waiting.pop())
        if type(value) in ATOMS:
            continue
        found = definitions_in(value, namespace, counts=_is_users)
        codes = codes_of_all(namespace) if found is None else codes_of_definition(found, namespace)
        is_beside |= found is None or any(_is_beside(one, namespace) for one in found)
        for code in codes:
            new = words_of_code(code) - words
            words |= new
            waiting += new
            dotted |= _dotted_in(code)
    if not is_beside:
        return Reached(frozenset(words), frozenset(dotted), (namespace,))
    names = modules_beside()
    beside = _named_beside(names)
    spaces = [members_of_module(name) for name in names]
    return Reached(beside.words | words, beside.dotted | dotted, (namespace, *spaces))


def words_beside() -> frozenset[str]:
    """All that the code of modules beside the notebook names."""
    return _named_beside(modules_beside()).words


def _is_users(value: object, namespace: Mapping[str, object]) -> bool:
    """True for a function or class of the notebook's, and for anything of a module beside it."""
    kind = type(value)
    if issubclass(kind, ModuleType):
        return is_users_module(getattr(value, "__name__", None))
    if not issubclass(kind, FunctionType | type):
        return False
    return is_definition(value, namespace) or is_users_module(module_of(value))


def _is_beside(value: object, namespace: Mapping[str, object]) -> bool:
    if issubclass(type(value), ModuleType):
        return True
    if issubclass(type(value), FunctionType):
        own = value.__globals__  # type: ignore[attr-defined]
        return own is not namespace and is_users_module(own.get("__name__"))
    module = module_of(value)
    return module != "__main__" and is_users_module(module)


class _Beside(NamedTuple):
    """Names in the code of modules, and the functions and classes in which they were found."""

    words: frozenset[str]
    dotted: frozenset[str]
    found_in: list[object]


def _named_beside(names: list[str]) -> _Beside:
    """All that the code of some modules names; it is found out again when they define others."""
    global _last_beside  # noqa: PLW0603  # replaced as a whole
    spaces = [members_of_module(name) for name in names]
    members = chain.from_iterable(list(space.values()) for space in spaces)
    found_in = [value for value in members if issubclass(type(value), FunctionType | type)]
    known = _last_beside.found_in
    if len(known) != len(found_in) or any(a is not b for a, b in zip(known, found_in, strict=True)):
        codes = list(codes_of_modules(names))
        words = frozenset[str]().union(*map(words_of_code, codes))
        dotted = frozenset[str]().union(*map(_dotted_in, codes))
        _last_beside = _Beside(words, dotted, found_in)
    return _last_beside


_last_beside = _Beside(frozenset(), frozenset(), [])


def _dotted(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Attribute):
            yield f"{node.value.attr}.{node.attr}"
        elif isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


@lru_cache(maxsize=32_768)
def _dotted_in(code: CodeType) -> frozenset[str]:
    found = set[str]()
    for first, second in pairwise(dis.get_instructions(code)):
        if second.opname in ("LOAD_ATTR", "LOAD_METHOD") and first.opname.startswith("LOAD_"):
            found.add(f"{first.argval}.{second.argval}")
    inside = (_dotted_in(part) for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(found).union(*inside)
