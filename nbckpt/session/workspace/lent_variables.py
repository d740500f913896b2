"""Variables of which a module beside the notebook holds something: its code changes them unnamed.

``helpers.register(rows)`` leaves `rows` in a list of the module, and ``helpers.refresh()`` changes
it later without naming it. So what code has touched is looked for in the modules when code reaches
them, and what they hold counts from then on as touched by each cell that does. The same holds for
functions of the notebook that they were given: they may call them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING

from nbckpt.capture.observation.ownership import modules_beside
from nbckpt.fingerprint.code.bytecode import NOTHING, names_of_code, union
from nbckpt.fingerprint.referents import held_by
from nbckpt.fingerprint.user_names import Own, is_user_name
from nbckpt.fingerprint.values.homes import is_users_module, module_of_class, space_of_module
from nbckpt.fingerprint.values.plain import ATOMS

if TYPE_CHECKING:
    from nbckpt.capture.change_tracking.change_tracker import ChangeTracker

MOST_IN_MODULES = 100_000
"""Objects that are looked at in modules; in more, all variables may be held."""

MOST = 100_000
"""Objects that are looked at in variables after one cell; those that are left may be held."""

_CODE = (
    type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, staticmethod, classmethod,
    property, GetSetDescriptorType, MemberDescriptorType,
)  # fmt: skip
"""What two values may both have without that one changes the other: code, found inside of it."""


class LentVariables(Own):
    """The variables of one namespace that modules beside the notebook hold.

    Attributes
    ----------
    called
        What the notebook's functions name that these modules hold.
    """

    def __init__(self, tracker: ChangeTracker) -> None:
        self.called = NOTHING
        self._tracker = tracker
        self._namespace = tracker.namespace
        self._names: set[str] = set()

    def look(self, named: Iterable[str]) -> set[str]:
        """The variables that modules beside the notebook hold something of.

        Parameters
        ----------
        named
            What code touches just now: it is looked for in the modules, and so is what was touched
            since the last look.
        """
        touched = self._tracker.take_touched()
        names = {n for n in self._names if type(self._namespace.get(n)) not in ATOMS}
        # A name may have gone since: what it shared with others is asked for by these.
        asked = None if touched is None else touched.union(named)
        waiting = self._new(self._tracker.may_hold_parts_of(asked) - names)
        held = self._held_by_modules() if waiting else {}
        room = MOST
        for name in waiting:
            own = self._held_by_variable(name, room)
            room -= len(own or ())
            if held is None or own is None or not held.keys().isdisjoint(own):
                names.add(name)
        self._names = names
        return set(names)

    def _new(self, names: Iterable[str]) -> list[str]:
        """Those of some names that may be lent."""
        present = [n for n in names if n in self._namespace and is_user_name(n)]
        kinds = {n: type(self._namespace[n]) for n in present}
        return [n for n, k in kinds.items() if k not in ATOMS and not issubclass(k, ModuleType)]

    def _held_by_variable(self, name: str, most: int) -> dict[int, object] | None:
        value = self._namespace[name]
        if not issubclass(type(value), FunctionType | type):
            return held_by([value], self._namespace, most)
        found = held_by([value], self._namespace, most, lambda cls: cls is value)
        if found is not None:
            found[id(value)] = value  # code that is kept under this name
        return found

    def _held_by_modules(self) -> dict[int, object] | None:
        """Objects that can change in modules; None if these hold more than can be looked at."""
        classes: dict[int, object] = {}

        def enters(cls: type) -> bool:
            is_users = is_users_module(module_of_class(cls))
            if is_users:
                classes[id(cls)] = cls
            return is_users

        found = held_by(_contents(modules_beside()), self._namespace, MOST_IN_MODULES, enters)
        functions = gc.get_objects() if found is None else found.values()
        own = {id(f): f for f in functions if type(f) is FunctionType and self._is_own(f)}
        self.called = union(names_of_code(f.__code__) for f in own.values())
        if found is None:
            return None
        classes = {i: cls for i, cls in classes.items() if module_of_class(cls) == "__main__"}  # type: ignore[arg-type]
        kinds = set(map(type, found.values()))
        kinds = {kind for kind in kinds if not issubclass(kind, _CODE)}
        return {i: v for i, v in found.items() if type(v) in kinds} | own | classes

    def _is_own(self, function: FunctionType) -> bool:
        return function.__globals__ is self._namespace


def _contents(modules: Iterable[str]) -> Iterator[object]:
    """Members of modules, under whatever labels, but for Python's own."""
    for name in modules:
        module = sys.modules.get(name)
        if not issubclass(type(module), ModuleType):
            yield module  # which somebody put in its place
            continue
        for label, value in list(space_of_module(name).items()):
            is_special = type(label) is str and label[:2] == "__" == label[-2:]
            if not is_special and type(value) not in ATOMS:
                yield value
        if type(module) is not ModuleType:
            yield type(module)  # a class that holds something in place of the module
