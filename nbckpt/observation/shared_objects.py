"""Objects that are a variable of the notebook and of a module beside it: `from core import REG`.

A checkpoint holds what such an object held. Where that is brought back, the module is given the
object that the variable is bound to, so that both are one object again.
"""

from __future__ import annotations

import gc
import importlib
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.names import is_user_name
from nbckpt.observation.ownership import is_users_module
from nbckpt.values.plain import ATOMS

MOST_OBJECTS = 1_000_000
"""In what modules hold that are looked at for other holders of an object; in more there may be."""

_BY_NAME = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, logging.Logger)
_FIXED = (*ATOMS, tuple, frozenset, range)
_SHARED_ANYWAY = (*_BY_NAME, *_FIXED)


def places_of(namespace: Mapping[str, object], modules: Iterable[str]) -> dict[str, str]:
    """Variables that are an object of one of some modules → the place there: ``core.REG``."""
    places: dict[int, str] = {}
    for module, members in _members(modules).items():
        for member, value in list(members.items()):
            if member[:2] != "__" and not issubclass(type(value), _SHARED_ANYWAY):
                places.setdefault(id(value), f"{module}.{member}")
    if not places:
        return {}
    found = ((n, places.get(id(v))) for n, v in list(namespace.items()) if is_user_name(n))
    return {name: place for name, place in found if place is not None}


@dataclass
class SharedObjects:
    """Makes variables and places in modules one object again.

    Attributes
    ----------
    namespace
        The live variables.
    modules
        The names of the modules beside the notebook that are loaded.
    wanted
        Name → place, as it was at the moment that is being brought back.
    changed
        Of `wanted`, what the step that is being brought back changed.
    """

    namespace: Mapping[str, object]
    modules: Callable[[], Iterable[str]]
    wanted: dict[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    def now(self) -> dict[str, str]:
        """Variables that are an object of a module → the place there."""
        return places_of(self.namespace, self.modules())

    def why_not(self, bound: set[str], made: set[str]) -> list[str]:
        """Reasons why some variables cannot be brought back as objects of their modules.

        Parameters
        ----------
        bound
            The names that are brought back.
        made
            Those of them that get another object.
        """
        lost = sorted(self.changed - bound)
        reasons = [f"it changes {self.wanted[name]!r}, which is not kept" for name in lost]
        replaced = []
        for name, place in self.wanted.items():
            if name in bound and not _is_there(place):
                reasons.append(f"{place!r}, which {name!r} is, is not there")
            elif name in bound and (name in made or self.namespace.get(name) is not _held(place)):
                replaced.append(place)
        if not reasons and self._is_held_elsewhere([_held(place) for place in replaced]):
            told = min(replaced)
            reasons.append(f"a module beside the notebook may hold what {told!r} is elsewhere, too")
        return reasons

    def unite(self, names: set[str]) -> list[str]:
        """Give modules the objects that some variables were bound to; the places that lack them."""
        wanted, self.wanted, self.changed = self.wanted, {}, frozenset()
        unset = []
        for name, place in wanted.items():
            if name not in names or name not in self.namespace:
                continue
            if not _is_there(place):
                unset.append(place)
                continue
            old, new = _held(place), self.namespace[name]
            if old is new:
                continue
            if self._is_held_elsewhere([old]):
                unset.append(place)
            for members in self._all_modules().values():
                for member in [m for m, value in members.items() if value is old]:
                    members[member] = new
        return unset

    def _is_held_elsewhere(self, olds: list[object]) -> bool:
        """Whether modules hold some of their objects, or what is in them, by more than their names.

        Where one is replaced, a default argument, say, would go on with the one from before.
        """
        if not olds:
            return False
        modules = self._all_modules()
        tables = {id(self.namespace), *(id(members) for members in modules.values())}
        inside = _reached(olds, tables, set(modules))
        if inside is None:
            return True
        ours = {id(old) for old in olds}
        others = [
            value
            for members in modules.values()
            for member, value in list(members.items())
            if member[:2] != "__" and id(value) not in ours
        ]
        outside = _reached(others, tables, set(modules))
        return outside is None or any(
            not issubclass(type(value), _SHARED_ANYWAY)
            for found, value in inside.items()
            if found in outside
        )

    def _all_modules(self) -> dict[str, dict[str, object]]:
        loaded = [name for name in list(sys.modules) if is_users_module(name)]
        found = _members([*self.modules(), *loaded])
        return {n: members for n, members in found.items() if members is not self.namespace}


def _members(modules: Iterable[str]) -> dict[str, dict[str, object]]:
    known = {name: sys.modules.get(name) for name in sorted(set(modules) - {"__main__"})}
    return {n: vars(m) for n, m in known.items() if isinstance(m, ModuleType)}


def _is_there(place: str) -> bool:
    """Whether a module has a member, which is imported for that."""
    name, _, member = place.rpartition(".")
    try:
        return member in vars(importlib.import_module(name))
    except Exception:  # whatever its own code raises
        return False


def _held(place: str) -> object:
    name, _, member = place.rpartition(".")
    return vars(sys.modules[name])[member]


def _reached(
    roots: Iterable[object], tables: set[int], modules: set[str]
) -> dict[int, object] | None:
    """What is held, but by libraries' own code and by modules as such; None if it is too much."""
    found: dict[int, object] = {}
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in ATOMS or id(value) in found or id(value) in tables:
            continue
        found[id(value)] = value
        if len(found) > MOST_OBJECTS:
            return None
        if issubclass(kind, ModuleType | logging.Logger | BuiltinFunctionType):
            continue
        if issubclass(kind, FunctionType):
            waiting += _parts_of_function(value)  # type: ignore[arg-type]
        elif not issubclass(kind, type):
            waiting += [part for part in gc.get_referents(value) if part is not kind]
            waiting += _memory_of(value)
        elif getattr(value, "__module__", None) in modules:
            waiting += vars(value).values()
    return found


def _parts_of_function(function: FunctionType) -> list[object]:
    """What a function holds; not the variables that it looks up by their names."""
    defaults = (function.__defaults__, function.__kwdefaults__)
    return [*defaults, function.__dict__, *(function.__closure__ or ())]


def _memory_of(value: Any) -> list[object]:
    """What has the memory that a view lies on, which the collector does not tell."""
    library = type(value).__module__.partition(".")[0]
    if library == "numpy":
        return [getattr(value, "base", None)]
    if library == "torch" and hasattr(value, "untyped_storage"):
        return [value.untyped_storage()]
    return [value.obj] if type(value) is memoryview else []
