"""The checkpoint that last changed each variable, folded along a line of records. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from nbckpt.model import Record
from nbckpt.timeline.ancestry import Lineage

STRIDE = 64
"""From one checkpoint whose record says what it inherited to the next."""
REMEMBERED = 8
"""Folds that are not made again."""


class Owners:
    """Last changes of variables, over records and a lineage that go on growing."""

    def __init__(self, records: Mapping[str, Record], lineage: Lineage) -> None:
        self._records = records
        self._lineage = lineage
        self._remembered: dict[str, dict[str, str]] = {}

    def forget(self) -> None:
        """Fold anew: a record is another, or came after one of its children."""
        self._remembered.clear()

    def of(self, checkpoint_id: str) -> dict[str, str]:
        """Name of each variable → id of the checkpoint that last changed it, or carries it."""
        unfolded: list[tuple[str, Record]] = []
        owners: dict[str, str] = {}
        for i in self._lineage.line(checkpoint_id):
            if i in self._remembered:
                owners = dict(self._remembered[i])
                break
            record = self._records[i]
            unfolded.append((i, record))
            inherited = record.get("inherited")
            # One that was pruned owns nothing any more: whoever carries it is further up.
            if inherited and all(owner in self._records for owner in inherited):
                owners = {name: owner for owner, names in inherited.items() for name in names}
                break
        for i, record in reversed(unfolded):
            owners.update((variable["name"], i) for variable in record.get("carried", ()))
            owners.update((variable["name"], i) for variable in record.get("changed", ()))
            for name in record.get("removed", ()):
                owners.pop(name, None)
        self._remembered[checkpoint_id] = owners
        while len(self._remembered) > REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return owners

    def inherited(self, parent: str | None) -> dict[str, tuple[str, ...]]:
        """Owners that a new child of `parent` records of its ancestors, where its readers stop.

        Only one checkpoint in `STRIDE` has them: they are as long as the manifest.
        """
        if parent is None or parent not in self._records:
            return {}
        if (self._lineage.depth(parent) + 1) % STRIDE:
            return {}
        names: dict[str, list[str]] = {}
        for name, owner in self.of(parent).items():
            names.setdefault(owner, []).append(name)
        return {owner: tuple(owned) for owner, owned in names.items()}
