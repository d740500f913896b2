"""Parts of the loaded libraries that can be set from outside, and those set since the last look.

Followed are the modules, their classes, and their registries: dicts and lists in which a library
keeps the objects registered with it. The notebook's module and those beside it are not followed.
"""

from __future__ import annotations

import abc
import functools
import gc
import re
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.capture.observation.changes import (
    ABSENT,
    UNKNOWN,
    Change,
    Kind,
)
from nbckpt.capture.observation.dict_versions import DictVersions
from nbckpt.capture.observation.ownership import is_users
from nbckpt.capture.observation.registries import (
    LISTS,
    TABLES,
    found_at,
    is_registry,
    shell_lists,
    shell_tables,
)
from nbckpt.capture.observation.stores import Named
from nbckpt.fingerprint.names import Own
from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.fingerprint.values.plain import ATOMS
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

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
_DICT_OF_CLASS: Any = type.__dict__["__dict__"]
_FLAGS_OF_CLASS: Any = type.__dict__["__flags__"]
_DICT_OF_MODULE: Any = vars(ModuleType)["__dict__"]
_GENERIC: Any = functools.singledispatch(lambda _: None)
_DISPATCHER = _GENERIC.__code__
_DUMP: Any = vars(abc)["_get_dump"]
_DULL = frozenset(
    {*ATOMS, tuple, list, set, frozenset, property, staticmethod, classmethod, ModuleType,
     type(len), type(str.join), type(str.__add__), type(FunctionType.__code__),
     type(FunctionType.__globals__), type(vars(dict)["fromkeys"])}
)  # fmt: skip
"""Types of members that are no class and hold no registry."""
_OURS = frozenset({"nbckpt", "__main__", "__mp_main__"})
_NAMED = (FunctionType, BuiltinFunctionType, type, ModuleType)


class _Table(NamedTuple):
    kind: Kind
    owner: str
    holder: Any
    table: dict[Any, Any]

    def put(self, key: Any, value: object) -> None:
        """Set or take away an entry, as the library itself would."""
        if self.kind == "registry":
            self.table.pop(key, None) if value is ABSENT else self.table.__setitem__(key, value)
            if clear := getattr(self.holder, "_clear_cache", None):
                clear()
        elif value is not ABSENT:
            setattr(self.holder, key, value)
        elif key in self.table:
            delattr(self.holder, key)


class _Known(NamedTuple):
    """Libraries that the first look of a session has met: later sessions need not look for them.

    Attributes
    ----------
    modules
        Libraries, as `sys.modules` had them.
    tables
        The tables of them that are followed.
    before
        Contents of each table then: the session that handed it over goes on looking.
    seen
        The tables by their ids.
    numbers
        Of the tables, by what they are.
    versions
        Tells the tables that have been written to since.
    """

    modules: dict[str, Any]
    tables: list[_Table]
    before: list[dict[Any, Any]]
    seen: dict[int, object]
    numbers: dict[tuple[str, str], int]
    versions: DictVersions

    def holds(self) -> bool:
        """True if all are still there: what was met in one that went may be in another, too."""
        now = map(sys.modules.get, self.modules)
        return all(map(is_, self.modules.values(), now))


_known: _Known | None = None

_FEW = 20
"""One new table in so many is met again by each session, rather than all handed over anew."""


@dataclass
class Libraries(Own):
    """All that is followed of the libraries of this process.

    Attributes
    ----------
    namespace
        The notebook's.
    user_modules
        Names of modules beside the notebook, as of the last look.
    """

    namespace: Mapping[str, object]
    user_modules: set[str] = field(default_factory=set)
    _versions: DictVersions = field(default_factory=DictVersions)
    _tables: list[_Table] = field(default_factory=list)
    _before: list[dict[Any, Any]] = field(default_factory=list)
    _n_known: int = 0
    _of_shell: set[str] = field(default_factory=set)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _seen: dict[int, object] = field(default_factory=dict)
    _lists: dict[str, tuple[list[Any], list[Any]]] = field(default_factory=dict)
    _flips: dict[tuple[str, Any], list[object]] = field(default_factory=dict)
    _abc_token: int = -1
    _registered: dict[tuple[str, str], type] = field(default_factory=dict)

    def look(self) -> tuple[list[Change], list[str]]:
        """Changes since the last look, and owners that are followed from now on."""
        is_first = self._abc_token < 0
        with uncollected() if is_first else nullcontext():  # many small objects, no waste
            if is_first:
                self._begin()
            first = len(self._tables)
            numbers = self._versions.changed()
            changes = [c for n in numbers for c in self._changes_of(n)]
        if len(self._tables) > first:
            self._versions.changed()  # from now on
        if is_first:
            self._hand_over()
        if is_first or len(self._tables) > first:
            self._find_lists()
        changes += [*self._list_changes(), *self._registrations()]
        if is_first:
            return [], []
        return changes, [table.owner for table in self._tables[first:]]

    def is_own(self, change: Change, *, own: bool) -> None:
        """Tell no more of a library that sets a place to this object, or tell of it again."""
        place = (change.owner, change.key)
        if not own:
            self._flips.pop(place, None)
        elif change.kind not in ("list", "abc"):
            self._flips[place] = [*self._flips.get(place, [])[-3:], change.new]

    def table(self, kind: str, owner: str) -> dict[Any, Any] | None:
        """The entries of a module, class or registry that is followed."""
        number = self._numbers.get((kind, owner))
        return None if number is None else self._tables[number].table

    def list_at(self, owner: str) -> list[Any]:
        """A list that is followed."""
        return self._lists[owner][0]

    def owner_of(self, holder: object) -> tuple[Kind, str] | None:
        """Kind and name by which a module or class is followed; None if it is not."""
        kind: Kind = "class" if issubclass(type(holder), type) else "module"
        number = self._numbers.get((kind, _owner(holder)))
        return None if number is None else (kind, self._tables[number].owner)

    def entry(self, kind: Kind, owner: str, name: str) -> Change:
        """Content of a place that is followed, as a change from an unknown one."""
        table = self._tables[self._numbers[kind, owner]]
        return self._change(table, name, UNKNOWN, dict.get(table.table, name, ABSENT))

    def users_entries(self, owners: Container[str]) -> Iterator[Change]:
        """Objects of the user's that some owners hold, as changes from unknown ones."""
        for table in self._tables:
            if table.owner in owners:
                for key, value in _entries(table.table).items():
                    if _may_be_users(value, self.namespace) and is_users(value, self.namespace):
                        yield self._change(table, key, UNKNOWN, value)

    def set_entries(self, owners: Container[str], stored: Sequence[Named]) -> Iterator[Change]:
        """Members of some owners that code has set by name, as changes from unknown ones.

        Parameters
        ----------
        stored
            The names that each code sets; it names the owner, too.
        """
        for table in self._tables:
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
        return self._versions.tells_rebinding

    def named(self, name: str) -> Iterator[Change]:
        """Places of a name whose value may have changed unseen, where only lengths are read."""
        if self._versions.tells_rebinding:
            return
        for table, before in zip(self._tables, self._before, strict=True):
            old, new = before.get(name, ABSENT), dict.get(table.table, name, ABSENT)
            if old is not new:
                before[name] = new
                yield self._change(table, name, old, new)

    # -- what changed -----------------------------------------------------------------------

    def _changes_of(self, number: int) -> Iterator[Change]:
        table, before = self._tables[number], self._before[number]
        self._before[number] = now = _entries(table.table)
        different = _different(before, now)
        for key in different:
            new = now.get(key, ABSENT)
            if table.owner == "sys.modules":
                self._meet_module(key, new)
            elif table.kind != "registry" and new is not ABSENT:
                self._meet_member(table.owner.partition(":")[0], table, key, new)
            if any(new is value for value in self._flips.get((table.owner, key), ())):
                continue
            if key in _OF_SHELL.get(table.owner, ()):
                continue
            if type(key) is not str or table.kind == "registry" or key not in _NEVER:
                yield self._change(table, key, before.get(key, ABSENT), new)

    def _change(self, table: _Table, key: Any, old: object, new: object) -> Change:
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
        classes = [t.holder for t in self._tables if t.kind == "class" and "_abc_impl" in t.table]
        classes += [v for v in list(self.namespace.values()) if _is_abstract(v)]
        for base in classes:
            for refer in _DUMP(base)[0]:
                cls = refer()
                place = (_owner(base), _name_of(cls))
                if cls is None or self._registered.get(place) is cls:
                    continue
                if is_users(cls, self.namespace) or is_users(base, self.namespace):
                    self._registered[place] = cls
                    yield Change("abc", *place, cls, ABSENT, cls, None)

    # -- what is followed -------------------------------------------------------------------

    def _begin(self) -> None:
        """Follow all modules, the shell, and what an earlier session knows of libraries."""
        known = _known if _known is not None and _known.holds() else None
        if known is not None:
            self._tables, self._before = known.tables.copy(), known.before.copy()
            self._seen, self._numbers = known.seen.copy(), known.numbers.copy()
            self._versions = known.versions.copy()
        self._n_known = len(self._tables)
        modules = {} if known is None else known.modules
        self._follow(_Table("registry", "sys.modules", None, sys.modules), modules)
        for owner, table in shell_tables(self.namespace).items():
            self._of_shell.add(owner)
            self._follow(_Table("registry", owner, None, table))

    def _hand_over(self) -> None:
        """Have later sessions of this process know what this one has met."""
        global _known  # noqa: PLW0603  # there is one process
        n_new = len(self._tables) - self._n_known
        if self._versions.tells_rebinding and n_new > self._n_known // _FEW:
            own = {"sys.modules", *self._of_shell}
            met = [n for n, table in enumerate(self._tables) if table.owner not in own]
            tables = [self._tables[n] for n in met]
            _known = _Known(
                {n: m for n, m in list(sys.modules.items()) if not is_users_module(n)},
                tables,
                [self._before[n] for n in met],
                {id(table.table): table.table for table in tables},
                {(table.kind, table.owner): n for n, table in enumerate(tables)},
                self._versions.part(met),
            )

    def _follow(self, table: _Table, before: dict[Any, Any] | None = None) -> None:
        """Look at a table from now on, for what it has not as it is, or as it was."""
        if (table.kind, table.owner) in self._numbers or id(table.table) in self._seen:
            return
        self._seen[id(table.table)] = table.table
        self._numbers[table.kind, table.owner] = self._versions.add(table.table)
        self._tables.append(table)
        self._before.append(_entries(table.table) if before is None else before)

    def _meet_module(self, name: object, module: object) -> None:
        if not isinstance(name, str) or not issubclass(type(module), ModuleType):
            return
        if name.partition(".")[0] in _OURS:
            return
        if is_users_module(name):
            self.user_modules.add(name)
            return
        members = _DICT_OF_MODULE.__get__(module)
        if members is self.namespace or id(members) in self._seen:
            return
        table = _Table("module", name, module, members)
        self._follow(table)
        self._meet_members(name, table)
        for owner, registry in TABLES.get(name, {}).items():
            if isinstance(found := found_at(registry), dict):
                self._follow(_Table("registry", owner, None, found))

    def _meet_members(self, module: str, holder: _Table) -> None:
        for name, value in holder.table.copy().items():
            kind = type(value)
            if kind is FunctionType:
                if value.__code__ is _DISPATCHER:
                    self._meet_member(module, holder, name, value)
            elif kind not in _DULL:
                self._meet_member(module, holder, name, value)

    def _meet_member(self, module: str, holder: _Table, name: object, value: Any) -> None:
        """Follow a member of a module or class: a class, a registry, a generic function."""
        kind = type(value)
        if kind is FunctionType:
            if value.__code__ is _DISPATCHER:
                self._meet_dispatcher(f"{module}:{value.__qualname__}", value)
        elif issubclass(kind, type):
            if holder.kind == "module":
                self._meet_class(value)
        elif issubclass(kind, dict) and is_registry(module, str(name), value):
            owner = f"{holder.owner}.{name}"
            self._follow(_Table("registry", owner, None, value))
        elif kind is functools.singledispatchmethod:
            self._meet_dispatcher(f"{holder.owner}.{name}", value.dispatcher)

    def _meet_dispatcher(self, owner: str, function: Any) -> None:
        table = gc.get_referents(function.registry)[0]
        self._follow(_Table("registry", owner, function, table))

    def _meet_class(self, cls: Any) -> None:
        flags = _FLAGS_OF_CLASS.__get__(cls)
        if not flags & _HEAP or flags & _IMMUTABLE:
            return
        home = cls.__module__
        if not isinstance(home, str) or home.partition(".")[0] in _OURS or is_users_module(home):
            return
        members = gc.get_referents(_DICT_OF_CLASS.__get__(cls))[0]
        if id(members) in self._seen:
            return
        table = _Table("class", _owner(cls), cls, members)
        self._follow(table)
        self._meet_members(home, table)


def members_of(holder: Any) -> Mapping[str, Any]:
    """Members that a module or class has itself, read without any code of its own."""
    descriptor = _DICT_OF_CLASS if issubclass(type(holder), type) else _DICT_OF_MODULE
    members: Mapping[str, Any] = descriptor.__get__(holder)
    return members


def _entries(table: dict[Any, Any]) -> dict[Any, Any]:
    """A copy of a dict. No code of a class of dicts runs: it may do anything, and raise."""
    return table.copy() if type(table) is dict else dict(dict.items(table))


def _different(before: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    """Keys that have other objects than before, came, or went."""
    held = zip(before, before.values(), map(now.get, before, repeat(ABSENT)), strict=True)
    found = [key for key, old, new in held if old is not new]
    if len(now) != len(before) or found:
        found += [key for key in now if key not in before]
    return found


def _owner(holder: Any) -> str:
    if issubclass(type(holder), type):
        return f"{holder.__module__}:{holder.__qualname__}"
    return str(getattr(holder, "__name__", "?"))


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
        return bool(value.__module__ == "__main__")
    if kind is property:
        return type(value.fget) is FunctionType and bool(value.fget.__globals__ is namespace)
    if kind in _DULL:
        return kind is staticmethod or kind is classmethod
    return hasattr(kind, "__get__")
