"""The part of a store that is not known to be its user's, as text and JSON."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbckpt.text.escape import on_a_line
from nbckpt.text.tables import facts_text
from nbckpt.text.units import count_text

FEW = 6
"""Names that are told; the others are counted."""
_SPOKEN = {
    "step": "kept call",
    "items": "result of a map",
    "recording": "model call",
    "value": "recorded value",
}


@dataclass(frozen=True, slots=True)
class UntrustedReport:
    """The part of a store that is not known to be this user's.

    Attributes
    ----------
    path
        Path of the store.
    records, journals, checkpoints
        Number of each.
    seen
        Mark that tells just these records from all others, given back by whoever trusts them.
    writers
        Users who claim to have written it, each as `user@host`; anybody can claim that.
    since, until
        Times of the first and the last of these checkpoints; None where there is none.
    functions, classes, recipes, pickled
        Names of variables, the newest first; `pickled` are the others, with their types.
    others
        Kind of record → number of records: kept calls, model calls, answers.
    settings
        Settings in its `config.json` that do not count, each as `name=value`.
    """

    path: Path
    records: int
    journals: int
    checkpoints: int
    writers: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    recipes: tuple[str, ...] = ()
    pickled: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, int], ...] = ()
    seen: str = ""
    settings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.records > 0 or bool(self.settings)

    def text(self) -> str:
        """The lines for people."""
        if not self:
            return f"all in {on_a_line(str(self.path))} is yours: there is nothing to trust"
        types = Counter(kind for _, kind in self.pickled)
        pickled = [f"{name} ({count})" for name, count in types.most_common()]
        facts = [
            ("store", str(self.path)),
            ("not yours", f"{self._amount()}; or yours, from elsewhere"),
            ("says it is", f"by {few(self.writers)}" if self.writers else ""),
            ("made", _between(self.since, self.until)),
            ("functions", few(self.functions)),
            ("classes", few(self.classes)),
            ("recipes", few(self.recipes)),
            ("pickles of", few(pickled)),
            ("kept", ", ".join(_counted(kind, number) for kind, number in self.others)),
            ("settings", ", ".join(self.settings)),
        ]
        return facts_text(facts)

    def as_record(self) -> dict[str, Any]:
        """The same for programs; times in UTC."""
        return {
            "store": str(self.path),
            "records": self.records,
            "journals": self.journals,
            "checkpoints": self.checkpoints,
            "seen": self.seen,
            "writers": list(self.writers),
            "since": _utc(self.since),
            "until": _utc(self.until),
            "functions": list(self.functions),
            "classes": list(self.classes),
            "recipes": list(self.recipes),
            "pickled": [{"name": name, "type_name": kind} for name, kind in self.pickled],
            "others": dict(self.others),
            "settings": list(self.settings),
        }

    def _amount(self) -> str:
        if not self.records:
            return "its settings"
        made = [count_text(self.checkpoints, "checkpoint")] * bool(self.checkpoints)
        made.append(count_text(self.records, "record"))
        return f"{' and '.join(made)} in {count_text(self.journals, 'journal')}"


def _counted(kind: str, number: int) -> str:
    return count_text(number, _SPOKEN.get(kind, "question or answer"), _PLURAL.get(kind, ""))


_PLURAL = {"items": "results of maps", "approval": "questions and answers"}


def few(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = [f"{len(names) - FEW} more"] if len(names) > FEW else []
    return ", ".join([*names[:FEW], *more])


def _between(since: float | None, until: float | None) -> str:
    times = _days(t for t in (since, until) if t is not None)
    return " to ".join(dict.fromkeys(times))


def _days(times: Iterable[float]) -> list[str]:
    return [f"{dt.datetime.fromtimestamp(t).astimezone():%Y-%m-%d %H:%M}" for t in times]


def _utc(time: float | None) -> str | None:
    return None if time is None else dt.datetime.fromtimestamp(time, dt.UTC).isoformat()
