"""Variables that are containers of libraries: ``from calendar import mdays``."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from typing import Any

from nbckpt.capture.observation.changes import Kind
from nbckpt.capture.observation.container_contents import KINDS, HeldContainer
from nbckpt.capture.observation.container_search import ContainerSearch, is_kept_elsewhere
from nbckpt.capture.observation.stores import resolved
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.user_code_errors import user_code_errors

_OF_PROCESS = (
    ("os", "environ"), ("os", "environb"), ("sys", "argv"), ("sys", "meta_path"),
    ("sys", "modules"), ("sys", "path"), ("sys", "path_hooks"),
    ("warnings", "filters"),
)  # fmt: skip
"""Containers of the process: what they hold is known elsewhere, which variables they are is not."""


class ContainerVariables(Own):
    """Tells which variables are lists, dicts and sets of libraries, and makes them so again."""

    def __init__(self, namespace: MutableMapping[str, object], search: ContainerSearch) -> None:
        self._namespace = namespace
        self._search = search
        self._variables: dict[str, HeldContainer] = {}
        self._wanted: dict[str, list[str]] = {}

    def learn(self, tree: ast.Module) -> None:
        """Take note of which variables a cell has bound to them: ``from calendar import mdays``."""
        names, homes = names_bound(tree, self._namespace)
        self._variables.update(self.among(names, homes, tree))
        of_process = {id(vars(sys.modules[m]).get(n)): (m, n) for m, n in _OF_PROCESS}
        for name in names:
            value = self._namespace.get(name)
            if value is not None and (place := of_process.get(id(value))):
                self._variables[name] = HeldContainer("module", *place, value)

    def now(self) -> dict[str, list[str]]:
        """Variables that are containers of libraries → kind, owner and name of the place."""
        held = {n: h for n, h in self._variables.items() if self._namespace.get(n) is h.container}
        self._variables = held
        return {name: [h.kind, h.owner, h.name] for name, h in held.items()}

    def named_in(self, words: frozenset[str]) -> list[HeldContainer]:
        """Those of libraries whose variables some words name."""
        if self._variables:
            self.now()
        return [
            held
            for name, held in self._variables.items()
            if name in words and not is_kept_elsewhere(held.owner)
        ]

    def of_process(self) -> list[str]:
        """Variables that are containers of the process, without the table of modules."""
        held = self._variables.items() if self._variables else ()
        return [
            name
            for name, it in held
            if is_kept_elsewhere(it.owner)
            and it.name != "modules"
            and self._namespace.get(name) is it.container
        ]

    def want(self, variables: Mapping[str, list[str]]) -> None:
        """Take note of which of the variables that are brought back were such containers."""
        self._wanted = dict(variables)

    def at_other_places(self, names: Collection[str]) -> set[str]:
        """Those of some variables that are such a container now, and are to be another object."""
        now = self.now() if self._variables else {}
        return {n for n in now.keys() & set(names) if self._wanted.get(n) != now[n]}

    def unite(self, names: Iterable[str]) -> None:
        """Bind those of some variables to the containers that they were, whatever these hold now.

        What a cell changed in one, a library has only where that cell has run.
        """
        wanted, self._wanted = self._wanted, {}
        for name in sorted(wanted.keys() & set(names)):
            held = _held_at(*wanted[name])
            if held is not None and name in self._namespace:
                self._namespace[name] = held.container
                self._variables[name] = held

    def among(
        self, names: Iterable[str], homes: Iterable[str], tree: ast.Module
    ) -> dict[str, HeldContainer]:
        """Variables that a cell has bound, from some modules or by itself, which are containers."""
        values = ((name, self._namespace.get(name)) for name in names)
        bound = {n: v for n, v in values if issubclass(type(v), KINDS)}
        if not bound:
            return {}
        holders = [sys.modules[home] for home in homes if home in sys.modules]
        holders += self._search.holders(self._search.words(tree, []))
        held = [h for holder in holders for h in self._search.within(holder, None)]
        calls = (node.func for node in nodes_of(tree) if isinstance(node, ast.Call))
        modules = {
            self._search.module_of(resolved(function, self._namespace)) for function in calls
        }
        held += [h for module in modules if module for h in self._search.within_all(module)]
        known = {id(h.container): h for h in (*self._variables.values(), *held)}
        return {n: known[id(v)] for n, v in bound.items() if id(v) in known}


def names_bound(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[set[str], set[str]]:
    """The names that a cell's text binds, and the modules that it imports names from."""
    names, homes = set[str](), set[str]()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            homes.add(node.module or "")
            names.update(alias.asname or alias.name for alias in node.names)
    return (set(namespace) if "*" in names else names), homes


def _held_at(kind: str, owner: str, member: str) -> HeldContainer | None:
    """The container at a place, whose module is imported for that."""
    home, _, cls = owner.partition(":")
    try:
        holder: Any = importlib.import_module(home)
        for part in cls.split(".") if cls else ():
            holder = vars(holder)[part]
        value = vars(holder)[member]
    except user_code_errors():  # of an import, whatever the library raises
        return None
    known: Kind = "class" if kind == "class" else "module"
    is_container = issubclass(type(value), KINDS) or (home, member) in _OF_PROCESS
    return HeldContainer(known, owner, member, value) if is_container else None
