"""Recordings by what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from nbckpt.digests import Digest
from nbckpt.model import Record

Asking: TypeAlias = tuple[str, Digest, int]
"""Step, request, and how many equal ones had begun before."""


class Index:
    """The recordings of a store that are answers, for looking up one of very many."""

    def __init__(self) -> None:
        self._found: dict[Asking, list[Record]] = {}
        self._ids: set[str] = set()

    def take(self, records: Iterable[Record]) -> None:
        """Know these as well; what is known already does no harm."""
        for record in records:
            if record["state"] != "done" or record["id"] in self._ids:
                continue
            self._ids.add(record["id"])
            asking = (record["step"], record["request"], record["occurrence"])
            self._found.setdefault(asking, []).append(record)

    def find(self, asking: Asking) -> Sequence[Record]:
        """The recordings of one call; several if it was paid for several times."""
        return self._found.get(asking, ())

    def of_step(self, step: str) -> list[Record]:
        """All recordings of a step, newest first."""
        found = [r for (name, *_), records in self._found.items() if name == step for r in records]
        return sorted(found, key=_time, reverse=True)


def newest(records: Iterable[Record]) -> Record:
    """The one that was made last."""
    return max(records, key=_time)


def _time(record: Record) -> float:
    return float(record["created_at"])
