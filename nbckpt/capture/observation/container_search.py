"""Containers of libraries that the code of a cell names, or that functions which it calls have."""

from __future__ import annotations

import ast
import sys
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from nbckpt.capture.observation.call_arguments import statement_calls
from nbckpt.capture.observation.changes import Kind
from nbckpt.capture.observation.container_contents import (
    KINDS,
    MOST_ITEMS,
    HeldContainer,
    is_followed,
)
from nbckpt.capture.observation.followed_tables import members_of
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.registries import KEPT_ELSEWHERE, STATE_IS_KNOWN
from nbckpt.capture.observation.stores import resolved
from nbckpt.capture.observation.words_of_code import sets_items, words_of_code, words_of_tree
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.code.nodes import run_nodes
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.fingerprint.values.raw_members import bases_of

_MUTATORS = frozenset(
    {"__delitem__", "__iadd__", "__ior__", "__setitem__", "add", "append", "appendleft", "clear",
     "difference_update", "discard", "extend", "extendleft", "insert", "intersection_update",
     "move_to_end", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault",
     "sort", "subtract", "symmetric_difference_update", "update"}
)  # fmt: skip
_RUN_TEXT = frozenset({"exec", "eval"})


class ContainerSearch(Own):
    """Finds the lists, dicts and sets of libraries that code can change.

    Parameters
    ----------
    namespace
        The live variables.
    libraries
        Knows which modules and classes are of libraries.
    """

    def __init__(self, namespace: MutableMapping[str, object], libraries: Libraries) -> None:
        self._namespace = namespace
        self._libraries = libraries

    def words(self, tree: ast.Module, codes: Iterable[CodeType]) -> frozenset[str]:
        """The names in a cell, in code that it reaches, and in text that it runs."""
        words = words_of_tree(tree).union(*map(words_of_code, codes))
        if not words.isdisjoint(_RUN_TEXT):
            texts = [v for n in words if type(v := self._namespace.get(n)) is str]
            words = words.union(*(words_of(text) for text in texts if len(text) <= MOST_ITEMS))
        return words

    def holders(self, words: frozenset[str]) -> Iterator[Any]:
        """Modules and classes of libraries that some words name."""
        found = [table.get(word) for word in words for table in (self._namespace, sys.modules)]
        waiting: list[Any] = [value for value in found if is_holder(value)]
        seen = set(map(id, waiting))
        for holder in waiting:
            if issubclass(type(holder), type):
                inside = [*bases_of(holder)[1:-1]]
            elif self._place_of(holder) is None:
                continue
            else:
                members = members_of(holder)
                inside = [v for w in words & members.keys() if is_holder(v := members[w])]
            for value in inside:
                if id(value) not in seen:
                    seen.add(id(value))
                    waiting.append(value)
            yield holder

    def _place_of(self, holder: object) -> tuple[Kind, str] | None:
        """Kind and name by which a module or class of a library is followed; None if it is not."""
        place = self._libraries.owner_of(holder)
        return None if place is None or is_kept_elsewhere(place[1]) else place

    def within(self, holder: Any, words: frozenset[str] | None) -> Iterator[HeldContainer]:
        """The containers of a module or class, or those that some words name."""
        place = self._place_of(holder)
        if place is None:
            return
        members = members_of(holder)
        for name in [*members] if words is None else words & members.keys():
            value = members.get(name)
            if issubclass(type(value), KINDS) and is_followed(name, value):
                yield HeldContainer(*place, name, value)

    def within_all(self, module: str) -> Iterator[HeldContainer]:
        """All containers of a module."""
        members = self._libraries.table("module", module) or {}
        for name, value in list(members.items()):
            if issubclass(type(value), KINDS) and name[:2] != "__" and is_followed(name, value):
                yield HeldContainer("module", module, name, value)

    def called(
        self,
        tree: ast.Module,
        codes: Iterable[CodeType],
        holders: Iterable[Any],
    ) -> set[str]:
        """Modules whose functions a cell calls for what they do, or functions that it reaches."""
        scope = self._scope(tree)
        functions = [resolved(call.func, scope) for call in statement_calls(tree)]
        words = frozenset[str]().union(*map(words_of_code, codes))
        if words:
            functions += [self._namespace.get(word) for word in words]
            for holder in holders:
                if issubclass(type(holder), ModuleType):
                    members = members_of(holder)
                    functions += [members[word] for word in words & members.keys()]
        modules = {module for function in functions if (module := self.module_of(function))}
        return {module for module in modules if not is_state_known(module)}

    def asked_for(self, tree: ast.Module) -> set[str]:
        """Modules whose functions give a container that a cell changes: ``colors()["a"] = 1``."""
        targets, scope = list(targets_of(tree)), self._scope(tree)
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        values: list[ast.expr] = targets
        for node in nodes_of(tree):
            if isinstance(node, ast.Assign):
                bound = {target.id for target in node.targets if isinstance(target, ast.Name)}
                values += [] if names.isdisjoint(bound) else [node.value]
        calls = (value.func for value in values if isinstance(value, ast.Call))
        return {m for function in calls if (m := self.module_of(resolved(function, scope)))}

    def _scope(self, tree: ast.Module) -> Mapping[str, object]:
        """The variables, with what the cell is about to import, where that is loaded."""
        imported: dict[str, object] = {}
        for node in nodes_of(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    imported[alias.asname or name] = sys.modules.get(name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                home = sys.modules.get(node.module or "")
                members = {} if home is None else members_of(home)
                for alias in node.names:
                    imported[alias.asname or alias.name] = members.get(alias.name)
        found = {name: value for name, value in imported.items() if value is not None}
        return ChainMap(found, self._namespace) if found else self._namespace

    def module_of(self, function: object) -> str:
        """The library's module that a function is of; empty if it is none's."""
        if type(function) is not FunctionType or function.__globals__ is self._namespace:
            return ""
        name = function.__globals__.get("__name__")
        if type(name) is not str or is_kept_elsewhere(name) or is_users_module(name):
            return ""
        return name if self._libraries.table("module", name) is function.__globals__ else ""

    def written_by(self, codes: Iterable[CodeType], fresh: set[str]) -> Iterator[HeldContainer]:
        """Containers of some modules that functions name which change one."""
        for code in codes:
            words = words_of_code(code)
            if _MUTATORS.isdisjoint(words) and not sets_items(code):
                continue
            for module in fresh:
                if module.rpartition(".")[2] in words and module in sys.modules:
                    yield from self.within(sys.modules[module], words)


def targets_of(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that a cell's text changes in place: by an item, or a mutating method."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                yield node.value
        elif isinstance(node, ast.Attribute):
            if node.attr in _MUTATORS:
                yield node.value
        elif isinstance(node, ast.AugAssign):
            yield node.target
        elif isinstance(node, ast.Call):  # operator.setitem, heapq.heappush
            yield from (a for a in node.args[:1] if isinstance(a, ast.Attribute))


def is_holder(value: object) -> bool:
    """True if a value is a module or a class."""
    return issubclass(type(value), ModuleType | type)


def is_kept_elsewhere(owner: str) -> bool:
    """True if another facet knows what a module or class holds."""
    return owner.partition(":")[0].partition(".")[0] in KEPT_ELSEWHERE


def is_state_known(module: str) -> bool:
    """True if a module is of a library whose settings are process state."""
    return module.partition(".")[0] in STATE_IS_KNOWN
