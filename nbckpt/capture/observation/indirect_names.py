"""Names that code looked up by other means than its text: `eval`, frames, pickles, formulas."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbckpt.capture.observation import audit, audit_events
from nbckpt.capture.observation.audited import Audited, AuditedWindow
from nbckpt.capture.observation.look_ups import look_ups_of
from nbckpt.capture.observation.observer import Ran
from nbckpt.digests import Digest, Json, digest_of_json
from nbckpt.fingerprint import keys
from nbckpt.fingerprint.code import Names as Read
from nbckpt.fingerprint.code import names_of_tree
from nbckpt.fingerprint.keys import is_users_name
from nbckpt.fingerprint.keys.inputs import Inputs
from nbckpt.fingerprint.keys.reach import names_of_definition
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.fingerprint.values.modules import loaded
from nbckpt.runtime.user_code_errors import user_code_errors

ABSENT = "absent"
"""Stands for the value of a name that does not exist."""

_LOOK_UP = tuple(getattr(builtins, name) for name in ("globals", "locals", "vars"))
"""Builtins that look at a namespace without anybody's being told of it."""

MAX_CELLS = 20
"""Cells that run inside each other; of more, some came to no end that was told."""

_LISTS = frozenset({"dir"})


@dataclass
class _Window(AuditedWindow):
    """Names that one step looks up.

    Attributes
    ----------
    there
        Names that were there when it began.
    """

    there: Sequence[str] = ()


class Names(Audited):
    """The facet of names that are looked up by other means than the text of a cell.

    Parameters
    ----------
    namespace
        The variables of the notebook.
    touch
        Is told which variables may have changed unseen; None for any.
    """

    name = "names"

    def __init__(
        self,
        namespace: Mapping[str, object],
        touch: Callable[[frozenset[str] | None], object] = lambda _: None,
    ) -> None:
        super().__init__()
        self._namespace = namespace
        self._touch = touch
        self._cells: deque[_Window] = deque()

    def cell_begins(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Collect what any cell looks up, kept or not: it may change what it found."""
        if len(self._cells) >= MAX_CELLS:
            audit.closed(self._cells.popleft().audited)
        self._cells.append(_Window(audit.opened(self._namespace)))

    def cell_ends(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Tell which variables a cell may have changed unseen."""
        if self._cells:
            window = self._cells.pop()
            self._tell_touched(audit.collected(window.audited))
            audit.closed(window.audited)

    def open(self) -> object:
        """A window that collects look-ups from now on."""
        window = _Window(audit.opened(self._namespace), list(self._namespace))
        self._open.append(window)
        return window

    def close(self, window: object, ran: Ran) -> Json:
        """Name → digest of its value before the step, of each name that was looked up."""
        assert isinstance(window, _Window)
        with audit.paused():
            text = names_of_tree(ran.tree, ran.namespace.keys())
            events = audit.collected(window.audited)
            self._tell_touched(events)
            seen = look_ups_of(events, ran.tree)
            if seen.queries and not _queries(text, ran):
                seen.everything = True
            observed: dict[str, Json] = {}
            if modules := _made_modules(text.imports):
                observed["modules"] = modules
            if not _LISTS.isdisjoint(text.loads - ran.namespace.keys()):
                observed["listed"] = _listed(ran)
            everything = seen.everything or _reaches_all(ran)
            if everything and not text.everything:
                observed["all"] = all_values(ran, frozenset(window.there))
            elif seen.reads and not text.everything:
                names = _closed(seen.reads, ran)
                if values := _values(names, seen.reads, ran, frozenset(window.there)):
                    observed["values"] = values
            for nested in window.nested:
                _join(observed, nested)
        return observed or None

    def _tell_touched(self, events: Sequence[audit_events.Event]) -> None:
        """Tell which variables evaluated code binds, or may change in place."""
        if not events:
            return
        with audit.paused():
            seen = look_ups_of(events, None)
            if seen.everything:
                self._touch(None)
            elif seen.reads or seen.binds:
                names = frozenset(seen.reads)
                read = Read(reads=names, loads=names, binds=frozenset(seen.binds))
                self._touch(keys.touched(read, self._namespace))

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Reason not to restore: a name or module that the step looked up is another now."""
        if not observed:
            return None
        kept: Any = observed
        with audit.paused():
            for module, digest in kept.get("modules", {}).items():
                if _module_digest(module) != digest:
                    return f"module {module!r} changed"
            if "listed" in kept and kept["listed"] != _listed(ran):
                return "it lists the names that there are, and these are others now"
            values, there = kept.get("values", {}), frozenset(ran.namespace)
            if values and (name := _differing(values, _values(values, values, ran, there))):
                return f"variable {name!r} changed, which it looks up by its name"
            if "all" in kept and (name := _differing(kept["all"], all_values(ran, there))):
                return f"variable {name!r} changed, and it may look up any"
        return None


def _queries(text: Read, ran: Ran) -> bool:
    """True if the step is known to run queries: the key has what their texts name."""
    if text.queries:
        return True
    names = {*ran.key.inputs, *ran.key.functions} & ran.namespace.keys()
    values = (ran.namespace[name] for name in names)
    return any(names_of_definition(value, ran.namespace).queries for value in values)


# -- values -----------------------------------------------------------------------------------


def _closed(reads: Mapping[str, bool], ran: Ran) -> set[str]:
    """Names, and those that the user's functions behind them read, without those of the key."""
    names = frozenset(n for n in reads if n in ran.namespace and is_users_name(n))
    inputs = Inputs(ran.namespace, Read(reads=names, loads=names), lambda _: Digest(""))
    inputs.of_cell()
    found = {*reads, *inputs.variables, *(d.partition(".")[0] for d in inputs.definitions)}
    return {n for n in found - ran.key.inputs.keys() if is_users_name(n) and n.isidentifier()}


def _values(
    names: Iterable[str], strictly: Mapping[str, object], ran: Ran, there: frozenset[str]
) -> dict[str, Json]:
    """Name → what stands for its value before the step, when the names `there` existed."""
    before = ran.values()
    found: dict[str, Json] = {}
    for name in sorted(names):
        value = ran.namespace.get(name)
        if name in before and issubclass(type(value), FunctionType | type):
            found[name] = _walked_digest(value, ran)  # back, it may have other bytes
        elif name in before:
            found[name] = before[name]
        elif name in there and name in ran.namespace:
            found[name] = _walked_digest(ran.namespace[name], ran)
        elif strictly.get(name) and name not in there and not hasattr(builtins, name):
            found[name] = ABSENT
    return found


def all_values(ran: Ran, there: frozenset[str]) -> dict[str, Json]:
    """Name → what stands for its value before the step, of all that its key does not have.

    Parameters
    ----------
    there
        The names that existed before it.
    """
    names = {n for n in there | ran.values().keys() if is_users_name(n)} - NAMES
    return _values(names - ran.key.inputs.keys(), {}, ran, there)


def _walked_digest(value: object, ran: Ran) -> str:
    """Digest of a value by a walk, not by the bytes in which it may be kept."""
    if issubclass(type(value), Own):
        return ""
    try:
        return ValueDigester(ran.namespace).digest(value)
    except user_code_errors():  # whatever a value's own code raises
        return "untold"


def _differing(then: Mapping[str, Json], now: Mapping[str, Json]) -> str | None:
    return next((n for n in sorted({*then, *now}) if then.get(n) != now.get(n)), None)


def _listed(ran: Ran) -> Json:
    return digest_of_json(sorted(n for n in ran.values() if is_users_name(n) and n not in NAMES))[
        :32
    ]


def _reaches_all(ran: Ran) -> bool:
    """True if a variable that the step reads is a way to all others: a module table, `globals`."""
    main = sys.modules.get("__main__")
    ways = (sys.modules, main, ran.namespace, *_LOOK_UP)
    for name in ran.key.inputs:
        value = ran.namespace.get(name)
        if value is not None and any(value is way for way in ways):
            return True
    return False


def _made_modules(imports: Iterable[str]) -> dict[str, Json]:
    """Imported modules that have no file because the notebook made them → what they hold."""
    found: dict[str, Json] = {}
    for name in imports:
        if (digest := _module_digest(name)) is not None:
            found[name] = digest
    return found


def _module_digest(name: str) -> Json:
    module = sys.modules.get(name)
    if module is None or name == "__main__" or name in sys.builtin_module_names:
        return None
    members = getattr(module, "__dict__", {})
    if members.get("__spec__") is not None or members.get("__file__") is not None:
        return None
    found = loaded(name)
    return digest_of_json([found.code, dict(found.values)])[:32]


def _join(observed: dict[str, Json], nested: Any) -> None:
    for member, what in nested.items():
        known: Any = observed.get(member)
        observed[member] = {**what, **(known or {})} if isinstance(what, dict) else what
