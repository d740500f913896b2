"""Lists, dicts and sets that libraries hold at the top, and what a cell changed in them.

``calendar.mdays[2] = 29`` sets no attribute, and who reads it names another function of that
library. Compared before and after a cell are the containers that it, or a function that it
reaches, names; and those of the modules whose functions it calls for nothing but what they do
(``add_alias(…)``), where only what the notebook can have given to them counts: libraries fill
their own tables when they are first used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, MutableMapping
from types import CodeType
from typing import Any

from nbckpt.capture.observation.call_arguments import Given, given_by, is_argument, statement_calls
from nbckpt.capture.observation.changes import UNKNOWN, Change
from nbckpt.capture.observation.container_contents import (
    HeldContainer,
    change_of,
    content_of,
    is_same,
    new_in,
)
from nbckpt.capture.observation.container_search import (
    ContainerSearch,
    is_holder,
    is_state_known,
    targets_of,
)
from nbckpt.capture.observation.container_variables import ContainerVariables, names_bound
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.stores import resolved
from nbckpt.capture.observation.words_of_code import codes_reached
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.fingerprint.values.plain import ATOMS


class Containers(Own):
    """Tells which containers of libraries a cell changes.

    Attributes
    ----------
    variables
        The variables that are such containers.

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
        self._search = ContainerSearch(namespace, libraries)
        self.variables = ContainerVariables(namespace, self._search)
        self._before: dict[tuple[str, str], tuple[HeldContainer, Any]] = {}
        self._named: set[tuple[str, str]] = set()

    def begins(self, tree: ast.Module, *, inside: bool) -> None:
        """Take note of what is in those that a cell can change, which may be inside of another."""
        if not inside:
            self._before, self._named = {}, set()
        search = self._search
        codes = codes_reached(tree, self._namespace)
        words = search.words(tree, codes)
        holders = list(search.holders(words))
        named = [held for holder in holders for held in search.within(holder, words)]
        named += self.variables.named_in(words)
        made = [h for module in search.asked_for(tree) for h in search.within_all(module)]
        called = [h for m in search.called(tree, codes, holders) for h in search.within_all(m)]
        self._named.update(held.place for held in (*named, *made))
        for held in (*named, *made, *called):
            if held.place not in self._before:
                self._before[held.place] = held, content_of(held.container)

    def changes(self, tree: ast.Module, fresh: set[str]) -> list[Change]:
        """Changes of containers since the last look; possible ones in libraries met just now.

        Parameters
        ----------
        fresh
            Modules and classes that the cell has imported.
        """
        changes, codes = [], list[CodeType]()
        given: Given | None = None
        for place, (held, before) in list(self._before.items()):
            now = content_of(held.container)
            if is_same(now, before):
                continue
            self._before[place] = held, now
            if place not in self._named:
                codes = codes or codes_reached(tree, self._namespace)
                given = given or given_by(tree, codes, self._namespace)
                if not any(map(given.has, new_in(now, before))):
                    continue
            changes.append(change_of(held, before))
        if fresh:
            codes = codes or codes_reached(tree, self._namespace)
            given = given or given_by(tree, codes, self._namespace)
            changes += self._in_fresh(tree, codes, given, fresh)
        return changes

    def _in_fresh(
        self, tree: ast.Module, codes: list[CodeType], given: Given, fresh: set[str]
    ) -> Iterator[Change]:
        """Changes that a cell may have made in libraries that it has imported itself."""
        seen = set(self._before)
        for held in (*self._written(tree), *self._search.written_by(codes, fresh)):
            if held.owner in fresh and held.place not in seen:
                seen.add(held.place)
                yield change_of(held, UNKNOWN)
        for call in statement_calls(tree):
            module = self._search.module_of(resolved(call.func, self._namespace))
            if module not in fresh or is_state_known(module):
                continue
            for held in self._search.within_all(module):
                content = content_of(held.container)
                nothing: Any = {} if type(content) is dict else []
                if held.place not in seen and any(map(given.has, new_in(content, nothing))):
                    seen.add(held.place)
                    yield change_of(held, UNKNOWN)
            for name, value in list((self._libraries.table("module", module) or {}).items()):
                if is_named(value, self._namespace) or type(value) in ATOMS:
                    continue
                if is_argument(value, call, self._namespace):
                    yield self._libraries.entry("module", module, name)

    def _written(self, tree: ast.Module) -> Iterator[HeldContainer]:
        """Containers that a cell's text changes."""
        bound = self.variables.among(*names_bound(tree, self._namespace), tree)
        for target in targets_of(tree):
            if isinstance(target, ast.Name) and target.id in bound:
                yield bound[target.id]
            elif isinstance(target, ast.Attribute):
                holder = resolved(target.value, self._namespace)
                if is_holder(holder):
                    yield from self._search.within(holder, frozenset({target.attr}))
