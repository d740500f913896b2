"""Parts of the loaded libraries that can be set from outside, and those set since the last look.

Followed are the modules, their classes, and their registries: dicts and lists in which a library
keeps the objects registered with it. The notebook's module and those beside it are not followed.
"""

from __future__ import annotations

import abc
import functools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from nbckpt.capture.observation.changes import ABSENT, UNKNOWN, Change, Kind
from nbckpt.capture.observation.followed_tables import (
    DULL,
    FollowedTables,
    Table,
    entries_of,
    owner_name,
)
from nbckpt.capture.observation.ownership import is_users
from nbckpt.capture.observation.registries import LISTS, found_at, shell_lists
from nbckpt.capture.observation.stores import Named
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.runtime.gc_pause import uncollected

_NEVER = frozenset(
    {"__abstractmethods__", "__annotations__", "__builtins__", "__cached__", "__doc__",
     "__loader__", "__slotnames__", "__spec__", "__warningregistry__", "_abc_impl", "last_exc",
     "last_traceback", "last_type", "last_value", "_", "__", "___"}
)  # fmt: skip
_OF_SHELL = {
    "builtins": frozenset({"get_ipython", "exit", "quit", "display", "_"}),
    "sys": frozenset({"displayhook"}),
}
"""Names that IPython puts into libraries while a cell runs, and takes away with its end."""

_DUMP: Any = vars(abc)["_get_dump"]
_NAMED = (FunctionType, BuiltinFunctionType, type, ModuleType)


@dataclass
class Libraries(Own):
    """All that is followed of the libraries of this process.

    Attributes
    ----------
    namespace
        The notebook's.
    """

    namespace: Mapping[str, object]
    _lists: dict[str, tuple[list[Any], list[Any]]] = field(default_factory=dict)
    _flips: dict[tuple[str, Any], list[object]] = field(default_factory=dict)
    _abc_token: int = -1
    _registered: dict[tuple[str, str], type] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._followed = FollowedTables(self.namespace)

    @property
    def user_modules(self) -> set[str]:
        """Names of modules beside the notebook, as of the last look."""
        return self._followed.user_modules

    def look(self) -> tuple[list[Change], list[str]]:
        """Changes since the last look, and owners that are followed from now on."""
        is_first = self._abc_token < 0
        with uncollected() if is_first else nullcontext():  # many small objects, no waste
            if is_first:
                self._followed.begin()
            first = len(self._followed.tables)
            numbers = self._followed.versions.changed()
            changes = [c for n in numbers for c in self._changes_of(n)]
        if len(self._followed.tables) > first:
            self._followed.versions.changed()  # from now on
        if is_first:
            self._followed.hand_over()
        if is_first or len(self._followed.tables) > first:
            self._find_lists()
        changes += [*self._list_changes(), *self._registrations()]
        if is_first:
            return [], []
        return changes, [table.owner for table in self._followed.tables[first:]]

    def is_own(self, change: Change, *, own: bool) -> None:
        """Tell no more of a library that sets a place to this object, or tell of it again."""
        place = (change.owner, change.key)
        if not own:
            self._flips.pop(place, None)
        elif change.kind not in ("list", "abc"):
            self._flips[place] = [*self._flips.get(place, [])[-3:], change.new]

    def table(self, kind: str, owner: str) -> dict[Any, Any] | None:
        """The entries of a module, class or registry that is followed."""
        found = self._followed.get(kind, owner)
        return None if found is None else found.table

    def list_at(self, owner: str) -> list[Any]:
        """A list that is followed."""
        return self._lists[owner][0]

    def owner_of(self, holder: object) -> tuple[Kind, str] | None:
        """Kind and name by which a module or class is followed; None if it is not."""
        kind: Kind = "class" if issubclass(type(holder), type) else "module"
        found = self._followed.get(kind, owner_name(holder))
        return None if found is None else (kind, found.owner)

    def entry(self, kind: Kind, owner: str, name: str) -> Change:
        """Content of a place that is followed, as a change from an unknown one."""
        table = self._followed.get(kind, owner)
        if table is None:
            raise KeyError(owner)
        return self._change(table, name, UNKNOWN, dict.get(table.table, name, ABSENT))

    def users_entries(self, owners: Container[str]) -> Iterator[Change]:
        """Objects of the user's that some owners hold, as changes from unknown ones."""
        for table in self._followed.tables:
            if table.owner in owners:
                for key, value in entries_of(table.table).items():
                    if _may_be_users(value, self.namespace) and is_users(value, self.namespace):
                        yield self._change(table, key, UNKNOWN, value)

    def set_entries(self, owners: Container[str], stored: Sequence[Named]) -> Iterator[Change]:
        """Members of some owners that code has set by name, as changes from unknown ones.

        Parameters
        ----------
        stored
            The names that each code sets; it names the owner, too.
        """
        for table in self._followed.tables:
            if table.owner not in owners or not isinstance(table.holder, ModuleType | type):
                continue
            called = re.split("[.:]", table.owner)[-1]
            naming = [code for code in stored if called in code.words]
            sets = frozenset().union(*(code.sets for code in naming))
            for name in sorted((sets & table.table.keys()) - _NEVER):
                value = table.table[name]
                if not _is_called(value, name) or is_users(value, self.namespace):
                    yield self._change(table, name, UNKNOWN, value)
            deletes = frozenset().union(*(code.deletes for code in naming))
            for name in sorted(deletes - table.table.keys()):
                yield self._change(table, name, UNKNOWN, ABSENT)

    @property
    def tells_rebinding(self) -> bool:
        """True if a look sees that a name was bound again."""
        return self._followed.versions.tells_rebinding

    def named(self, name: str) -> Iterator[Change]:
        """Places of a name whose value may have changed unseen, where only lengths are read."""
        if self._followed.versions.tells_rebinding:
            return
        for table, before in zip(self._followed.tables, self._followed.before, strict=True):
            old, new = before.get(name, ABSENT), dict.get(table.table, name, ABSENT)
            if old is not new:
                before[name] = new
                yield self._change(table, name, old, new)

    # -- what changed -----------------------------------------------------------------------

    def _changes_of(self, number: int) -> Iterator[Change]:
        table, before = self._followed.tables[number], self._followed.before[number]
        self._followed.before[number] = now = entries_of(table.table)
        different = _different(before, now)
        for key in different:
            new = now.get(key, ABSENT)
            if table.owner == "sys.modules":
                self._followed.meet_module(key, new)
            elif table.kind != "registry" and new is not ABSENT:
                self._followed.meet_member(table.owner.partition(":")[0], table, key, new)
            if any(new is value for value in self._flips.get((table.owner, key), ())):
                continue
            if key in _OF_SHELL.get(table.owner, ()):
                continue
            if type(key) is not str or table.kind == "registry" or key not in _NEVER:
                yield self._change(table, key, before.get(key, ABSENT), new)

    def _change(self, table: Table, key: Any, old: object, new: object) -> Change:
        name = key if type(key) is str else _name_of(key)
        return Change(
            table.kind, table.owner, name, key, old, new, functools.partial(table.put, key)
        )

    def _find_lists(self) -> None:
        found = {owner: found_at(owner) for owner in LISTS} | shell_lists(self.namespace)
        for owner, items in found.items():
            known = self._lists.get(owner)
            if isinstance(items, list) and (known is None or known[0] is not items):
                self._lists[owner] = (items, list(items) if known is None else known[1])

    def _list_changes(self) -> Iterator[Change]:
        for owner, (items, before) in self._lists.items():
            if len(items) == len(before) and all(map(is_, items, before)):
                continue
            self._lists[owner] = (items, list(items))
            for item in _missing_from(items, before):
                put = functools.partial(_put_in_list, items, item)
                yield Change("list", owner, _name_of(item), item, ABSENT, item, put)
            for item in _missing_from(before, items):
                put = functools.partial(_put_in_list, items, item)
                yield Change("list", owner, _name_of(item), item, item, ABSENT, put)

    def _registrations(self) -> Iterator[Change]:
        """The user's classes that were registered with abstract base classes."""
        token: Any = abc.get_cache_token()
        if token == self._abc_token:
            return
        self._abc_token = token
        classes = [
            t.holder for t in self._followed.tables if t.kind == "class" and "_abc_impl" in t.table
        ]
        classes += [v for v in list(self.namespace.values()) if _is_abstract(v)]
        for base in classes:
            for refer in _DUMP(base)[0]:
                cls = refer()
                place = (owner_name(base), _name_of(cls))
                if cls is None or self._registered.get(place) is cls:
                    continue
                if is_users(cls, self.namespace) or is_users(base, self.namespace):
                    self._registered[place] = cls
                    yield Change("abc", *place, cls, ABSENT, cls, None)


def _different(before: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    """Keys that have other objects than before, came, or went."""
    held = zip(before, before.values(), map(now.get, before, repeat(ABSENT)), strict=True)
    found = [key for key, old, new in held if old is not new]
    if len(now) != len(before) or found:
        found += [key for key in now if key not in before]
    return found


def _is_abstract(value: object) -> bool:
    return isinstance(type(value), type) and issubclass(type(value), abc.ABCMeta)


def _name_of(value: Any) -> str:
    """Name of a key, or of an element of a list, that is the same in every process."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__qualname__}"


def _is_called(value: object, name: str) -> bool:
    """True if it is a function, class or module of that name: most of a library's own members."""
    own = getattr(value, "__name__", "") if issubclass(type(value), _NAMED) else ""
    return str(own).rpartition(".")[-1] == name


def _missing_from(items: list[Any], others: list[Any]) -> list[Any]:
    known = set(map(id, others))
    return [item for item in items if id(item) not in known]


def _put_in_list(items: list[Any], item: object, value: object) -> None:
    items[:] = [each for each in items if each is not item]
    if value is not ABSENT:
        items.append(value)


def _may_be_users(value: Any, namespace: Mapping[str, object]) -> bool:
    """A quick answer, for many: code of the notebook, or what gives access to it in a class."""
    kind = type(value)
    if kind is FunctionType:
        return bool(value.__globals__ is namespace)
    if issubclass(kind, type):
        return module_of_class(value) == "__main__"
    if kind is property:
        return type(value.fget) is FunctionType and bool(value.fget.__globals__ is namespace)
    if kind in DULL:
        return kind is staticmethod or kind is classmethod
    return hasattr(kind, "__get__")
