"""State in modules beside the notebook: what a step changed there, and how that is repeated.

What JSON has is recorded and set again, by a restored cell and by a move. What it does not have is
made by running the cell, and a move says so.
"""

from __future__ import annotations

import abc
import ast
import importlib
import inspect
import secrets
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any, NamedTuple

from nbckpt.capture.change_tracking.identity import Place
from nbckpt.capture.observation.attached import fill, is_atom, is_plain
from nbckpt.capture.observation.changes import ABSENT
from nbckpt.capture.observation.observer import Ran
from nbckpt.digests import Json
from nbckpt.fingerprint.keys.inputs import MODULE
from nbckpt.fingerprint.values.homes import members_of_class, members_of_module, module_of_class
from nbckpt.fingerprint.values.modules import loaded
from nbckpt.runtime.source_trees import parse
from nbckpt.runtime.user_code_errors import user_code_errors


def changes_in_modules(known: frozenset[str], ran: Ran) -> dict[str, Json]:
    """Changes of a step in modules beside the notebook: the new values, if JSON has them."""
    found: dict[str, Json] = {}
    for member, code in ran.key.functions.items():
        name = member.removeprefix(MODULE)
        if not member.startswith(MODULE) or name not in known:
            continue
        now = loaded(name)
        if now.code != code:
            found[name] = None
        for place in sorted({*now.values, *_places_in(name, ran)}):
            if now.values.get(place) != ran.key.inputs.get(place):
                found.update(values_at([place]))
    return found


def values_at(places: Iterable[str]) -> dict[str, Json]:
    """Values in modules at some places, each in a list; None for one that JSON does not have."""
    found: dict[str, Json] = {}
    for place in places:
        name, _, member = place.rpartition(".")
        value = getattr(sys.modules.get(name), member, ABSENT)
        found[place] = [loads(dumps(value))] if is_plain(value) else None
    return found


def other_state(state: Mapping[str, Json]) -> str:
    """A place where a module that is imported now holds something else; empty if none."""
    for place, then in state.items():
        if type(then) is str:
            name = place.rpartition(".")[0]
            is_there = name in sys.modules or _imported(name)
            if not is_there or loaded(name).values.get(place) != then:
                return place
    return ""


def _places_in(name: str, ran: Ran) -> Iterator[str]:
    return (p for p in ran.key.inputs if p.rpartition(".")[0] == name)


def containers_in(modules: Iterable[str]) -> dict[str, Place]:
    """The lists and dicts of modules, by their places.

    None is held: one that another has come in place of counts as it, which only who holds the
    first could tell, and then its place is not used again.
    """
    return {place: Place(value) for place, value in _containers(modules)}


def replaced_in(before: Mapping[str, Place], modules: Iterable[str]) -> list[str]:
    """The places that have another list or dict than before."""
    now = _containers(modules)
    return sorted(p for p, value in now if p in before and not before[p].may_be(value))


def _containers(modules: Iterable[str]) -> Iterator[tuple[str, object]]:
    for name in modules:
        for member, value in members_of_module(name).items():
            if type(value) in {list, dict} and member[:2] != "__":
                yield f"{name}.{member}", value


def set_in_module(place: str, value: object, *, anew: bool) -> bool:
    """Set a value in a module; a list or dict keeps its identity, unless it is made `anew`."""
    name, _, member = place.rpartition(".")
    holder, attribute = holder_of(name, member)
    if holder is None:
        return False
    if anew or not fill(getattr(holder, attribute, None), value):
        setattr(holder, attribute, value)
    return True


@dataclass
class ModuleState:
    """Values in the modules beside the notebook that their import did not put there.

    Attributes
    ----------
    unset
        Places that the last move could not set.
    """

    unset: tuple[str, ...] = ()
    _imported: dict[str, dict[str, object]] = field(default_factory=dict)
    _changed: dict[str, dict[str, Json]] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)
    _to_read: set[str] = field(default_factory=set)

    def meet(self, names: Iterable[str], *, is_as_imported: bool) -> list[str]:
        """Follow some modules from now on; those that are new.

        Parameters
        ----------
        is_as_imported
            Whether nothing but their import can have put anything there.
        """
        new = [name for name in names if name not in self._imported]
        for name in new:
            self._imported[name] = _plain(name) if is_as_imported else _written(name)
        if not is_as_imported:
            self._to_read.update(new)
        return new

    def reached(self, names: Iterable[str] | None) -> None:
        """Read some modules again, for code that reaches them ran; None: all."""
        self._to_read |= self._imported.keys() if names is None else {*names}

    def changed(self, changes: Mapping[str, Json]) -> None:
        """Take note of what a step changed and JSON does not have."""
        for place, value in changes.items():
            if value is None:
                self._tokens[place] = secrets.token_hex(8)
            else:
                self._tokens.pop(place, None)

    def state_of(self, names: Iterable[str]) -> dict[str, Json]:
        """Values that may have changed in modules since a step imported them.

        Returns
        -------
        dict[str, Json]
            Place → its value in a list, or the digest of one that JSON does not have.
        """
        found: dict[str, Json] = {}
        for name in sorted(names):
            imported, plain = self._imported[name], _plain(name)
            for place, digest in loaded(name).values.items():
                member = place.rpartition(".")[2]
                if member not in plain:
                    found[place] = digest
                elif not _is_same(plain[member], imported.get(member, ABSENT)):
                    found[place] = [_value(plain[member])]
        return found

    def standing(self) -> dict[str, Json]:
        """Values that a move to this moment has to set: place → value in a list, or a token."""
        for name in self._to_read & self._imported.keys():
            imported = self._imported[name]
            self._changed[name] = {
                f"{name}.{member}": [_value(value)]
                for member, value in _plain(name).items()
                if not _is_same(imported.get(member, ABSENT), value)
            }
        self._to_read.clear()
        found: dict[str, Json] = {}
        for changed in self._changed.values():
            found.update(changed)
        return {**found, **self._tokens}

    def go_to(
        self, standing: Mapping[str, Json], shared: frozenset[str] = frozenset()
    ) -> list[str]:
        """Set what `standing` says, and the rest as their import left it.

        Parameters
        ----------
        shared
            Places that get the object of a variable, which is about to be brought back.
        """
        self.reached(None)
        texts, unset = [], []
        for place in sorted({*standing, *self.standing()}):
            name, _, member = place.rpartition(".")
            want: Any = standing.get(place)
            if place in shared and type(want) is not list:
                self._tokens.pop(place, None)
                if want is not None:
                    self._tokens[place] = want
                continue
            if want is None and place not in self._tokens:
                value = self._imported.get(name, {}).get(member, ABSENT)
                if value is not ABSENT:
                    want = [_value(value)]
            if type(want) is list:
                if self._put(name, member, want[0]):
                    texts += _told([place])
                elif not _holds(name, member, want[0]):
                    unset.append(place)
            elif want != self._tokens.get(place):
                unset.append(place)
        self.unset = ()
        self.not_set(unset)
        return texts

    def not_set(self, places: Iterable[str]) -> None:
        """Take note of places that a move could not set."""
        told = (f"{place!r}: run the cell that sets it" for place in _told(places))
        self.unset = tuple(dict.fromkeys((*self.unset, *told)))

    def set_all(self, values: Mapping[str, object], anew: Collection[str]) -> list[str]:
        """Set what a restored step has set; the places where something else was.

        Parameters
        ----------
        anew
            Places that get another list or dict, whatever is in the one that they have.
        """
        return [
            place
            for place, value in values.items()
            if self._put(*place.rpartition(".")[::2], value, anew=place in anew)
        ]

    def _put(self, name: str, member: str, value: object, *, anew: bool = False) -> bool:
        """True if a value was set that was another one."""
        if name not in self._imported and _imported(name):
            self.meet([name], is_as_imported=True)
        if name not in sys.modules or (not anew and _holds(name, member, value)):
            return False
        self.reached([name])
        return set_in_module(f"{name}.{member}", value, anew=anew)


def _told(places: Iterable[str]) -> list[str]:
    return [place.replace(":", ".") for place in places]


class _Text(NamedTuple):
    """A list or dict, as text: it may change."""

    text: str


_CLASSES = (type, abc.ABCMeta)


def holder_of(name: str, member: str) -> tuple[object, str]:
    """Holder of a member, the module or one of its classes (`Class:attribute`), and its name."""
    kind, _, attribute = member.rpartition(":")
    module = sys.modules.get(name)
    return (members_of_module(name).get(kind) if kind else module), attribute


def _plain(name: str) -> dict[str, object]:
    """The members of a module that JSON has."""
    members = members_of_module(name)
    for member, value in list(members.items()):
        if type(value) in _CLASSES and module_of_class(value) == name:  # type: ignore[arg-type]
            own = members_of_class(value).items()
            members.update((f"{member}:{n}", v) for n, v in own if n[:2] != "__")
    found: dict[str, object] = {}
    for member, value in members.items():
        if member[:2] == "__":
            continue
        if type(value) in {list, dict}:
            if is_plain(value):
                found[member] = _Text(dumps(value))
        elif is_atom(value):
            found[member] = value
    return found


def _value(found: Any) -> Json:
    value: Json = loads(found.text) if type(found) is _Text else found
    return value


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _written(name: str) -> dict[str, object]:
    """The members of a module that its text sets once, at its top, to what JSON has."""
    try:
        tree = parse(inspect.getsource(sys.modules[name]))
    except user_code_errors():  # no text, or one that changed since
        return {}
    found: dict[str, object] = {}
    times = Counter(
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    nodes = [("", node) for node in tree.body]
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef):
            nodes += [(f"{kind.name}:", node) for node in kind.body]
    for home, node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and times[target.id] == 1:
            with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                value = ast.literal_eval(node.value)
                if is_plain(value):
                    is_held = type(value) in {list, dict}
                    found[home + target.id] = _Text(dumps(value)) if is_held else value
    return found


def _imported(name: str) -> bool:
    """Import a module, and tell whether that went well."""
    try:
        importlib.import_module(name)
    except user_code_errors():  # whatever its own code raises
        return False
    return name in sys.modules


def _holds(name: str, member: str, value: object) -> bool:
    holder, attribute = holder_of(name, member)
    held = ABSENT if holder is None else vars(holder).get(attribute, ABSENT)
    return is_plain(held) and dumps(held) == dumps(value)
