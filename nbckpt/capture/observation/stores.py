"""Attributes that a cell's text, and the user's functions, can set or look up on other things."""

from __future__ import annotations

import ast
import dis
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from types import CodeType, ModuleType
from typing import NamedTuple

from nbckpt.capture.observation.words_of_code import (
    codes_of_all,
    codes_of_modules,
    codes_reached,
    strings_of_code,
    texts_of_tree,
    with_nested,
    words_of_code,
    words_of_tree,
)
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.values.plain import PLAIN
from nbckpt.fingerprint.values.raw_members import member_of_class

_SETTERS = frozenset(
    {"setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "patch"}
)
_UNNAMED = frozenset({"setattr", "delattr", "vars", "exec", "eval", "globals"})
_UNNAMED_MEMBERS = frozenset({"__setattr__", "__delattr__", "__dict__", "__globals__"})
_DATA = PLAIN - {type(None)}
_UNNAMED_BY_CODE = _UNNAMED_MEMBERS | {"setattr", "delattr"}

_STORES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_OWN = frozenset({"self", "cls"})


class Stores(NamedTuple):
    """Attributes that some code sets.

    Attributes
    ----------
    places
        Modules and classes, each with the name of an attribute that is set on it.
    names
        Names of attributes that are set on objects that the text does not tell.
    """

    places: tuple[tuple[object, str], ...]
    names: frozenset[str]


def stores_of(tree: ast.Module, namespace: Mapping[str, object], codes: Codes) -> Stores:
    """Attributes that a cell, and the functions that it may call, set on libraries."""
    places, names = _set_by_text(tree, namespace)
    names = names.union(*map(_stored_by, codes.all()))
    return Stores(places, frozenset(names))


def can_set(
    holder: Callable[[object], bool],
    name: str,
    tree: ast.Module,
    namespace: Mapping[str, object],
    codes: Iterable[CodeType],
) -> bool:
    """True if a cell, or a function that it may call, sets an attribute of this name.

    Parameters
    ----------
    holder
        Tells of a module or class that the cell names if it is the one that has the attribute.
    codes
        Of the functions.
    """
    places, names = _set_by_text(tree, namespace)
    if name in names or any(place[1] == name and holder(place[0]) for place in places):
        return True
    # Packages beside a notebook have thousands of functions: those that name it are looked at.
    return any(_may_store(code, name) and name in _stored_by(code) for code in codes)


class Codes:
    """The code of the notebook and of the modules beside it, found once for all who ask."""

    def __init__(
        self, namespace: Mapping[str, object], modules: Iterable[str], tree: ast.Module | None
    ) -> None:
        self._namespace, self._modules, self._tree = namespace, modules, tree

    @cached_property
    def notebook(self) -> list[CodeType]:
        """Of functions and classes that the notebook has defined and still holds."""
        return [*codes_of_all(self._namespace)]

    @cached_property
    def beside(self) -> list[CodeType]:
        """Of functions and classes that the modules define."""
        return [*codes_of_modules(self._modules)]

    @cached_property
    def reached(self) -> list[CodeType]:
        """Of what the cell names that ran, and what that names itself."""
        return codes_reached(self._tree, self._namespace) if self._tree is not None else []

    @cached_property
    def sets_unnamed(self) -> bool:
        """True if the cell, or a function that it may call, can set names that stand nowhere."""
        if self._tree is None:
            return False
        return sets_what_no_text_names(self._tree, self._namespace) or any(
            not _UNNAMED_BY_CODE.isdisjoint(part.co_names)
            for code in self.all()
            for part in with_nested(code)
        )

    def all(self) -> Iterator[CodeType]:
        """Of the notebook and of the modules."""
        return chain(self.notebook, self.beside)


def _may_store(code: CodeType, name: str) -> bool:
    return any(
        name in part.co_names or not _SETTERS.isdisjoint(part.co_names)
        for part in with_nested(code)
    )


def _set_by_text(
    tree: ast.Module, namespace: Mapping[str, object]
) -> tuple[tuple[tuple[object, str], ...], set[str]]:
    """The places that a cell's own text sets, and names that it sets on what is not known."""
    places: list[tuple[object, str]] = []
    names: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            holder = resolved(node.value, namespace)
            if isinstance(holder, ModuleType | type):
                places.append((holder, node.attr))
            elif holder is None:
                names.add(node.attr)
    if _SETTERS & words_of_tree(tree):
        names.update(*map(words_of, texts_of_tree(tree)))
        names |= {n.arg for n in nodes_of(tree) if isinstance(n, ast.keyword) and n.arg}
    return tuple(places), names


class Named(NamedTuple):
    """Attributes that some code sets by name on objects that its text may not tell.

    Attributes
    ----------
    sets, deletes
        Names of attributes.
    words
        All names in the code, and the words of its strings.
    """

    sets: frozenset[str]
    deletes: frozenset[str]
    words: frozenset[str]


def stored_by_name(tree: ast.Module, codes: Codes) -> Iterator[Named]:
    """Names of attributes that a cell sets, and those of each function that it may call."""
    nodes = [node for node in nodes_of(tree) if isinstance(node, ast.Attribute)]
    sets = {node.attr for node in nodes if not isinstance(node.ctx, ast.Load)}
    deletes = {node.attr for node in nodes if isinstance(node.ctx, ast.Del)}
    if _SETTERS & words_of_tree(tree):
        sets.update(*map(words_of, texts_of_tree(tree)))
    if sets:
        yield Named(frozenset(sets), frozenset(deletes), words_of_tree(tree))
    for code in codes.all():
        if names := _stored_by(code):
            yield Named(names, _deleted_by(code), words_of_code(code))


def resolved(node: ast.expr, namespace: Mapping[str, object]) -> object | None:
    """Object of a dotted name, followed through modules and classes only; None if unknown."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    holder = resolved(node.value, namespace)
    if isinstance(holder, type):
        found: object = member_of_class(holder, node.attr)
        return found
    if isinstance(holder, ModuleType):
        return vars(holder).get(node.attr)
    return holder  # an attribute of an instance: of the instance


def sets_what_no_text_names(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell can set attributes whose names stand nowhere: ``setattr(m, a + b, 1)``.

    To read a variable that hides a builtin, as data named ``eval`` does, sets nothing.
    """
    names = [node for node in nodes_of(tree) if isinstance(node, ast.Name) and node.id in _UNNAMED]
    if names:
        bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        hidden = {name for name in _UNNAMED - bound if type(namespace.get(name)) in _DATA}
        if any(node.id not in hidden for node in names):
            return True
    return any(
        isinstance(node, ast.Attribute) and node.attr in _UNNAMED_MEMBERS for node in nodes_of(tree)
    )


def texts_of(tree: ast.Module, codes: Codes) -> frozenset[str]:
    """The strings in a cell, and in functions that it may call."""
    inside = (c for code in codes.all() for c in strings_of_code(code))
    return frozenset([*texts_of_tree(tree), *inside])


@lru_cache(maxsize=32_768)
def _stored_by(code: CodeType) -> frozenset[str]:
    """Attributes that a function sets on what is not the object whose method it is."""
    found: set[str] = set()
    for part in with_nested(code):
        own = next((n for n in part.co_varnames[: part.co_argcount][:1] if n in _OWN), None)
        last = None
        for step in dis.get_instructions(part):
            if step.opname in _STORES and not (last is not None and last.argval == own):
                found.add(step.argval)
            last = step
        if _SETTERS.intersection(part.co_names):
            found.update(*map(words_of, strings_of_code(part)))
    return frozenset(found)


@lru_cache(maxsize=4096)
def _deleted_by(code: CodeType) -> frozenset[str]:
    steps = (step for part in with_nested(code) for step in dis.get_instructions(part))
    return frozenset(step.argval for step in steps if step.opname == "DELETE_ATTR")
