"""The variables and definitions that a cell depends on, collected from its names."""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from nbckpt.analysis import Names, reach_of_all
from nbckpt.digests import Digest, digest_of
from nbckpt.keys.reach import names_of_definition
from nbckpt.keys.scope import is_tool, is_users_name
from nbckpt.values import Examined, ValueDigester
from nbckpt.values.definitions import functions_of_class
from nbckpt.values.homes import home_of, home_of_method, is_named
from nbckpt.values.sources import user_modules

ABSENT = digest_of("absent")
"""Stands for the value of a name that does not exist."""

BUDGET = 5_000_000
"""Objects in one input to look at one by one: some ten seconds, in place of running the cell."""


class Inputs:
    """The variables and definitions that a cell depends on, collected from its names."""

    def __init__(
        self,
        namespace: Mapping[str, object],
        names: Names,
        digest_of_variable: Callable[[str], Digest] | None,
    ) -> None:
        self.namespace = namespace
        self.names = names
        self.digest_of_variable = digest_of_variable
        self.digester = ValueDigester(namespace, BUDGET)
        self.variables: dict[str, Digest] = {}
        self.definitions: dict[str, Digest] = {}
        self.examined: dict[int, Examined] = {}
        self.seen: set[tuple[str | int, frozenset[str]]] = set()
        self.has_all = False

    def of_cell(self) -> None:
        """Collect what the cell itself reads."""
        self.modules(self.names.imports)
        if self.names.everything:
            self.all_variables()
        for name in sorted(self.names.reads | self.mentioned(self.names)):
            self.variable(name, self.names.before.get(name, frozenset()))

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
        elif not hasattr(builtins, name):
            self.variables[name] = ABSENT

    def value(self, name: str, value: object, bound: frozenset[str]) -> None:
        """Collect the value of a variable, and the user's code inside it."""
        if is_named(value, self.namespace):
            self.modules([_module_of(value, self.namespace)])
            self.variables[name] = digest_of("named ", _name_of(value, self.namespace))
            return
        if isinstance(value, FunctionType | type) and value.__qualname__ == name:
            self.definition(value, bound)
            return
        examined = self.examine(value)
        self.variables[name] = self.digest_of(name, examined)
        self.reached(examined, bound)

    def definition(self, value: object, bound: frozenset[str]) -> None:
        """Collect one of the user's functions or classes, and what it reaches."""
        if (id(value), bound) in self.seen:
            return
        self.seen.add((id(value), bound))
        is_news = id(value) not in self.examined
        examined = self.examine(value)
        if is_news:
            self.note(getattr(value, "__qualname__", "?"), examined.digest)
        self.follow(names_of_definition(value, self.namespace), bound)
        self.reached(examined, bound)

    def reached(self, examined: Examined, bound: frozenset[str]) -> None:
        """Collect the code that was met inside a value; a class stands for its methods."""
        self.definitions.update(examined.modules)
        classes = [d for d in examined.reached if isinstance(d, type)]
        methods = {id(f) for cls in classes for f in functions_of_class(cls)}
        for definition in examined.reached:
            if id(definition) not in methods:
                self.definition(definition, bound)

    def follow(self, names: Names, bound: frozenset[str]) -> None:
        """Collect the globals that a function reads."""
        self.modules(names.imports)
        if reach_of_all(names, self.namespace):
            self.all_variables()
        for name in sorted(names.loads | self.mentioned(names)):
            self.variable(name, bound)

    def all_variables(self) -> None:
        """Collect every variable of the user."""
        if self.has_all:
            return
        self.has_all = True
        for name in sorted(filter(is_users_name, self.namespace)):
            self.variable(name, frozenset())

    def mentioned(self, names: Names) -> frozenset[str]:
        """The variables that a query in the code may look up by name."""
        return frozenset(names.mentions & self.namespace.keys())

    def modules(self, names: Iterable[str]) -> None:
        """Collect the user's own among some modules."""
        for name in names:
            self.definitions.update(user_modules(name))

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
        if examined.exhausted:
            return digest_of(secrets.token_bytes(16))
        return examined.digest

    def note(self, name: str, digest: Digest) -> None:
        """Note the digest of a definition; of several with one name, that of all."""
        known = self.definitions.get(name)
        self.definitions[name] = digest if known is None else digest_of(*sorted([known, digest]))


def _name_of(value: object, namespace: Mapping[str, object]) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, MethodType | BuiltinFunctionType):
        return str(home_of_method(value))
    return str(home_of(value, namespace))


def _module_of(value: object, namespace: Mapping[str, object]) -> str:
    return _name_of(value, namespace).partition(":")[0]
