"""Digests of values that no code can have changed since they were made: they are not walked again.

A cell that only reads a long list has it walked for its key, each time that it runs. What a look
takes for unchanged has the bytes that it had, and so the digest: the look relies on the same
reasons. In the mode that checks these (the setting `verify`) each is made anew and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from nbckpt.capture.change_tracking.change_tracker import ChangeTracker
from nbckpt.digests import Digest
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values import Examined
from nbckpt.fingerprint.values.homes import MODULE_OF_CLASS
from nbckpt.fingerprint.values.raw_members import bases_of
from nbckpt.fingerprint.values.sure_types import is_plain
from nbckpt.fingerprint.values.walking import End
from nbckpt.session.workspace.audit import Audit
from nbckpt.session.workspace.stale_search import Stale

Examine = Callable[[object], Examined]

LEAST_BYTES = 20_000
"""A smaller value is walked in less time than it takes to be sure of it."""

_MODULES = frozenset({"builtins", "collections", "datetime", "decimal", "fractions", "uuid"})
_BASES = _MODULES | {"__main__", "abc", "enum", "typing"}
_OTHERS = frozenset({memoryview, ModuleType, property, super})
"""Of Python's own, those that lead to what others have."""


class _Known(NamedTuple):
    """A value that was examined.

    Attributes
    ----------
    blob
        The bytes that were kept of it.
    definitions
        Digests of the functions and classes of the notebook inside it.
    """

    blob: Digest
    examined: Examined
    definitions: tuple[Digest, ...]


class KnownValues(Own):
    """What keys have learnt of the variables of one namespace."""

    def __init__(self, tracker: ChangeTracker, audit: Audit) -> None:
        self._tracker = tracker
        self._audit = audit
        self._known: dict[str, _Known] = {}

    def find(self, name: str, value: object, examine: Examine) -> Examined | None:
        """What was learnt of a variable; None if that may not be so any more.

        Parameters
        ----------
        examine
            Examines a definition inside it: what a class holds may have changed.
        """
        known = self._known.get(name)
        if known is None:
            return None
        definitions = _digests(known.examined, examine)
        if known.blob != self._blob_of(name) or known.definitions != definitions:
            del self._known[name]
            return None
        if self._audit.mode != "off" and examine(value) != known.examined:
            del self._known[name]
            self._audit.report([Stale(name, name, "its digest was known")], "it is walked")
            return None
        return known.examined

    def learn(self, name: str, examined: Examined, examine: Examine) -> None:
        """Take note of a variable that was examined as it is now."""
        if examined.exhausted or examined.unknown or examined.modules:
            return
        blob = self._blob_of(name)
        if not blob or not all(map(_is_all_in_its_bytes, examined.kinds)):
            return
        self._known[name] = _Known(blob, examined, _digests(examined, examine))

    def _blob_of(self, name: str) -> Digest:
        """What is kept of a variable that is as it was kept; empty if that is not known."""
        kept = self._tracker.kept.get(name)
        if kept is None or kept.recipe:
            return ""
        if kept.size_bytes < LEAST_BYTES and self._audit.mode == "off":
            return ""
        return kept.blob if self._tracker.is_settled(name) else ""


def _digests(examined: Examined, examine: Examine) -> tuple[Digest, ...]:
    return tuple(examine(definition).digest for definition in examined.reached)


def _is_all_in_its_bytes(kind: type) -> bool:
    """True if objects of a type are what is written of them: no files, locks or others' memory."""
    if kind is End:
        return True
    module = MODULE_OF_CLASS(kind)
    if module != "__main__":
        return module in _MODULES and kind not in _OTHERS
    return is_plain(kind) and all(MODULE_OF_CLASS(base) in _BASES for base in bases_of(kind))
