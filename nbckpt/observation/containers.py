"""Lists, dicts and sets that libraries hold at the top, and what a cell changed in them.

``calendar.mdays[2] = 29`` sets no attribute, and who reads it names another function of that
library. Looked at are the containers that a cell, or a function of the notebook, names, and those
of each module one of whose functions a cell calls for nothing but what it does: ``add_alias(…)``.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import deque
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.analysis import nodes_of
from nbckpt.analysis.bytecode import words_of
from nbckpt.observation.changes import UNKNOWN, Change, Kind
from nbckpt.observation.libraries import Libraries
from nbckpt.observation.ownership import is_users_module
from nbckpt.observation.registries import KEPT_ELSEWHERE, is_bookkeeping
from nbckpt.observation.stores import resolved, words_reached

_KINDS = (list, dict, set, deque, bytearray)
_MANY = 5_000
_MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
     "remove", "reverse", "setdefault", "sort", "update"}
)  # fmt: skip
_RUN_TEXT = frozenset({"exec", "eval"})
_NOT_FOLLOWED = re.compile(r"rcParams|__")


class _Held(NamedTuple):
    """A container at its place."""

    kind: Kind
    owner: str
    name: str
    container: Any


class Refill:
    """Has a container hold again what it held."""

    is_nbckpts_own = True

    def __init__(self, container: Any) -> None:
        self._container = container

    def __call__(self, content: object) -> None:
        """Fill it with what another container holds.

        Raises
        ------
        ValueError
            If that is the container itself: what it held then is not known.
        """
        if content is self._container or not isinstance(content, Collection):
            raise ValueError
        self._container.clear()
        fill = "update" if issubclass(type(self._container), dict | set) else "extend"
        getattr(self._container, fill)(content)


class Containers:
    """Tells which containers of libraries a cell changes.

    Parameters
    ----------
    namespace
        The live variables.
    libraries
        Knows which modules and classes are of libraries.
    """

    is_nbckpts_own = True

    def __init__(self, namespace: MutableMapping[str, object], libraries: Libraries) -> None:
        self._namespace = namespace
        self._libraries = libraries
        self._before: dict[tuple[str, str], tuple[_Held, Any]] = {}
        self._variables: dict[str, _Held] = {}
        self._wanted: dict[str, list[str]] = {}

    def begins(self, tree: ast.Module, *, inside: bool) -> None:
        """Take note of what is in those that a cell can change, which may be inside of another."""
        if not inside:
            self._before = {}
        for held in self._named(tree):
            place = held.owner, held.name
            if place not in self._before:
                self._before[place] = held, held.container.copy()

    def changes(self, tree: ast.Module, fresh: set[str]) -> list[Change]:
        """What is in others since the last look, or may be in those of libraries met just now.

        Parameters
        ----------
        fresh
            Modules and classes that the cell has imported.
        """
        changes = []
        for place, (held, before) in list(self._before.items()):
            if not _is_same(held.container, before):
                self._before[place] = held, held.container.copy()
                changes.append(_change(held, before))
        if fresh:
            seen = self._before.keys()
            written = (h for h in self._written(tree) if h.owner in fresh)
            changes += [_change(h, UNKNOWN) for h in written if (h.owner, h.name) not in seen]
        return changes

    # -- variables that are such containers ---------------------------------------------------

    def learn(self, tree: ast.Module) -> None:
        """Take note of which variables a cell has bound to them: ``from calendar import mdays``."""
        for name, place in self._bound(tree):
            self._variables[name] = place

    def variables(self) -> dict[str, list[str]]:
        """Variables that are containers of libraries → kind, owner and name of the place."""
        held = {n: h for n, h in self._variables.items() if self._namespace.get(n) is h.container}
        self._variables = held
        return {name: [h.kind, h.owner, h.name] for name, h in held.items()}

    def want(self, variables: Mapping[str, list[str]]) -> None:
        """Take note of which of the variables that are brought back were such containers."""
        self._wanted = dict(variables)

    def unite(self, names: Collection[str]) -> None:
        """Bind variables to the containers that they were, where these hold the same."""
        wanted, self._wanted = self._wanted, {}
        for name, (kind, owner, member) in wanted.items():
            held = self._held_at(kind, owner, member) if name in names else None
            value = self._namespace.get(name)
            if held is None or type(value) is not type(held.container):
                continue
            if held.container is not value and not _is_equal(held.container, value):
                continue
            self._namespace[name] = held.container
            self._variables[name] = held

    def _held_at(self, kind: str, owner: str, member: str) -> _Held | None:
        home, _, cls = owner.partition(":")
        try:
            holder: Any = importlib.import_module(home)
            for part in cls.split(".") if cls else ():
                holder = vars(holder)[part]
            value = vars(holder)[member]
        except Exception:  # of an import, whatever the library raises
            return None
        is_one = issubclass(type(value), _KINDS)
        return (
            _Held("class" if kind == "class" else "module", owner, member, value)
            if is_one
            else None
        )

    def _bound(self, tree: ast.Module) -> Iterator[tuple[str, _Held]]:
        for node in nodes_of(tree):
            places: list[tuple[str, Any, str]] = []
            home: Any
            if isinstance(node, ast.ImportFrom) and not node.level:
                home = sys.modules.get(node.module or "")
                places = [(alias.asname or alias.name, home, alias.name) for alias in node.names]
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
                home = resolved(node.value.value, self._namespace)
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                places = [(name, home, node.value.attr) for name in names]
            for name, home, member in places:
                value = self._namespace.get(name)
                if not issubclass(type(value), _KINDS) or not _is_holder(home):
                    continue
                place = self._libraries.owner_of(home)
                if place is not None and vars(home).get(member) is value:
                    yield name, _Held(*place, member, value)

    # -- what is looked at ----------------------------------------------------------------------

    def _named(self, tree: ast.Module) -> Iterator[_Held]:
        """Containers that a cell's words name, and those of modules that it calls."""
        words = words_reached(tree, self._namespace)
        if not words.isdisjoint(_RUN_TEXT):
            values = [*self._namespace.values()]
            words = words.union(*(words_of(v) for v in values if type(v) is str and len(v) < _MANY))
        if self._variables:
            self.variables()
            yield from (h for name, h in self._variables.items() if name in words)
        named = [found.get(word) for word in words for found in (self._namespace, sys.modules)]
        holders: list[Any] = [value for value in named if _is_holder(value)]
        seen = set(map(id, holders))
        for holder in holders:
            bases = holder.__mro__[1:-1] if isinstance(holder, type) else ()
            holders += [base for base in bases if id(base) not in seen]
            seen.update(map(id, bases))
            place = self._libraries.owner_of(holder)
            if place is None or place[1].partition(".")[0] in KEPT_ELSEWHERE:
                continue
            members = vars(holder)
            for word in words & members.keys():
                value = members[word]
                if issubclass(type(value), _KINDS):
                    if _is_followed(word, value):
                        yield _Held(*place, word, value)
                elif _is_holder(value) and id(value) not in seen:
                    seen.add(id(value))
                    holders.append(value)
        for members in {id(f.__globals__): f.__globals__ for f in self._called(tree)}.values():
            yield from self._of_module(members)

    def _called(self, tree: ast.Module) -> Iterator[FunctionType]:
        for node in nodes_of(tree):
            if isinstance(node, ast.Call):
                function = resolved(node.func, self._namespace)
                if type(function) is FunctionType and function.__globals__ is not self._namespace:
                    yield function

    def _of_module(self, members: dict[str, Any]) -> Iterator[_Held]:
        """All containers of the module that a function is of."""
        name = members.get("__name__")
        if type(name) is not str or name.partition(".")[0] in KEPT_ELSEWHERE:
            return
        if is_users_module(name) or self._libraries.table("module", name) is not members:
            return
        for member, value in list(members.items()):
            if issubclass(type(value), _KINDS) and _is_followed(member, value):
                yield _Held("module", name, member, value)

    def _written(self, tree: ast.Module) -> Iterator[_Held]:
        """Containers that a cell's text changes: an item is set, or a method called that does."""
        for node in nodes_of(tree):
            target: ast.expr | None = None
            if (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)) or (
                isinstance(node, ast.Attribute) and node.attr in _MUTATORS
            ):
                target = node.value
            if not isinstance(target, ast.Attribute):
                continue
            holder = resolved(target.value, self._namespace)
            value = resolved(target, self._namespace)
            place = self._libraries.owner_of(holder) if _is_holder(holder) else None
            if place is None or place[1].partition(".")[0] in KEPT_ELSEWHERE:
                continue
            if issubclass(type(value), _KINDS) and _is_followed(target.attr, value):
                yield _Held(*place, target.attr, value)


def _is_holder(value: object) -> bool:
    return issubclass(type(value), ModuleType | type)


def _is_followed(name: str, container: Any) -> bool:
    if _NOT_FOLLOWED.match(name) or is_bookkeeping(name) or not hasattr(type(container), "copy"):
        return False
    return len(container) <= _MANY


def _change(held: _Held, old: object) -> Change:
    put = Refill(held.container)
    return Change(held.kind, held.owner, held.name, held.name, old, held.container, put)


def _is_equal(container: Any, other: Any) -> bool:
    try:
        return len(container) == len(other) and bool(container == other)
    except Exception:  # of the elements' own code
        return False


def _is_same(container: Any, before: Any) -> bool:
    """Whether it holds the same objects, in the same order."""
    if len(container) != len(before):
        return False
    if issubclass(type(container), dict):
        items = zip(container.items(), before.items(), strict=True)
        return all(key is k and value is v for (key, value), (k, v) in items)
    if issubclass(type(container), set | bytearray):
        return bool(container == before)
    return all(map(is_, container, before))
