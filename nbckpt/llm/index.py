"""Recordings by what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from nbckpt.digests import Digest
from nbckpt.model import Record

Asking: TypeAlias = tuple[str, Digest, int]
"""Step, request, and how many equal ones had begun before."""


class Index:
    """The recordings of a store that are answers, for looking up one of very many.

    Its keys are texts, and what was recorded once stands in no list: the collector would go through
    a hundred thousand of either again and again.
    """

    def __init__(self) -> None:
        self._found: dict[str, Record] = {}
        self._more: dict[str, list[Record]] = {}
        self._ids: set[str] = set()

    def take(self, records: Iterable[Record]) -> None:
        """Know these as well; what is known already does no harm."""
        for record in records:
            if record["state"] != "done" or (own := record["id"]) in self._ids:
                continue
            self._ids.add(own)
            asking = _text(record["step"], record["request"], record["occurrence"])
            if self._found.setdefault(asking, record) is not record:
                self._more.setdefault(asking, []).append(record)

    def find(self, asking: Asking) -> Sequence[Record]:
        """The recordings of one call; several if it was paid for several times."""
        text = _text(*asking)
        found = self._found.get(text)
        return () if found is None else (found, *self._more.get(text, ()))

    def of_step(self, step: str) -> list[Record]:
        """All recordings of a step, newest first."""
        more = (record for records in self._more.values() for record in records)
        found = [record for record in (*self._found.values(), *more) if record["step"] == step]
        return sorted(found, key=_time, reverse=True)


def _text(step: str, request: Digest, occurrence: int) -> str:
    return f"{request}{occurrence} {step}"


def newest(records: Iterable[Record]) -> Record:
    """The one that was made last."""
    return max(records, key=_time)


def _time(record: Record) -> float:
    return float(record["created_at"])
