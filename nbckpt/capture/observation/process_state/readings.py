"""Process state now, of all kinds: read again only where something differs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nbckpt.capture.observation.process_state.kinds import ABSENT, Imported, Kind, Reading
from nbckpt.capture.observation.process_state.state_json import IS_ABSENT, is_settable, short_digest
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.user_code_errors import user_code_errors


class Readings(Own):
    """The last reading of each kind, and what it differs from.

    Attributes
    ----------
    kinds
        By their names, in the order in which they are set.
    now
        Name of a kind whose library is loaded → its last reading.
    baselines
        Name of a kind → item → value that the notebook has not set.
    originals
        Kind, item and digest of a value that no record can set → the value.
    """

    def __init__(self, kinds: Iterable[Kind], namespace: Mapping[str, object]) -> None:
        self.kinds = {kind.name: kind for kind in kinds}
        self.now: dict[str, Reading] = {}
        self.baselines: dict[str, dict[str, Any]] = {}
        self.originals: dict[tuple[str, str, str], Any] = {}
        self._namespace = namespace
        self._modules = frozenset(sys.modules)
        self.look(None)

    def digest(self, name: str, item: str) -> str:
        """A short digest of an item now."""
        now = self.now.get(name)
        return now.digest(item) if now is not None else short_digest(IS_ABSENT)

    def look(self, tree: ast.Module | None, *, has_set: bool = False) -> None:
        """Read again what differs.

        Parameters
        ----------
        tree
            The code that ran since, where it is known.
        has_set
            Whether no code did, and nbckpt has set something: no import has.
        """
        imported = self._imported()
        for name, kind in self.kinds.items():
            module = sys.modules.get(kind.module)
            if module is None:
                continue
            known = self.now.get(name)
            try:
                if known is not None and kind.is_same(module, known.items):
                    continue
                items = kind.read(module)
                if name not in self.baselines:
                    defaults = kind.defaults(module)
                    self.baselines[name] = dict(items if defaults is None else defaults)
            except user_code_errors():  # a library that is half imported, or of another version
                continue
            if not has_set:
                self._leave_to_imports(kind, items, known, imported, tree)
            self._read(kind, items)

    def _read(self, kind: Kind, items: dict[str, Any]) -> None:
        reading = Reading(kind, items, kind.changed(items, self.baselines[kind.name]))
        self.now[kind.name] = reading
        for item, value in reading.changed.items():
            if value is not ABSENT and not is_settable(reading.encoded(item)):
                self.originals[kind.name, item, reading.digest(item)] = value

    def _imported(self) -> frozenset[str]:
        """First names of modules that were imported since the last time."""
        if len(sys.modules) == len(self._modules):
            return frozenset()
        before, self._modules = self._modules, frozenset(sys.modules)
        return frozenset(name.partition(".")[0] for name in self._modules - before)

    def _leave_to_imports(
        self,
        kind: Kind,
        items: Mapping[str, Any],
        known: Reading | None,
        modules: Collection[str],
        tree: ast.Module | None,
    ) -> None:
        """Have the baseline take what imports have set, and the notebook has not."""
        if not modules:
            return
        baseline = self.baselines[kind.name]
        imported: Imported | None = None
        for item, value in kind.changed(items, baseline).items():
            if value is ABSENT or (known is not None and item in known.changed):
                continue
            imported = imported or self._imported_by(modules, tree)
            if kind.is_of_import(item, imported):
                kind.leave(item, items, baseline)

    def _imported_by(self, modules: Collection[str], tree: ast.Module | None) -> Imported:
        if tree is None:
            return Imported(modules, (), ())
        from nbckpt.capture.observation.process_state.reach import strings_of, words_of

        space = self._namespace
        return Imported(modules, words_of(tree, space), strings_of(tree, space))
