"""State in modules beside the notebook: what a step changed there, and how that is repeated.

What JSON has is recorded and set again, by a restored cell and by a move. What it does not have is
made by running the cell, and a move says so.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

from nbckpt.digests import Json
from nbckpt.keys.inputs import MODULE
from nbckpt.observation.attached import is_plain
from nbckpt.observation.changes import ABSENT
from nbckpt.observation.observer import Ran
from nbckpt.values.modules import loaded


def changes_in_modules(known: frozenset[str], ran: Ran) -> dict[str, Json]:
    """What a step changed in modules beside the notebook: the new values, if JSON has them."""
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
                value = getattr(sys.modules.get(name), place.rpartition(".")[2], ABSENT)
                found[place] = [loads(dumps(value))] if is_plain(value) else None
    return found


def state_of_modules(names: Iterable[str]) -> dict[str, Json]:
    """What modules hold that a step has imported, and may have changed since.

    Returns
    -------
    dict[str, Json]
        Place → its value in a list, or the digest of one that JSON does not have.
    """
    found: dict[str, Json] = {}
    for name in sorted(names):
        written = _written(name)
        for place, digest in loaded(name).values.items():
            member = place.rpartition(".")[2]
            value = getattr(sys.modules.get(name), member, ABSENT)
            if not is_plain(value):
                found[place] = digest
            elif (text := dumps(value)) != written.get(member):
                found[place] = [loads(text)]
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


def set_in_module(place: str, value: object) -> bool:
    """Set a value in a module; a list or dict keeps its identity."""
    name, _, member = place.rpartition(".")
    module = sys.modules.get(name)
    if module is None:
        return False
    held = getattr(module, member, None)
    if type(held) is dict and type(value) is dict:
        held.clear()
        held.update(value)
    elif type(held) is list and type(value) is list:
        held[:] = value
    else:
        setattr(module, member, value)
    return True


@dataclass
class ModuleState:
    """What the modules beside the notebook hold that their import did not put there.

    Attributes
    ----------
    unset
        Places that the last move could not set.
    """

    unset: tuple[str, ...] = ()
    _imported: dict[str, dict[str, str]] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)

    def meet(self, names: Iterable[str], *, is_as_imported: bool) -> list[str]:
        """Follow some modules from now on; those that are new.

        Parameters
        ----------
        is_as_imported
            Whether nothing but their import can have put anything there.
        """
        new = [name for name in names if name not in self._imported]
        for name in new:
            self._imported[name] = _texts(name) if is_as_imported else _written(name)
        return new

    def changed(self, changes: Mapping[str, Json]) -> None:
        """Take note of what a step changed and JSON does not have."""
        for place, value in changes.items():
            if value is None:
                self._tokens[place] = secrets.token_hex(8)

    def standing(self) -> dict[str, Json]:
        """What a move to this moment has to set: place → value in a list, or a token."""
        found: dict[str, Json] = dict(self._tokens)
        for name, imported in self._imported.items():
            for member, text in _texts(name).items():
                if imported.get(member) != text:
                    found[f"{name}.{member}"] = [loads(text)]  # as it is now
        return found

    def go_to(self, standing: Mapping[str, Json]) -> list[str]:
        """Set what `standing` says, and the rest as their import left it."""
        texts, unset = [], []
        for place in sorted({*standing, *self.standing()}):
            name, _, member = place.rpartition(".")
            want: Any = standing.get(place)
            if want is None and place not in self._tokens:
                text = self._imported.get(name, {}).get(member)
                want = None if text is None else [loads(text)]
            if type(want) is list:
                if self._put(name, member, want[0]):
                    texts.append(place)
                elif not _holds(name, member, want[0]):
                    unset.append(place)
            elif want != self._tokens.get(place):
                unset.append(place)
        self.unset = tuple(f"{place!r}: run the cell that sets it" for place in unset)
        return texts

    def set_all(self, values: Mapping[str, object]) -> list[str]:
        """Set what a restored step has set; the places where something else was."""
        return [p for p, v in values.items() if self._put(*p.rpartition(".")[::2], v)]

    def _put(self, name: str, member: str, value: object) -> bool:
        """Whether a value was set that was another one."""
        if name not in self._imported and _imported(name):
            self.meet([name], is_as_imported=True)
        if name not in sys.modules or _holds(name, member, value):
            return False
        return set_in_module(f"{name}.{member}", value)


def only_imports(tree: ast.Module) -> bool:
    """Whether a cell imports, and does nothing that could change what it has imported."""
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or not any(isinstance(part, _ACTS) and not _is_set_up(part) for part in ast.walk(node))
        for node in tree.body
    )


_ACTS = (ast.Call, ast.Await, ast.AugAssign, ast.Delete, ast.With, ast.AsyncWith, ast.For,
         ast.AsyncFor, ast.Attribute, ast.Subscript, ast.Starred, ast.comprehension)  # fmt: skip


def _is_set_up(part: ast.AST) -> bool:
    """A call or attribute of `sys` or `os`, or a magic but `%run`."""
    root: Any = part
    while isinstance(root, ast.Call | ast.Attribute):
        if isinstance(root, ast.Attribute) and root.attr in ("run_line_magic", "run_cell_magic"):
            return isinstance(part, ast.Attribute) or _magic(part) not in ("run", "")
        root = root.func if isinstance(root, ast.Call) else root.value
    return isinstance(root, ast.Name) and root.id in ("sys", "os", "get_ipython")


def _magic(call: Any) -> str:
    name = call.args[0] if getattr(call, "args", None) else None
    return str(name.value) if isinstance(name, ast.Constant) else ""


def _written(name: str) -> dict[str, str]:
    """The members of a module that its text sets once, at its top, to what JSON has."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except Exception:  # no text, or one that changed since
        return {}
    found: dict[str, str] = {}
    times = Counter(
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and times[target.id] == 1:
            with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                value = ast.literal_eval(node.value)
                if is_plain(value):
                    found[target.id] = dumps(value)
    return found


def _imported(name: str) -> bool:
    """Import a module, and tell whether that went well."""
    try:
        importlib.import_module(name)
    except Exception:  # whatever its own code raises
        return False
    return name in sys.modules


def _texts(name: str) -> dict[str, str]:
    """The members of a module that JSON has, as texts."""
    module = sys.modules.get(name)
    members = {} if module is None else dict(vars(module))
    return {m: dumps(v) for m, v in members.items() if m[:2] != "__" and is_plain(v)}


def _holds(name: str, member: str, value: object) -> bool:
    module = sys.modules.get(name)
    held = ABSENT if module is None else vars(module).get(member, ABSENT)
    return is_plain(held) and dumps(held) == dumps(value)
