"""Variables that running some code can change: capture has to look at their values."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import FunctionType, ModuleType

from nbckpt.fingerprint.code import Names, reach_of_all
from nbckpt.fingerprint.keys.gradients import leaves_of
from nbckpt.fingerprint.keys.memory import on_same_memory
from nbckpt.fingerprint.keys.reach import definitions_in, definitions_of_all, names_of_definition
from nbckpt.fingerprint.keys.scope import is_tool
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.user_names import RESULT, RESULT_TABLES, is_user_name
from nbckpt.fingerprint.values.definitions import holds_state
from nbckpt.fingerprint.values.homes import MODULE_OF_CLASS, is_user_file
from nbckpt.fingerprint.values.modules import looks_into_main
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.sources import user_modules


def touched(names: Names, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names whose values running some code can change; None if it can change any.

    These are the names that it loads or binds and, transitively, those that the user's functions
    and methods do which it can call. What shares objects with these is for the caller to add.
    """
    reached = None if names.everything else _reached(names, namespace)
    if reached is None:
        return None
    found, binds = reached
    found = found & namespace.keys() | binds
    found |= _held_by_results(found, namespace)
    leaves = leaves_of(found, namespace)
    if leaves is None:
        return None
    if leaves:
        found |= names_reached(leaves, filter(is_user_name, namespace), namespace)
    return frozenset(found | on_same_memory(found, namespace))


def _held_by_results(found: set[str], namespace: Mapping[str, object]) -> set[str]:
    """The variables that hold what a result holds, too: ``_`` is no variable that is kept."""
    results = [namespace[n] for n in found if RESULT.fullmatch(n) and n in namespace]
    for table in map(namespace.get, RESULT_TABLES & found):
        results += table.values() if type(table) is dict else ()
    shareable = [value for value in results if type(value) not in ATOMS]
    if not shareable:
        return set()
    return names_reached(shareable, filter(is_user_name, namespace), namespace)


def bound(names: Names, namespace: Mapping[str, object]) -> frozenset[str]:
    """The names that running some code can bind, itself or by the user's functions."""
    reached = None if names.everything else _reached(names, namespace)
    return frozenset(names.binds if reached is None else reached[1])


def _reached(names: Names, namespace: Mapping[str, object]) -> tuple[set[str], set[str]] | None:
    """The names that code can load, and those that it can bind; None if it can reach any."""
    found: set[str] = set()
    binds = set(names.binds)
    seen: set[int] = set()
    waiting = set(names.loads | names.binds | names.mentions)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if _is_of_module_into_main(namespace.get(name)):
            return None
        for code in _code_behind(name, names, namespace, seen, found):
            if reach_of_all(code, namespace):
                return None
            if code.everything and not code.loads:
                return None
            binds |= code.binds
            waiting |= code.loads | code.binds | code.mentions
    return found, binds


def _is_of_module_into_main(value: object) -> bool:
    """True if it is one of the user's modules that find the notebook's variables, or of one."""
    if not issubclass(type(value), ModuleType | FunctionType | type):
        return False
    return any(map(looks_into_main, _modules_of(value)))


def modules_behind(names: Iterable[str], namespace: Mapping[str, object]) -> frozenset[str]:
    """The user's modules beside the notebook that some variables are, or come from."""
    return frozenset().union(*(_modules_of(namespace.get(name)) for name in names))


def _modules_of(value: object) -> tuple[str, ...]:
    """The user's modules that a value is, or comes from, with those that these import."""
    kind = type(value)
    if issubclass(kind, ModuleType):
        name = getattr(value, "__name__", None)
    elif issubclass(kind, FunctionType | type):
        name = getattr(value, "__module__", None)
    else:
        name = MODULE_OF_CLASS(kind)
    if not isinstance(name, str) or name == "__main__":
        return ()
    file = getattr(sys.modules.get(name), "__file__", None)
    return user_modules(name) if isinstance(file, str) and _is_users(file) else ()


@lru_cache(maxsize=10_000)
def _is_users(file: str | None) -> bool:
    return is_user_file(file)


def _code_behind(
    name: str, names: Names, namespace: Mapping[str, object], seen: set[int], found: set[str]
) -> Iterator[Names]:
    """The names of all code that can be called through a variable.

    Classes that are met on the way and hold what can change are added to `found`.
    """
    yield names.deferred.get(name, Names())
    if name not in namespace or is_tool(name, namespace):
        return
    definitions = definitions_in(namespace[name], namespace)
    for definition in definitions_of_all(namespace) if definitions is None else definitions:
        if id(definition) not in seen:
            seen.add(id(definition))
            if isinstance(definition, type) and holds_state(definition):
                found.add(definition.__name__)
            yield names_of_definition(definition, namespace)
