"""Values of variables now, beside those that a step read: only where that is quick and certain.

Nothing is pickled, no code of a value is run, and nothing is looked at while a cell runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING

from nbckpt.fingerprint.values import ValueDigester
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.segments import is_plain
from nbckpt.model import Checkpoint, Key, Variable

if TYPE_CHECKING:
    from nbckpt.session.session import Session

QUICK_BYTES = 1_000_000
"""Of what takes more, what was noted when it was kept is compared."""
MOST_OBJECTS = 20_000
"""In one value, to look at one by one."""

_BUFFERS = re.compile(r"(numpy|pandas|polars|pyarrow|torch)\.")
"""Types of which equal values have equal bytes."""


class Present:
    """The live variables of one session.

    Parameters
    ----------
    moment
        Tells the moment: another one whenever a cell has begun or ended, None while one runs.
    """

    def __init__(self, session: Session, moment: Callable[[], object]) -> None:
        self._session = session
        self._moment = moment
        self._known_at: object = None
        self._known: dict[str, str | None] = {}

    def is_another(self, name: str, read_by: Checkpoint) -> bool | None:
        """True if a variable holds another value than a step read; None if that is not known."""
        now = self._moment()
        if now is None or read_by.key is None:
            return None
        try:
            found = self._compare(name, read_by, read_by.key)
        except (RuntimeError, KeyError, ValueError):  # it changes while it is looked at
            return None
        return found if self._moment() == now else None

    def is_mutable(self, name: str) -> bool:
        """True if the value of a name can change without being bound anew."""
        return type(self._session.namespace.get(name)) not in ATOMS

    def _compare(self, name: str, read_by: Checkpoint, key: Key) -> bool | None:
        digest = key.inputs.get(name) or key.functions.get(name)
        if digest is None or name not in self._session.namespace:
            return None
        if (now := self._digest_now(name)) is not None:
            return now != digest
        settled = self._session.workspace.tracker.settled().get(name)
        read = self._read(name, read_by)
        if settled is None or read is None or not _BUFFERS.match(settled.type_name):
            return None
        return (settled.type_name, settled.value) != (read.type_name, read.value)

    def _read(self, name: str, step: Checkpoint) -> Variable | None:
        """Variable that a step read, as a checkpoint kept it; None if none did.

        A name that the step did not bind is kept with the step, another one with its parent.
        """
        timeline = self._session.timeline
        if name not in step.bound:
            return timeline.manifest(step.id).get(name)
        if step.parent is None or step.joined or step.parent not in timeline.checkpoints:
            return None
        return timeline.manifest(step.parent).get(name)

    def _digest_now(self, name: str) -> str | None:
        """As a key has it; None where that would take time, or run code of the user's."""
        moment = self._moment()
        if moment != self._known_at:
            self._known_at, self._known = moment, {}
        if name not in self._known:
            value = self._session.namespace[name]
            digester = ValueDigester(self._session.namespace, MOST_OBJECTS)
            is_quick = self._is_quick(name, value)
            digest = digester.digest(value) if is_quick else None
            self._known[name] = None if digester.exhausted else digest
        return self._known[name]

    def _is_quick(self, name: str, value: object) -> bool:
        kind = type(value)
        if kind in ATOMS:
            return not isinstance(value, str | bytes) or len(value) < QUICK_BYTES
        if issubclass(kind, FunctionType):
            return True
        kept = self._session.workspace.capturer.kept_as(name)
        if kept is None or kept.size_bytes > QUICK_BYTES:
            return False
        if _BUFFERS.match(f"{kind.__module__}."):
            return not _may_hold_objects(value)
        if kind is set:
            return all(type(item) in ATOMS for item in list(value))  # type: ignore[call-overload]
        return kind in {list, tuple, dict} and is_plain(value)


def _may_hold_objects(value: object) -> bool:
    """True if there may be values inside an array or table that have code of their own."""
    if (kind := getattr(value, "dtype", None)) is not None:
        kinds = [kind]
    else:
        kinds = list(getattr(value, "dtypes", ["object"]))
    return any(str(kind) == "object" or getattr(kind, "hasobject", False) for kind in kinds)
