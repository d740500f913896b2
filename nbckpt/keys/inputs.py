"""The variables and definitions that a cell depends on, collected from its names."""

from __future__ import annotations

import builtins
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.analysis import Names, reach_of_all
from nbckpt.analysis.bytecode import words_of
from nbckpt.digests import Digest, digest_of
from nbckpt.keys.reach import names_of_definition
from nbckpt.keys.scope import is_tool, is_users_name
from nbckpt.values import Examined, ValueDigester
from nbckpt.values.definitions import functions_of_class
from nbckpt.values.homes import home_of, home_of_method, is_named
from nbckpt.values.modules import loaded
from nbckpt.values.sources import user_modules

ABSENT = digest_of("absent")
"""Stands for the value of a name that does not exist."""

BUDGET = 5_000_000
"""Objects in one input to look at one by one: some fifteen seconds, instead of a run."""

MODULE = "module "
"""Stands before the name of a module among definitions."""


class Inputs:
    """The variables and definitions that a cell depends on, collected from its names."""

    def __init__(
        self,
        namespace: Mapping[str, object],
        names: Names,
        digest_of_variable: Callable[[str], Digest] | None,
        lacking: Mapping[str, Digest] | None = None,
    ) -> None:
        self.namespace = namespace
        self.names = names
        self.digest_of_variable = digest_of_variable
        self.lacking = lacking or {}
        self.digester = ValueDigester(namespace, BUDGET)
        self.variables: dict[str, Digest] = {}
        self.definitions: dict[str, Digest] = {}
        self.examined: dict[int, Examined] = {}
        self.noted: set[int] = set()
        self.seen: set[tuple[str | int, frozenset[str]]] = set()
        self.has_all = False
        self.queries: frozenset[str] | None = None  # what is bound whenever one is run
        self.words: set[str] = set()

    def of_cell(self) -> None:
        """Collect what the cell itself reads."""
        self.modules(self.names.imports)
        if self.names.everything:
            self.all_variables()
        for name in sorted(self.names.reads | self.mentioned(self.names)):
            self.variable(name, self.names.before.get(name, frozenset()))
        self.queried(self.names)

    def variable(self, name: str, bound: frozenset[str]) -> None:
        """Collect a variable that code reads after the cell has bound the names `bound`."""
        if (name, bound) in self.seen:
            return
        self.seen.add((name, bound))
        if own := self.names.deferred.get(name):
            self.follow(own, bound)
        if name in bound or is_tool(name, self.namespace):
            return
        if name in self.namespace:
            self.value(name, self.namespace[name], bound)
        elif name in self.lacking:
            self.variables[name] = self.lacking[name] or _nothing_equals()
        elif not hasattr(builtins, name):
            self.variables[name] = ABSENT

    def value(self, name: str, value: Any, bound: frozenset[str]) -> None:
        """Collect the value of a variable, and the user's code inside it."""
        if is_named(value, self.namespace):
            self.named(name, value)
            return
        if issubclass(type(value), FunctionType | type) and value.__qualname__ == name:
            self.definition(value, bound)
            return
        if (
            issubclass(type(value), FunctionType) and value.__name__ == "<lambda>"
        ):  # it has no other name than the variable's
            self.noted.add(id(value))
        examined = self.examine(value)
        self.variables[name] = self.digest_of(name, examined)
        self.reached(examined, bound)

    def named(self, name: str, value: object) -> None:
        """Collect a module, or a library's function or class, by its name."""
        home = _name_of(value, self.namespace)
        self.modules([home.partition(":")[0]])
        self.variables[name] = digest_of("named ", home)

    def definition(self, value: object, bound: frozenset[str]) -> None:
        """Collect one of the user's functions or classes, and what it reaches."""
        if (id(value), bound) in self.seen:
            return
        self.seen.add((id(value), bound))
        examined = self.examine(value)
        if id(value) not in self.noted and not _is_made_by_library(value):
            self.noted.add(id(value))
            self.note(getattr(value, "__qualname__", "?"), _whole(examined))
        self.follow(names_of_definition(value, self.namespace), bound)
        self.reached(examined, bound)

    def reached(self, examined: Examined, bound: frozenset[str]) -> None:
        """Collect the code that was met inside a value; a class stands for its methods."""
        self.contents(examined.modules)
        classes = [d for d in examined.reached if isinstance(d, type)]
        methods = {id(f) for cls in classes for f in functions_of_class(cls)}
        for definition in examined.reached:
            if id(definition) not in methods:
                self.definition(definition, bound)

    def follow(self, names: Names, bound: frozenset[str]) -> None:
        """Collect the globals that a function reads."""
        self.modules(names.imports)
        if names.queries:
            self.queries = bound if self.queries is None else self.queries & bound
        if reach_of_all(names, self.namespace):
            self.all_variables()
        for name in sorted(names.loads | self.mentioned(names)):
            self.variable(name, bound)
        self.queried(names)

    def all_variables(self) -> None:
        """Collect every variable of the user."""
        if self.has_all:
            return
        self.has_all = True
        for name in sorted({*filter(is_users_name, self.namespace), *self.lacking}):
            self.variable(name, frozenset())

    def queried(self, names: Names) -> None:
        """Collect what may be named in a query that some code hands to a function."""
        values = (self.namespace.get(name) for name in names.loads)
        texts = [words_of(value) for value in values if type(value) is str]
        self.words.update(self.namespace.keys() & names.words.union(*texts))
        if self.queries is None:
            return
        for name in sorted(filter(is_users_name, self.words)):
            self.variable(name, self.queries)

    def mentioned(self, names: Names) -> frozenset[str]:
        """The variables that a query may look up: its text is in the code, or in a variable."""
        if not names.queries:
            return frozenset()
        values = (self.namespace.get(name) for name in names.loads)
        texts = [words_of(value) for value in values if isinstance(value, str)]
        return frozenset(self.namespace.keys() & names.mentions.union(*texts))

    def modules(self, names: Iterable[str]) -> None:
        """Collect the user's own among some modules."""
        for name in names:
            self.contents(user_modules(name))

    def contents(self, modules: Iterable[str]) -> None:
        """Collect the code and the values of the user's modules."""
        for name in modules:
            if f"{MODULE}{name}" not in self.definitions:
                found = loaded(name)
                self.definitions[f"{MODULE}{name}"] = found.code
                self.variables.update(found.values)

    def examine(self, value: object) -> Examined:
        """The digest of a value and what is inside it, found once."""
        known = self.examined.get(id(value))
        if known is None:
            known = self.examined[id(value)] = self.digester.examine(value)
        return known

    def digest_of(self, name: str, examined: Examined) -> Digest:
        """The digest of a variable's value; one that nothing equals if not all of it was seen."""
        if self.digest_of_variable:
            return self.digest_of_variable(name)
        return _whole(examined)

    def note(self, name: str, digest: Digest) -> None:
        """Note the digest of a definition; of several with one name, that of all."""
        known = self.definitions.get(name)
        self.definitions[name] = digest if known is None else digest_of(*sorted([known, digest]))


def _is_made_by_library(definition: object) -> bool:
    """Whether nobody wrote it: it counts as a part of what it was reached through."""
    name = str(getattr(definition, "__qualname__", ""))
    module = str(getattr(definition, "__module__", ""))
    is_users = module == "__main__" or bool(user_modules(module)) or module not in sys.modules
    return "<locals>" in name and (name.startswith("__create_fn__") or not is_users)


def _whole(examined: Examined) -> Digest:
    return _nothing_equals() if examined.exhausted else examined.digest


def _nothing_equals() -> Digest:
    return digest_of(secrets.token_bytes(16))


def _name_of(value: object, namespace: Mapping[str, object]) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, MethodType | BuiltinFunctionType):
        return str(home_of_method(value))
    return str(home_of(value, namespace))
