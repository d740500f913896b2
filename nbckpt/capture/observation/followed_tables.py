"""The dicts of the loaded libraries that are followed: modules, classes, registries."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.capture.observation.changes import ABSENT, Kind
from nbckpt.capture.observation.dict_versions import DictVersions
from nbckpt.capture.observation.registries import TABLES, found_at, is_registry, shell_tables
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.homes import is_users_module, module_of_class
from nbckpt.fingerprint.values.plain import ATOMS

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
_DICT_OF_CLASS: Any = type.__dict__["__dict__"]
_FLAGS_OF_CLASS: Any = type.__dict__["__flags__"]
_DICT_OF_MODULE: Any = vars(ModuleType)["__dict__"]
_GENERIC: Any = functools.singledispatch(lambda _: None)
_DISPATCHER = _GENERIC.__code__
DULL = frozenset(
    {*ATOMS, tuple, list, set, frozenset, property, staticmethod, classmethod, ModuleType,
     type(len), type(str.join), type(str.__add__), type(FunctionType.__code__),
     type(FunctionType.__globals__), type(vars(dict)["fromkeys"])}
)  # fmt: skip
"""Types of members that are no class and hold no registry."""
_OURS = frozenset({"nbckpt", "__main__", "__mp_main__"})
_FEW = 20
"""One new table in so many is met again by each session, rather than all handed over anew."""


class Table(NamedTuple):
    """A dict in which a module, class or registry of a library keeps its entries."""

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
    tables: list[Table]
    before: list[dict[Any, Any]]
    seen: dict[int, object]
    numbers: dict[tuple[str, str], int]
    versions: DictVersions

    def holds(self) -> bool:
        """True if all are still there: what was met in one that went may be in another, too."""
        now = map(sys.modules.get, self.modules)
        return all(map(is_, self.modules.values(), now))


_known: _Known | None = None


@dataclass
class FollowedTables(Own):
    """The tables that are followed, and what each held at the last look.

    Attributes
    ----------
    namespace
        The notebook's.
    user_modules
        Names of modules beside the notebook, as of the last look.
    versions
        Tells the tables that have been written to since.
    tables
        The tables that are followed.
    before
        Their contents, in the same order.
    """

    namespace: Mapping[str, object]
    user_modules: set[str] = field(default_factory=set)
    versions: DictVersions = field(default_factory=DictVersions)
    tables: list[Table] = field(default_factory=list)
    before: list[dict[Any, Any]] = field(default_factory=list)
    _n_known: int = 0
    _of_shell: set[str] = field(default_factory=set)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _seen: dict[int, object] = field(default_factory=dict)

    def get(self, kind: str, owner: str) -> Table | None:
        """The table of a module, class or registry; None if it is not followed."""
        number = self._numbers.get((kind, owner))
        return None if number is None else self.tables[number]

    def begin(self) -> None:
        """Follow all modules, the shell, and what an earlier session knows of libraries."""
        known = _known if _known is not None and _known.holds() else None
        if known is not None:
            self.tables, self.before = known.tables.copy(), known.before.copy()
            self._seen, self._numbers = known.seen.copy(), known.numbers.copy()
            self.versions = known.versions.copy()
        self._n_known = len(self.tables)
        modules = {} if known is None else known.modules
        self._follow(Table("registry", "sys.modules", None, sys.modules), modules)
        for owner, table in shell_tables(self.namespace).items():
            self._of_shell.add(owner)
            self._follow(Table("registry", owner, None, table))

    def hand_over(self) -> None:
        """Have later sessions of this process know what this one has met."""
        global _known  # noqa: PLW0603  # there is one process
        n_new = len(self.tables) - self._n_known
        if self.versions.tells_rebinding and n_new > self._n_known // _FEW:
            own = {"sys.modules", *self._of_shell}
            met = [n for n, table in enumerate(self.tables) if table.owner not in own]
            tables = [self.tables[n] for n in met]
            _known = _Known(
                {n: m for n, m in list(sys.modules.items()) if not is_users_module(n)},
                tables,
                [self.before[n] for n in met],
                {id(table.table): table.table for table in tables},
                {(table.kind, table.owner): n for n, table in enumerate(tables)},
                self.versions.part(met),
            )

    def _follow(self, table: Table, before: dict[Any, Any] | None = None) -> None:
        """Look at a table from now on, for what it has not as it is, or as it was."""
        if (table.kind, table.owner) in self._numbers or id(table.table) in self._seen:
            return
        self._seen[id(table.table)] = table.table
        self._numbers[table.kind, table.owner] = self.versions.add(table.table)
        self.tables.append(table)
        self.before.append(entries_of(table.table) if before is None else before)

    def meet_module(self, name: object, module: object) -> None:
        """Follow a module that was imported, with its classes and registries."""
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
        table = Table("module", name, module, members)
        self._follow(table)
        self._meet_members(name, table)
        for owner, registry in TABLES.get(name, {}).items():
            if isinstance(found := found_at(registry), dict):
                self._follow(Table("registry", owner, None, found))

    def _meet_members(self, module: str, holder: Table) -> None:
        for name, value in holder.table.copy().items():
            kind = type(value)
            if kind is FunctionType:
                if value.__code__ is _DISPATCHER:
                    self.meet_member(module, holder, name, value)
            elif kind not in DULL:
                self.meet_member(module, holder, name, value)

    def meet_member(self, module: str, holder: Table, name: object, value: Any) -> None:
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
            self._follow(Table("registry", owner, None, value))
        elif kind is functools.singledispatchmethod:
            self._meet_dispatcher(f"{holder.owner}.{name}", value.dispatcher)

    def _meet_dispatcher(self, owner: str, function: Any) -> None:
        table = gc.get_referents(function.registry)[0]
        self._follow(Table("registry", owner, function, table))

    def _meet_class(self, cls: Any) -> None:
        flags = _FLAGS_OF_CLASS.__get__(cls)
        if not flags & _HEAP or flags & _IMMUTABLE:
            return
        home = module_of_class(cls)
        if not home or home.partition(".")[0] in _OURS or is_users_module(home):
            return
        members = gc.get_referents(_DICT_OF_CLASS.__get__(cls))[0]
        if id(members) in self._seen:
            return
        table = Table("class", owner_name(cls), cls, members)
        self._follow(table)
        self._meet_members(home, table)


def members_of(holder: Any) -> Mapping[str, Any]:
    """Members that a module or class has itself, read without any code of its own."""
    descriptor = _DICT_OF_CLASS if issubclass(type(holder), type) else _DICT_OF_MODULE
    members: Mapping[str, Any] = descriptor.__get__(holder)
    return members


def entries_of(table: dict[Any, Any]) -> dict[Any, Any]:
    """A copy of a dict. No code of a class of dicts runs: it may do anything, and raise."""
    return table.copy() if type(table) is dict else dict(dict.items(table))


def owner_name(holder: Any) -> str:
    """The name by which a module or class is followed."""
    if issubclass(type(holder), type):
        return f"{module_of_class(holder)}:{holder.__qualname__}"
    return str(getattr(holder, "__name__", "?"))
