"""Objects that are a variable of the notebook and of a module beside it: `from core import REG`.

A checkpoint holds what such an object held. Where that is brought back, the module is given the
object that the variable is bound to, so that both are one object again.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from nbckpt.capture.observation.changeable import are_held_elsewhere, changeable
from nbckpt.capture.observation.ownership import modules_beside
from nbckpt.capture.observation.user_modules import holder_of
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.plain import ATOMS, without_atoms
from nbckpt.fingerprint.values.raw_members import types_that
from nbckpt.runtime.addresses import ids_of
from nbckpt.runtime.user_code_errors import user_code_errors

_BY_NAME = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, logging.Logger)
_FIXED = (*ATOMS, tuple, frozenset, range)
_SHARED_ANYWAY = (*_BY_NAME, *_FIXED)


def places_of(namespace: Mapping[str, object], modules: Iterable[str]) -> dict[str, str]:
    """Variables that are an object of one of some modules → the place there: ``core.REG``."""
    values = without_atoms(namespace)  # which are shared anyway
    kinds = types_that(lambda kind: not issubclass(kind, _SHARED_ANYWAY), values.values())
    held = tuple(values.values())
    types = ids_of(tuple(map(type, held)))
    variables = [
        (name, which)
        for name, which, kind in zip(values, ids_of(held), types, strict=True)
        if kind in kinds and is_user_name(name)
    ]
    wanted = {which for _, which in variables}
    if not wanted:
        return {}
    places: dict[int, str] = {}
    for module, members in _members(modules).items():
        there = dict(members)
        for member, which in zip(there, ids_of(tuple(there.values())), strict=True):
            if which in wanted and _is_place(member):
                places.setdefault(which, f"{module}.{member}")
    return {name: places[which] for name, which in variables if which in places}


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
    modules: Callable[[], Collection[str]]
    wanted: dict[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    def now(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """Variables that are an object of a module → the place there; all of them, or of some."""
        modules, namespace = self.modules(), self.namespace
        if names is not None:
            namespace = {name: namespace[name] for name in names if name in namespace}
        return places_of(namespace, modules) if modules else {}

    def inside(self, modules: Iterable[str] | None) -> dict[int, object] | None:
        """Objects in some modules, in all of them for None, by their ids; None for too many."""
        tables = self._all_modules()
        wanted = tables.keys() if modules is None else tables.keys() & set(modules)
        roots = [
            value
            for name in sorted(wanted)
            for member, value in list(tables[name].items())
            if _is_place(member)
        ]
        return self._reached(roots, tables)

    def is_held_by_variables(self, place: str) -> bool:
        """True if variables hold an object that is inside of what a module has at a place.

        Not the variable that is what it has there: that comes back as one with the place.
        """
        home, _, member = place.rpartition(".")
        holder, attribute = holder_of(home, member)
        if holder is None:
            return False
        members, tables = vars(holder), self._all_modules()
        roots = [members.get(attribute)]  # no name holds it: references are counted
        inside = frozenset(self._reached(roots, tables) or ()) - {id(roots[0])}
        if not inside or not are_held_elsewhere(roots, [members.values()], self.namespace):
            return False
        others = [
            held
            for name, held in list(self.namespace.items())
            if is_user_name(name) and held is not roots[0] and type(held) not in ATOMS
        ]
        known = self._reached(others, tables)
        return known is None or not inside.isdisjoint(known)

    def places_holding(self, objects: Collection[int]) -> list[str]:
        """Members of modules that are, or hold, one of some objects, told by their ids."""
        tables = self._all_modules()
        found = []
        for name, members in tables.items():
            for member, value in list(members.items()):
                inside = self._reached([value], tables) if _is_place(member) else None
                if inside is not None and not inside.keys().isdisjoint(objects):
                    found.append(f"{name}.{member}")
        return found

    def are_held_inside(self, olds: list[object]) -> bool:
        """True if modules hold some objects, or what is in them, by more than names of their own.

        Where one is replaced, a default argument, say, would go on with the one from before.
        """
        modules = self._all_modules() if olds else {}
        if not modules:
            return False
        inside = self._reached(olds, modules)
        if inside is None:
            return True
        ours = {id(old) for old in olds}
        others = [
            value
            for members in modules.values()
            for member, value in list(members.items())
            if _is_place(member) and id(value) not in ours
        ]
        outside = self._reached(others, modules)
        return outside is None or not inside.keys().isdisjoint(outside)

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
        if not reasons and self.are_held_inside([_held(place) for place in replaced]):
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
            if self.are_held_inside([old]):
                unset.append(place)
            for members in self._all_modules().values():
                for member in [m for m, value in members.items() if value is old]:
                    members[member] = new
        return unset

    def _reached(
        self, roots: Iterable[object], modules: Mapping[str, dict[str, object]]
    ) -> dict[int, object] | None:
        return changeable(roots, self.namespace, modules.keys())

    def _all_modules(self) -> dict[str, dict[str, object]]:
        loaded = modules_beside()
        found = _members([*self.modules(), *loaded])
        return {n: members for n, members in found.items() if members is not self.namespace}


def _members(modules: Iterable[str]) -> dict[str, dict[str, object]]:
    known = {name: sys.modules.get(name) for name in sorted(set(modules) - {"__main__"})}
    return {n: vars(m) for n, m in known.items() if isinstance(m, ModuleType)}


def _is_place(member: object) -> bool:
    """True for a name that is not Python's own: the dict of a module may have any labels."""
    return type(member) is str and member[:2] != "__"


def _is_there(place: str) -> bool:
    """True if a module has a member, which is imported for that."""
    name, _, member = place.rpartition(".")
    try:
        return member in vars(importlib.import_module(name))
    except user_code_errors():  # whatever its own code raises
        return False


def _held(place: str) -> object:
    name, _, member = place.rpartition(".")
    return vars(sys.modules[name])[member]
