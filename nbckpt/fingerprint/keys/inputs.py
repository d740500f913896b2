"""The variables and definitions that a cell depends on, collected from its names."""

from __future__ import annotations

import builtins
import secrets
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from nbckpt.digests import Digest, digest_of
from nbckpt.fingerprint.code import Names, reach_of_all
from nbckpt.fingerprint.code.bytecode import SHORT, words_of
from nbckpt.fingerprint.keys.gradients import holding_gradients, is_of_autograd
from nbckpt.fingerprint.keys.indirect_reads import IndirectReads
from nbckpt.fingerprint.keys.reach import names_of_definition
from nbckpt.fingerprint.keys.scope import is_tool, is_users_name
from nbckpt.fingerprint.values import Examined, ValueDigester, default_database
from nbckpt.fingerprint.values.definitions import forward_names, functions_of_class, texts_of
from nbckpt.fingerprint.values.homes import home_of_named, is_named, module_of
from nbckpt.fingerprint.values.lookups import magics_of, reaches_all, runs_queries, texts_in
from nbckpt.fingerprint.values.modules import loaded, looks_into_main
from nbckpt.fingerprint.values.sources import is_made_here, user_modules

ABSENT = digest_of("absent")
"""Stands for the value of a name that does not exist."""

BUDGET = 5_000_000
"""Objects in one input to look at one by one: some fifteen seconds, instead of a run."""

MODULE = "module "
"""Stands before the name of a module among definitions."""

TEXT = "text of "
"""Stands before the name of a definition whose source somebody asks for."""


class Inputs:
    """The variables and definitions that a cell depends on, collected from its names."""

    def __init__(
        self,
        namespace: Mapping[str, object],
        names: Names,
        digest_of_variable: Callable[[str], Digest] | None,
        lacking: Mapping[str, Digest] | None = None,
        *,
        kept: Container[str] | None = None,
        counts_caches: bool = False,
    ) -> None:
        self.namespace = namespace
        self.names = names
        self.kept = kept
        self.digest_of_variable = digest_of_variable
        self.lacking = lacking or {}
        self.digester = ValueDigester(namespace, BUDGET, counts_caches=counts_caches)
        self.variables: dict[str, Digest] = {}
        self.definitions: dict[str, Digest] = {}
        self.examined: dict[int, Examined] = {}
        self.noted: set[int] = set()
        self.seen: set[tuple[str | int, frozenset[str]]] = set()
        self.has_all = False
        self.is_untold = False  # whether more counts than the values of what is kept
        self.can_import = False
        self.queries: frozenset[str] | None = None  # what is bound whenever one is run
        self.words: set[str] = set()
        self._met: list[Names] = []  # the names of all code that was met
        self._n_worded = 0  # of so many of them the words are among `words`
        self.indirect = IndirectReads()
        self.code: dict[int, object] = {}  # the definitions that were met

    def of_cell(self) -> None:
        """Collect what the cell itself reads."""
        self.modules(self.names.imports)
        self.indirect.of_code(self.names)
        if self.names.everything:
            self.all_variables()
        forward = self.names.forward & self.namespace.keys()
        self.magics()
        for name in sorted(self.names.reads | self.mentioned(self.names) | forward):
            self.variable(name, self.names.before.get(name, frozenset()))
        self.queried(self.names)
        self.can_import = self.can_import or self.indirect.imports_by_name or self.has_all
        if self.indirect.imports_by_name:
            texts = self.indirect.texts.union(*map(self._short_texts_in, self._met))
            self.modules(sorted(filter(_is_dotted, texts)))
        if self.indirect.asks_for_source:
            self.sources()
        if self.indirect.of_gradients():
            self.gradients()
        if self.indirect.of_duckdb():
            self.variables[default_database.NAME] = default_database.digest_of_default()

    def variable(self, name: str, bound: frozenset[str]) -> None:
        """Collect a variable that code reads after the cell has bound the names `bound`."""
        if (name, bound) in self.seen:
            return
        self.seen.add((name, bound))
        if own := self.names.deferred.get(name):
            self.follow(own, bound)
        if name in bound or is_tool(name, self.namespace):
            return
        if name in self.lacking:
            self.is_untold = True
            self.variables[name] = self.lacking[name] or _nothing_equals()
        elif name in self.namespace:
            self.is_untold = self.is_untold or (self.kept is not None and name not in self.kept)
            self.value(name, self.namespace[name], bound)
        elif not hasattr(builtins, name):
            self.variables[name] = ABSENT

    def value(self, name: str, value: Any, bound: frozenset[str]) -> None:
        """Collect the value of a variable, and the user's code inside it."""
        if reaches_all(value, self.namespace):
            self.variables[name] = digest_of("reaches all")
            self.all_variables()
            return
        self.indirect.of_value(value)
        if runs_queries(value):
            self.queries = bound if self.queries is None else self.queries & bound
        if is_named(value, self.namespace):
            self.named(name, value)
            return
        is_definition = issubclass(type(value), FunctionType | type)
        if is_definition and value.__qualname__ == name and not _is_made_by_library(value):
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
        home = home_of_named(value, self.namespace)
        if is_of_autograd(home):
            self.indirect.attributes.add("autograd")
        self.modules([home.partition(":")[0]])
        self.variables[name] = digest_of("named ", home)

    def definition(self, value: object, bound: frozenset[str]) -> None:
        """Collect one of the user's functions or classes, and what it reaches."""
        if (id(value), bound) in self.seen:
            return
        self.seen.add((id(value), bound))
        if reaches_all(value, self.namespace):
            self.all_variables()
            return
        self.code[id(value)] = value
        self.follow(names_of_definition(value, self.namespace), bound)
        if not _is_made_by_library(value):  # else what it was reached through told all that it has
            examined = self.examine(value)
            if id(value) not in self.noted:
                self.noted.add(id(value))
                self.note(getattr(value, "__qualname__", "?"), _whole(examined))
            self.reached(examined, bound)
        for name in sorted(forward_names(value) & self.namespace.keys()):
            self.variable(name, bound)

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
        self.indirect.of_code(names)
        if names.queries:
            self.queries = bound if self.queries is None else self.queries & bound
        if reach_of_all(names, self.namespace):
            self.all_variables()
        for name in sorted(names.loads | self.mentioned(names)):
            self.variable(name, bound)
        self.queried(names)

    def magics(self) -> None:
        """Collect the user's own magics that the cell runs; the shell alone may hold them."""
        registry = magics_of(self.namespace) if self.names.magics else {}
        for label in sorted(self.names.magics):
            function = registry.get(label)
            own = getattr(function, "__func__", function)
            if function is None or is_named(own, self.namespace):
                continue
            examined = self.examine(function)
            self.note(label, _whole(examined))
            self.reached(examined, frozenset())

    def sources(self) -> None:
        """Collect the text of the user's code, comments included: somebody asks for it."""
        for definition in self.code.values():
            name = getattr(definition, "__qualname__", "?")
            self.note(f"{TEXT}{name}", digest_of(*texts_of(definition)))

    def all_variables(self) -> None:
        """Collect every variable of the user, but no results: who wants one names it."""
        if self.has_all:
            return
        self.has_all = True
        for name in sorted(filter(is_users_name, {*self.namespace, *self.lacking})):
            self.variable(name, frozenset())

    def gradients(self) -> None:
        """Collect what gradients are added to, for code that follows the graphs of torch."""
        own = self.names.binds - self.names.reads
        names = [n for n in self.namespace if is_users_name(n) and n not in own]
        for name in sorted(holding_gradients(names, self.namespace)):
            self.variable(name, frozenset())

    def queried(self, names: Names) -> None:
        """Collect what may be named in a query that some code hands to a function."""
        self._met.append(names)
        if self.queries is None:  # whoever never queries need not know: texts may be many
            return
        while self._n_worded < len(self._met):
            met = self._met[self._n_worded]
            self._n_worded += 1
            self.words.update(self.namespace.keys() & (met.words | self.words_in(met)))
        for name in sorted(filter(is_users_name, self.words)):
            self.variable(name, self.queries)

    def mentioned(self, names: Names) -> frozenset[str]:
        """The variables that a query may look up: its text is in the code, or in a variable."""
        if not names.queries:
            return frozenset()
        return frozenset(self.namespace.keys() & (names.mentions | self.words_in(names)))

    def words_in(self, names: Names) -> frozenset[str]:
        """The words inside strings that some code has in variables, also in lists and dicts."""
        return frozenset().union(*map(words_of, self._texts_in(names)))

    def _texts_in(self, names: Names) -> Iterator[str]:
        for name in names.loads & self.namespace.keys():
            yield from texts_in(self.namespace[name])

    def _short_texts_in(self, names: Names) -> set[str]:
        return {text for text in self._texts_in(names) if len(text) <= SHORT}

    def modules(self, names: Iterable[str]) -> None:
        """Collect the user's own among some modules."""
        for name in names:
            self.can_import = True
            self.contents([name] if is_made_here(name) else user_modules(name))

    def contents(self, modules: Iterable[str]) -> None:
        """Collect the code and the values of the user's modules."""
        for name in modules:
            if f"{MODULE}{name}" not in self.definitions:
                found = loaded(name)
                self.definitions[f"{MODULE}{name}"] = found.code
                self.variables.update(found.values)
                if looks_into_main(name):
                    self.all_variables()

    def examine(self, value: object) -> Examined:
        """The digest of a value and what is inside it, found once."""
        known = self.examined.get(id(value))
        if known is None:
            known = self.examined[id(value)] = self.digester.examine(value)
            self.is_untold = self.is_untold or known.exhausted or known.unknown
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
    """True if nobody wrote it: it counts as a part of what it was reached through.

    What wraps another function has that one's name and module, beside its own in its code.
    """
    names = [str(getattr(definition, "__qualname__", ""))]
    modules = [module_of(definition)]
    if isinstance(definition, FunctionType):
        names.append(definition.__code__.co_qualname)
        modules.append(str(definition.__globals__.get("__name__", "")))
    if not any("<locals>" in name for name in names):
        return False
    return names[0].startswith("__create_fn__") or not any(map(_is_users, modules))


def _is_users(module: str) -> bool:
    return module == "__main__" or bool(user_modules(module)) or module not in sys.modules


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.lstrip(".").split("."))


def _whole(examined: Examined) -> Digest:
    return _nothing_equals() if examined.exhausted else examined.digest


def _nothing_equals() -> Digest:
    return digest_of(secrets.token_bytes(16))
