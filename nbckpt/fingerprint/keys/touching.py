"""Variables that running some code can change: capture has to look at their values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from types import FunctionType
from typing import NamedTuple

from nbckpt.fingerprint.code import Names, reach_of_all
from nbckpt.fingerprint.keys.gradients import leaves_of
from nbckpt.fingerprint.keys.indirect_reads import IMPORTERS
from nbckpt.fingerprint.keys.memory import on_same_memory
from nbckpt.fingerprint.keys.reach import definitions_in, definitions_of_all, names_of_definition
from nbckpt.fingerprint.keys.scope import is_tool
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.user_names import RESULT, RESULT_TABLES, is_user_name
from nbckpt.fingerprint.values.definitions import holds_state
from nbckpt.fingerprint.values.homes import is_users_module, module_of
from nbckpt.fingerprint.values.lookups import imports_by_name
from nbckpt.fingerprint.values.modules import looks_into_main
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.sources import user_modules


class Reach(NamedTuple):
    """What running some code can change.

    Attributes
    ----------
    names
        Of the variables; None if it can change any.
    is_into_modules
        Whether code of modules beside the notebook can run: they change what they hold.
    """

    names: frozenset[str] | None
    is_into_modules: bool = False


def reach_of(
    names: Names, namespace: Mapping[str, object], values: Collection[object] = ()
) -> Reach:
    """The names whose values running some code can change, and whether it reaches modules.

    These are the names that it loads or binds and, transitively, those that the user's functions
    and methods do which it can call. What shares objects with these is for the caller to add.
    Modules beside a notebook import each other, and call what they were given: code that reaches
    one of them can reach all.

    Parameters
    ----------
    values
        What the code is given beside its names: it can call that, and change what that holds.
    """
    walk = None if names.everything else _Walk(names, namespace)
    if walk is None or not walk.walk(values):
        return Reach(None, is_into_modules=True)
    found = walk.found & namespace.keys() | walk.binds
    if holders := [v for v in values if type(v) is not FunctionType or holds_state(v)]:
        found |= names_reached(holders, filter(is_user_name, namespace), namespace)
    return Reach(sharing(found, namespace), walk.is_into_modules)


def touched(names: Names, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names whose values running some code can change, without modules: see `reach_of`."""
    return reach_of(names, namespace).names


def sharing(names: Iterable[str], namespace: Mapping[str, object]) -> frozenset[str] | None:
    """Some variables, and others that change with them but are bound apart; None if any may."""
    found = set(names)
    found |= _held_by_results(found, namespace)
    leaves = leaves_of(found, namespace)
    if leaves is None:
        return None
    if leaves:
        found |= names_reached(leaves, filter(is_user_name, namespace), namespace)
    return frozenset(found | on_same_memory(found, namespace))


def _held_by_results(found: set[str], namespace: Mapping[str, object]) -> set[str]:
    """The variables that hold what a result holds, too: ``_`` is no variable that is kept.

    The shell adds results to its table, whatever this is called, without any code that names it.
    """
    tables = {id(namespace[name]) for name in RESULT_TABLES if name in namespace}
    results = [
        namespace[name]
        for name in found & namespace.keys()
        if id(namespace[name]) in tables or (type(name) is str and RESULT.fullmatch(name))
    ]
    shareable = [value for value in results if type(value) not in ATOMS]
    if not shareable:
        return set()
    return names_reached(shareable, filter(is_user_name, namespace), namespace)


def bound(names: Names, namespace: Mapping[str, object]) -> frozenset[str]:
    """The names that running some code can bind, itself or by the user's functions."""
    walk = None if names.everything else _Walk(names, namespace)
    return frozenset(walk.binds if walk is not None and walk.walk() else names.binds)


class _Walk:
    """Through the names that code can load or bind, and all code that it can call by them.

    Attributes
    ----------
    found
        Names that it can load.
    binds
        Names that it can bind.
    is_into_modules
        Whether it can call code of modules beside the notebook.
    """

    def __init__(self, names: Names, namespace: Mapping[str, object]) -> None:
        self.found: set[str] = set()
        self.binds = set(names.binds)
        self.is_into_modules = False
        self._names = names
        self._namespace = namespace
        self._seen: dict[int, object] = {}
        self._homes: set[str] = set()
        self._waiting: set[str] = set()
        self._reaches_all = False
        self._met = partial(_note_home, self._homes)

    def walk(self, values: Iterable[object] = ()) -> bool:
        """Follow all of it, and what can be called by `values`; False if it can reach anything."""
        self._look_for_imports(self._names)
        self._waiting = set(self._names.loads | self._names.binds | self._names.mentions)
        codes: Iterator[Names] = chain.from_iterable(map(self._code_in, values))
        while all(map(self._follow, codes)) and self._waiting:
            name = self._waiting.pop()
            codes = iter(()) if name in self.found else self._code_behind(name)
            self.found.add(name)
        if self._reaches_all:
            return False
        beside = [home for home in self._homes if home != "__main__" and is_users_module(home)]
        self.is_into_modules = self.is_into_modules or bool(beside)
        return not any(map(looks_into_main, {m for home in beside for m in user_modules(home)}))

    def _follow(self, code: Names) -> bool:
        """Have the names of some code be followed; False if it can reach any variable."""
        is_any = bool(reach_of_all(code, self._namespace))
        if is_any or (code.everything and not code.loads):
            self._reaches_all = True
            return False
        self._look_for_imports(code)
        self.binds |= code.binds
        self._waiting |= code.loads | code.binds | code.mentions
        return True

    def _look_for_imports(self, code: Names) -> None:
        """Note the modules that code imports, by statements or by their names."""
        self._homes |= code.imports
        asked = code.attributes | code.loads | code.imports
        if not asked.isdisjoint(IMPORTERS) or "modules" in code.attributes:
            self.is_into_modules = True  # which ones is told by what may be computed

    def _code_behind(self, name: str) -> Iterator[Names]:
        """The names of all code that can be called through a variable."""
        yield self._names.deferred.get(name, Names())
        if name in self._namespace and not is_tool(name, self._namespace):
            yield from self._code_in(self._namespace[name])

    def _code_in(self, value: object) -> Iterator[Names]:
        """The names of all code that can be called through a value.

        Classes that are met on the way and hold what can change are added to what is found.
        """
        namespace = self._namespace
        definitions = definitions_in(value, namespace, met=self._met)
        if definitions is None or imports_by_name(value):
            self.is_into_modules = True
        for definition in definitions_of_all(namespace) if definitions is None else definitions:
            if id(definition) not in self._seen:
                self._seen[id(definition)] = definition
                if isinstance(definition, type) and holds_state(definition):
                    self.found.add(definition.__name__)
                yield names_of_definition(definition, namespace)


def _note_home(homes: set[str], value: object) -> None:
    homes.add(module_of(value))
