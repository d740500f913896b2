"""Setting process state: what differs from a record, of one kind after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbckpt.capture.observation.process_state.kinds import ABSENT, Change, Kind
from nbckpt.capture.observation.process_state.readings import Readings
from nbckpt.capture.observation.process_state.state_json import (
    IS_ABSENT,
    IS_AS_BEFORE,
    State,
    is_settable,
    names_variable,
    short_digest,
)
from nbckpt.digests import Json
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.user_code_errors import user_code_errors, user_code_errors_ignored

_MANY = 3


class StateSetter(Own):
    """Sets items of the process, and tells which it could not set.

    Parameters
    ----------
    changed
        Is called before anything is set.
    """

    def __init__(self, readings: Readings, changed: Callable[[], object]) -> None:
        self._readings = readings
        self._changed = changed
        self._waiting: dict[str, dict[str, Json]] = {}  # to be set once variables are there
        self._named: set[str] = set()

    def set_but_waiting(self, target: State, *, with_originals: bool = False) -> list[str]:
        """Set items; those that are variables wait for these."""
        self._waiting = {}
        at_once: dict[str, dict[str, Json]] = {}
        for name, items in target.items():
            for item, value in items.items():
                into = self._waiting if names_variable(value) else at_once
                into.setdefault(name, {})[item] = value
        return self._set(at_once, with_originals=with_originals)

    def set_waiting(self) -> list[str]:
        """Set what waited for variables; they are there now, or will not be."""
        waiting, self._waiting = self._waiting, {}
        return self._set(waiting, with_originals=True)

    def _set(self, target: State, *, with_originals: bool = False) -> list[str]:
        """Set items where they are other ones; a text for each."""
        if not target:
            return []
        self._changed()
        texts: list[str] = []
        for name, kind in self._readings.kinds.items():
            if name not in target:
                continue
            problem = self._loaded(kind)
            differing = {
                item: value
                for item, value in target[name].items()
                if problem or self._is_other(kind, item, value)
            }
            if not differing:
                continue
            done = [] if problem else self._put(kind, differing, with_originals=with_originals)
            if kind.is_told:
                texts += _told(kind, done)
                texts += self._not_set(kind, [i for i in differing if i not in done], problem)
        self._readings.look(None, has_set=True)
        return texts

    def _loaded(self, kind: Kind) -> str:
        """Import the library of a kind; why it cannot be, if so."""
        if kind.module not in sys.modules:
            try:
                __import__(kind.module)
            except user_code_errors() as error:  # whatever an import raises
                return str(error)
        self._readings.look(None)
        return ""

    def _is_other(self, kind: Kind, item: str, value: Json) -> bool:
        now = self._readings.now.get(kind.name)
        if now is None:
            return value != IS_AS_BEFORE
        if value == IS_AS_BEFORE:
            return item in now.changed
        return now.digest(item) != short_digest(value)

    def _put(self, kind: Kind, items: Mapping[str, Json], *, with_originals: bool) -> list[str]:
        """Set items of one kind together, else one by one; those that were set."""
        values: dict[str, Any] = {}
        for item, value in items.items():
            with user_code_errors_ignored():  # one that cannot be set is named
                values[item] = self._value(kind, item, value, with_originals=with_originals)
        for some in (values, *({i: v} for i, v in values.items())):
            with user_code_errors_ignored():
                self.apply(kind, some)
            self._readings.look(None, has_set=True)
            if not any(self._is_other(kind, item, items[item]) for item in values):
                break
        return [item for item in values if not self._is_other(kind, item, items[item])]

    def _value(self, kind: Kind, item: str, value: Json, *, with_originals: bool) -> Any:
        if value == IS_AS_BEFORE:
            return IS_AS_BEFORE
        if value == IS_ABSENT:
            return ABSENT
        if not is_settable(value) and with_originals:
            return self._readings.originals[kind.name, item, short_digest(value)]
        return kind.decoded(item, value)

    def apply(self, kind: Kind, items: Mapping[str, Any]) -> None:
        """Set items of a kind to values, as it sets them itself."""
        if not items:
            return
        baseline = self._readings.baselines.get(kind.name, {})
        now = self._readings.now.get(kind.name)
        target = dict(now.changed) if now is not None else {}
        values: dict[str, Any] = {}
        gone: list[str] = []
        for item, value in items.items():
            was = baseline.get(item, ABSENT)
            new = was if value is IS_AS_BEFORE else value
            target[item] = new
            if value is IS_AS_BEFORE or (new is ABSENT and was is ABSENT):
                del target[item]
            if new is ABSENT:
                gone.append(item)
            else:
                values[item] = new
        kind.put(sys.modules[kind.module], Change(values, gone, target, baseline))

    def _not_set(self, kind: Kind, items: Sequence[str], problem: str) -> list[str]:
        new = [item for item in items if kind.text(item) not in self._named]
        self._named.update(kind.text(item) for item in new)
        why = f" ({problem})" if problem else ""
        return [f"NOT {text}{why}" for text in _told(kind, new)]


def _told(kind: Kind, items: Sequence[str]) -> list[str]:
    if len(items) > _MANY:
        return [f"{kind.name} ({len(items)} settings)"]
    return [kind.text(item) for item in items]
