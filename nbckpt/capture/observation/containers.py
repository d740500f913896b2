"""Lists, dicts and sets that libraries hold at the top, and what a cell changed in them.

``calendar.mdays[2] = 29`` sets no attribute, and who reads it names another function of that
library. Compared before and after a cell are the containers that it, or a function that it
reaches, names; and those of the modules whose functions it calls for nothing but what they do
(``add_alias(…)``), where only what the notebook can have given to them counts: libraries fill
their own tables when they are first used.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections import ChainMap, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.capture.observation.changes import UNKNOWN, Change, Kind
from nbckpt.capture.observation.libraries import Libraries, members_of
from nbckpt.capture.observation.registries import KEPT_ELSEWHERE, STATE_IS_KNOWN, is_bookkeeping
from nbckpt.capture.observation.stores import (
    Given,
    codes_reached,
    given_by,
    is_argument,
    resolved,
    sets_items,
    statement_calls,
    words_of_code,
    words_of_tree,
)
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.code.nodes import run_nodes
from nbckpt.fingerprint.names import Own
from nbckpt.fingerprint.values.homes import is_named, is_users_module
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw import bases_of

_KINDS = (list, dict, set, deque, bytearray)
_MANY = 5_000
_MUTATORS = frozenset(
    {"__delitem__", "__iadd__", "__ior__", "__setitem__", "add", "append", "appendleft", "clear",
     "difference_update", "discard", "extend", "extendleft", "insert", "intersection_update",
     "move_to_end", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault",
     "sort", "subtract", "symmetric_difference_update", "update"}
)  # fmt: skip
_RUN_TEXT = frozenset({"exec", "eval"})
_NEVER = frozenset(
    {"__all__", "__annotations__", "__builtins__", "__dataclass_fields__", "__dict__", "__path__",
     "__slots__", "__warningregistry__", "rcParams", "rcParamsDefault", "rcParamsOrig"}
)  # fmt: skip
_OF_PROCESS = (
    ("os", "environ"), ("os", "environb"), ("sys", "argv"), ("sys", "meta_path"),
    ("sys", "modules"), ("sys", "path"), ("sys", "path_hooks"),
    ("warnings", "filters"),
)  # fmt: skip
"""Containers of the process: what they hold is known elsewhere, which variables they are is not."""


class _Held(NamedTuple):
    """A container at its place."""

    kind: Kind
    owner: str
    name: str
    container: Any

    @property
    def place(self) -> tuple[str, str]:
        """Of which module or class, and under which name."""
        return self.owner, self.name


class Refill(Own):
    """Has a container hold again what it held at a moment, or what another one holds."""

    def __init__(self, container: Any, content: Any) -> None:
        self._container = container
        self._content = content

    def __call__(self, value: Any) -> None:
        """Fill it with what `value` holds; with what it held itself, if `value` is the container.

        Raises
        ------
        Exception
            Whatever its own methods raise.
        """
        content = self._content if value is self._container else value
        container = self._container
        container.clear()
        fill = container.update if issubclass(type(container), dict | set) else container.extend
        fill(content)


class Containers(Own):
    """Tells which containers of libraries a cell changes.

    Parameters
    ----------
    namespace
        The live variables.
    libraries
        Knows which modules and classes are of libraries.
    """

    def __init__(self, namespace: MutableMapping[str, object], libraries: Libraries) -> None:
        self._namespace = namespace
        self._libraries = libraries
        self._before: dict[tuple[str, str], tuple[_Held, Any]] = {}
        self._named: set[tuple[str, str]] = set()
        self._variables: dict[str, _Held] = {}
        self._wanted: dict[str, list[str]] = {}

    def begins(self, tree: ast.Module, *, inside: bool) -> None:
        """Take note of what is in those that a cell can change, which may be inside of another."""
        if not inside:
            self._before, self._named = {}, set()
        codes = codes_reached(tree, self._namespace)
        words = self._words(tree, codes)
        holders = list(self._holders(words))
        named = [held for holder in holders for held in self._in(holder, words)]
        if self._variables:
            self.variables()
            named += [
                held
                for name, held in self._variables.items()
                if name in words and not _is_kept_elsewhere(held.owner)
            ]
        made = [held for module in self._asked_for(tree) for held in self._in_all(module)]
        called = [held for m in self._called(tree, codes, holders) for held in self._in_all(m)]
        self._named.update(held.place for held in (*named, *made))
        for held in (*named, *made, *called):
            if held.place not in self._before:
                self._before[held.place] = held, _content(held.container)

    def changes(self, tree: ast.Module, fresh: set[str]) -> list[Change]:
        """Changes of containers since the last look; possible ones in libraries met just now.

        Parameters
        ----------
        fresh
            Modules and classes that the cell has imported.
        """
        changes, codes = [], list[CodeType]()
        given: Given | None = None
        for place, (held, before) in list(self._before.items()):
            now = _content(held.container)
            if _is_same(now, before):
                continue
            self._before[place] = held, now
            if place not in self._named:
                codes = codes or codes_reached(tree, self._namespace)
                given = given or given_by(tree, codes, self._namespace)
                if not any(map(given.has, _new_in(now, before))):
                    continue
            changes.append(_change(held, before))
        if fresh:
            codes = codes or codes_reached(tree, self._namespace)
            given = given or given_by(tree, codes, self._namespace)
            changes += self._in_fresh(tree, codes, given, fresh)
        return changes

    def _in_fresh(
        self, tree: ast.Module, codes: list[CodeType], given: Given, fresh: set[str]
    ) -> Iterator[Change]:
        """Changes that a cell may have made in libraries that it has imported itself."""
        seen = set(self._before)
        for held in (*self._written(tree), *self._written_by(codes, fresh)):
            if held.owner in fresh and held.place not in seen:
                seen.add(held.place)
                yield _change(held, UNKNOWN)
        for call in statement_calls(tree):
            module = self._module_of(resolved(call.func, self._namespace))
            if module not in fresh or _is_state_known(module):
                continue
            for held in self._in_all(module):
                content = _content(held.container)
                nothing: Any = {} if type(content) is dict else []
                if held.place not in seen and any(map(given.has, _new_in(content, nothing))):
                    seen.add(held.place)
                    yield _change(held, UNKNOWN)
            for name, value in list((self._libraries.table("module", module) or {}).items()):
                if is_named(value, self._namespace) or type(value) in ATOMS:
                    continue
                if is_argument(value, call, self._namespace):
                    yield self._libraries.entry("module", module, name)

    # -- variables that are such containers ---------------------------------------------------

    def learn(self, tree: ast.Module) -> None:
        """Take note of which variables a cell has bound to them: ``from calendar import mdays``."""
        names, homes = _names_bound(tree, self._namespace)
        self._variables.update(self._among(names, homes, tree))
        of_process = {id(vars(sys.modules[m]).get(n)): (m, n) for m, n in _OF_PROCESS}
        for name in names:
            value = self._namespace.get(name)
            if value is not None and (place := of_process.get(id(value))):
                self._variables[name] = _Held("module", *place, value)

    def variables(self) -> dict[str, list[str]]:
        """Variables that are containers of libraries → kind, owner and name of the place."""
        held = {n: h for n, h in self._variables.items() if self._namespace.get(n) is h.container}
        self._variables = held
        return {name: [h.kind, h.owner, h.name] for name, h in held.items()}

    def of_process(self) -> list[str]:
        """Variables that are containers of the process, without the table of modules."""
        held = self._variables.items() if self._variables else ()
        return [
            name
            for name, it in held
            if _is_kept_elsewhere(it.owner)
            and it.name != "modules"
            and self._namespace.get(name) is it.container
        ]

    def want(self, variables: Mapping[str, list[str]]) -> None:
        """Take note of which of the variables that are brought back were such containers."""
        self._wanted = dict(variables)

    def at_other_places(self, names: Collection[str]) -> set[str]:
        """Those of some variables that are such a container now, and are to be another object."""
        now = self.variables() if self._variables else {}
        return {n for n in now.keys() & set(names) if self._wanted.get(n) != now[n]}

    def unite(self, names: Iterable[str]) -> None:
        """Bind those of some variables to the containers that they were, whatever these hold now.

        What a cell changed in one, a library has only where that cell has run.
        """
        wanted, self._wanted = self._wanted, {}
        for name in sorted(wanted.keys() & set(names)):
            held = _held_at(*wanted[name])
            if held is not None and name in self._namespace:
                self._namespace[name] = held.container
                self._variables[name] = held

    def _among(
        self, names: Iterable[str], homes: Iterable[str], tree: ast.Module
    ) -> dict[str, _Held]:
        """Variables that a cell has bound, from some modules or by itself, which are containers."""
        values = ((name, self._namespace.get(name)) for name in names)
        bound = {n: v for n, v in values if issubclass(type(v), _KINDS)}
        if not bound:
            return {}
        holders = [sys.modules[home] for home in homes if home in sys.modules]
        holders += self._holders(self._words(tree, []))
        held = [h for holder in holders for h in self._in(holder, None)]
        calls = (node.func for node in nodes_of(tree) if isinstance(node, ast.Call))
        modules = {self._module_of(resolved(function, self._namespace)) for function in calls}
        held += [h for module in modules if module for h in self._in_all(module)]
        known = {id(h.container): h for h in (*self._variables.values(), *held)}
        return {n: known[id(v)] for n, v in bound.items() if id(v) in known}

    # -- what is looked at ----------------------------------------------------------------------

    def _words(self, tree: ast.Module, codes: Iterable[CodeType]) -> frozenset[str]:
        """The names in a cell, in code that it reaches, and in text that it runs."""
        words = words_of_tree(tree).union(*map(words_of_code, codes))
        if not words.isdisjoint(_RUN_TEXT):
            texts = [v for n in words if type(v := self._namespace.get(n)) is str]
            words = words.union(*(words_of(text) for text in texts if len(text) <= _MANY))
        return words

    def _holders(self, words: frozenset[str]) -> Iterator[Any]:
        """Modules and classes of libraries that some words name."""
        found = [table.get(word) for word in words for table in (self._namespace, sys.modules)]
        waiting: list[Any] = [value for value in found if _is_holder(value)]
        seen = set(map(id, waiting))
        for holder in waiting:
            if issubclass(type(holder), type):
                inside = [*bases_of(holder)[1:-1]]
            elif self._place_of(holder) is None:
                continue
            else:
                members = members_of(holder)
                inside = [v for w in words & members.keys() if _is_holder(v := members[w])]
            for value in inside:
                if id(value) not in seen:
                    seen.add(id(value))
                    waiting.append(value)
            yield holder

    def _place_of(self, holder: object) -> tuple[Kind, str] | None:
        """Kind and name by which a module or class of a library is followed; None if it is not."""
        place = self._libraries.owner_of(holder)
        return None if place is None or _is_kept_elsewhere(place[1]) else place

    def _in(self, holder: Any, words: frozenset[str] | None) -> Iterator[_Held]:
        """The containers of a module or class, or those that some words name."""
        place = self._place_of(holder)
        if place is None:
            return
        members = members_of(holder)
        for name in [*members] if words is None else words & members.keys():
            value = members.get(name)
            if issubclass(type(value), _KINDS) and _is_followed(name, value):
                yield _Held(*place, name, value)

    def _in_all(self, module: str) -> Iterator[_Held]:
        """All containers of a module."""
        members = self._libraries.table("module", module) or {}
        for name, value in list(members.items()):
            if issubclass(type(value), _KINDS) and name[:2] != "__" and _is_followed(name, value):
                yield _Held("module", module, name, value)

    def _called(
        self,
        tree: ast.Module,
        codes: Iterable[CodeType],
        holders: Iterable[Any],
    ) -> set[str]:
        """Modules whose functions a cell calls for what they do, or functions that it reaches."""
        scope = self._scope(tree)
        functions = [resolved(call.func, scope) for call in statement_calls(tree)]
        words = frozenset[str]().union(*map(words_of_code, codes))
        if words:
            functions += [self._namespace.get(word) for word in words]
            for holder in holders:
                if issubclass(type(holder), ModuleType):
                    members = members_of(holder)
                    functions += [members[word] for word in words & members.keys()]
        modules = {module for function in functions if (module := self._module_of(function))}
        return {module for module in modules if not _is_state_known(module)}

    def _asked_for(self, tree: ast.Module) -> set[str]:
        """Modules whose functions give a container that a cell changes: ``colors()["a"] = 1``."""
        targets, scope = list(_targets(tree)), self._scope(tree)
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        values: list[ast.expr] = targets
        for node in nodes_of(tree):
            if isinstance(node, ast.Assign):
                bound = {target.id for target in node.targets if isinstance(target, ast.Name)}
                values += [] if names.isdisjoint(bound) else [node.value]
        calls = (value.func for value in values if isinstance(value, ast.Call))
        return {m for function in calls if (m := self._module_of(resolved(function, scope)))}

    def _scope(self, tree: ast.Module) -> Mapping[str, object]:
        """The variables, with what the cell is about to import, where that is loaded."""
        imported: dict[str, object] = {}
        for node in nodes_of(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    imported[alias.asname or name] = sys.modules.get(name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                home = sys.modules.get(node.module or "")
                members = {} if home is None else members_of(home)
                for alias in node.names:
                    imported[alias.asname or alias.name] = members.get(alias.name)
        found = {name: value for name, value in imported.items() if value is not None}
        return ChainMap(found, self._namespace) if found else self._namespace

    def _module_of(self, function: object) -> str:
        """The library's module that a function is of; empty if it is none's."""
        if type(function) is not FunctionType or function.__globals__ is self._namespace:
            return ""
        name = function.__globals__.get("__name__")
        if type(name) is not str or _is_kept_elsewhere(name) or is_users_module(name):
            return ""
        return name if self._libraries.table("module", name) is function.__globals__ else ""

    def _written(self, tree: ast.Module) -> Iterator[_Held]:
        """Containers that a cell's text changes."""
        bound = self._among(*_names_bound(tree, self._namespace), tree)
        for target in _targets(tree):
            if isinstance(target, ast.Name) and target.id in bound:
                yield bound[target.id]
            elif isinstance(target, ast.Attribute):
                holder = resolved(target.value, self._namespace)
                if _is_holder(holder):
                    yield from self._in(holder, frozenset({target.attr}))

    def _written_by(self, codes: Iterable[CodeType], fresh: set[str]) -> Iterator[_Held]:
        """Containers of some modules that functions name which change one."""
        for code in codes:
            words = words_of_code(code)
            if _MUTATORS.isdisjoint(words) and not sets_items(code):
                continue
            for module in fresh:
                if module.rpartition(".")[2] in words and module in sys.modules:
                    yield from self._in(sys.modules[module], words)


def _names_bound(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[set[str], set[str]]:
    """The names that a cell's text binds, and the modules that it imports names from."""
    names, homes = set[str](), set[str]()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            homes.add(node.module or "")
            names.update(alias.asname or alias.name for alias in node.names)
    return (set(namespace) if "*" in names else names), homes


def _targets(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that a cell's text changes in place: by an item, or a mutating method."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                yield node.value
        elif isinstance(node, ast.Attribute):
            if node.attr in _MUTATORS:
                yield node.value
        elif isinstance(node, ast.AugAssign):
            yield node.target
        elif isinstance(node, ast.Call):  # operator.setitem, heapq.heappush
            yield from (a for a in node.args[:1] if isinstance(a, ast.Attribute))


def _held_at(kind: str, owner: str, member: str) -> _Held | None:
    """The container at a place, whose module is imported for that."""
    home, _, cls = owner.partition(":")
    try:
        holder: Any = importlib.import_module(home)
        for part in cls.split(".") if cls else ():
            holder = vars(holder)[part]
        value = vars(holder)[member]
    except Exception:  # of an import, whatever the library raises
        return None
    known: Kind = "class" if kind == "class" else "module"
    is_container = issubclass(type(value), _KINDS) or (home, member) in _OF_PROCESS
    return _Held(known, owner, member, value) if is_container else None


def _is_holder(value: object) -> bool:
    return issubclass(type(value), ModuleType | type)


def _is_kept_elsewhere(owner: str) -> bool:
    return owner.partition(":")[0].partition(".")[0] in KEPT_ELSEWHERE


def _is_state_known(module: str) -> bool:
    return module.partition(".")[0] in STATE_IS_KNOWN


def _is_followed(name: object, container: Any) -> bool:
    if type(name) is not str or name in _NEVER or is_bookkeeping(name):
        return False
    kind = next(kind for kind in _KINDS if issubclass(type(container), kind))
    length: Any = kind.__len__
    return bool(length(container) <= _MANY)


def _content(container: Any) -> Any:
    """A copy of what a container holds. No code of its own class runs: it may do anything."""
    kind = type(container)
    if issubclass(kind, dict):
        return dict(dict.items(container))
    if issubclass(kind, list):
        return list.copy(container)
    if issubclass(kind, set):
        return sorted(set.__iter__(container), key=id)
    if issubclass(kind, deque):
        return list(deque.__iter__(container))
    return bytearray.__getitem__(container, slice(None))


def _change(held: _Held, old: object) -> Change:
    put = Refill(held.container, _content(held.container))
    return Change(held.kind, held.owner, held.name, held.name, old, held.container, put)


def difference(container: Any, before: Any) -> Any:
    """Elements that a container has gained, with their places, and the places of the lost ones.

    Parameters
    ----------
    before
        Its content before, as a `Change` has it; `UNKNOWN`, if nobody knows: then all counts.
    """
    now = _content(container)
    if before is UNKNOWN:
        return now
    if type(now) is dict:
        new = {key: value for key, value in now.items() if before.get(key, UNKNOWN) is not value}
        return new, [key for key in before if key not in now]
    if type(now) is bytearray:
        return now
    if issubclass(type(container), set):
        return [*_new_in(now, before)], [*_new_in(before, now)]
    pairs = enumerate(now)
    return [(n, v) for n, v in pairs if n >= len(before) or before[n] is not v], len(now)


def _is_same(now: Any, before: Any) -> bool:
    """True if a container holds the same objects, in the same order."""
    if len(now) != len(before):
        return False
    if type(now) is dict:
        return all(map(is_, now, before)) and all(map(is_, now.values(), before.values()))
    if type(now) is bytearray:
        return bool(now == before)
    return all(map(is_, now, before))


def _new_in(now: Any, before: Any) -> Iterator[object]:
    """The objects that a container holds and did not."""
    if type(now) is dict:
        known = set(map(id, before)) | set(map(id, before.values()))
        now = [*now, *now.values()]
    else:
        known = set(map(id, before))
    return (item for item in now if id(item) not in known)
