"""Variables of which a module beside the notebook holds something: its code changes them unnamed.

``helpers.register(rows)`` leaves `rows` in a list of the module, and ``helpers.refresh()`` changes
it later without naming it. So what a cell names beside such a module is looked for in it once, and
counts from then on as touched by each cell that reaches the module.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from types import FunctionType, ModuleType

from nbckpt.fingerprint.referents import held_by
from nbckpt.fingerprint.user_names import Own, is_user_name
from nbckpt.fingerprint.values.homes import DICT_OF_CLASS, MODULE_OF_CLASS
from nbckpt.fingerprint.values.plain import ATOMS


class LentVariables(Own):
    """The variables of one namespace that modules beside the notebook hold."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._names: set[str] = set()

    def touched_by(self, modules: Collection[str], named: Collection[str]) -> set[str]:
        """The variables that code which ran in some modules can have changed.

        Parameters
        ----------
        named
            Variables that the code named: they may have been lent just now.
        """
        self._names = {n for n in self._names if type(self._namespace.get(n, 0)) not in ATOMS}
        new = {n for n in named if n not in self._names and self._can_be_lent(n)}
        held = held_by(_contents(modules), self._namespace) if new else {}
        self._names |= {n for n in new if self._is_in(held, n)}
        return set(self._names)

    def _can_be_lent(self, name: str) -> bool:
        if name not in self._namespace or not is_user_name(name):
            return False
        kind = type(self._namespace[name])
        return kind not in ATOMS and not issubclass(kind, ModuleType | FunctionType | type)

    def _is_in(self, held: Mapping[int, object] | None, name: str) -> bool:
        value = self._namespace[name]
        if held is None or id(value) in held:
            return True
        if not held:
            return False
        own = held_by([value], self._namespace)
        return own is None or not held.keys().isdisjoint(own)


def _contents(modules: Collection[str]) -> list[object]:
    """Members of modules and of their own classes, but for atoms."""
    found: list[object] = []
    for name in modules:
        members = list(getattr(sys.modules.get(name), "__dict__", {}).items())
        for label, value in members:
            if _is_special(label):
                continue
            if issubclass(type(value), type):
                if MODULE_OF_CLASS(value) == name:
                    own = list(DICT_OF_CLASS(value).items())
                    found += [v for n, v in own if not _is_special(n)]
            elif type(value) not in ATOMS:
                found.append(value)
    return found


def _is_special(label: object) -> bool:
    """Whether a member is Python's own; a label may be anything that is hashable."""
    return type(label) is str and label.startswith("__") and label.endswith("__")
