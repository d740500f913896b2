"""Outcome of each cell of a run, according to the store's events. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from nbckpt.model import Record
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import count_text, duration_text

Ending: TypeAlias = Literal["done", "failed", "unanswered", "died", "interrupted", "waiting"]
Way: TypeAlias = Literal["ran", "restored", "continued"]

FINAL = frozenset({"ran", "failed", "restored"})
"""The events that end a step."""

_RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{6,}|\d+")
_AUTOMATIC = "cell-"
_LABEL_LENGTH = 32
WORTH_TELLING_S = 0.05


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one code cell.

    Attributes
    ----------
    number
        Number of the cell, counted from 1 among those that hold code.
    label
        Name of its checkpoint, or a text that tells it from other cells.
    ending
        Its ending; ``waiting`` if it was not reached.
    way
        ``ran`` from its beginning, ``restored``, or ``continued`` in a loop.
    done, total
        Items of its loop that were finished when it went on, and all of them; -1: unknown.
    began_at
        Seconds since the epoch; 0 if it did not begin.
    saved_s
        Seconds more that it would have taken without its checkpoints.
    """

    number: int
    label: str
    cell_id: str
    ending: Ending = "waiting"
    way: Way = "ran"
    began_at: float = 0.0
    took_s: float = 0.0
    saved_s: float = 0.0
    done: int = 0
    total: int = -1

    @property
    def text(self) -> str:
        """In words."""
        began = {"ran": "", "restored": "restored", "continued": self._went_on()}[self.way]
        if self.ending == "done":
            return began or "ran"
        if self.ending == "waiting":
            return "not reached"
        ending = {"died": "kernel died", "unanswered": "waits for an answer"}.get(
            self.ending, self.ending
        )
        return f"{began}, then {ending}" if began else ending

    def _went_on(self) -> str:
        of = f" of {self.total}" if self.total >= 0 else ""
        return f"went on at item {self.done + 1}{of}"


def told(outcome: Outcome, events: Iterable[Record]) -> Outcome:
    """`outcome` with what the events of its time tell: how it began, and what that saved.

    Parameters
    ----------
    events
        Of the session, while the cell ran; oldest first. A cell may hold steps of its own.
    """
    events = [e for e in events if e["event"] in FINAL or e["event"] == "continued"]
    helped = [e for e in events if e["event"] in ("restored", "continued")]
    went_on = next((e for e in reversed(helped) if e["event"] == "continued"), None)
    return replace(
        outcome,
        label=_name(events, outcome.cell_id) or outcome.label,
        way="continued" if went_on else _way(events, outcome.cell_id),
        saved_s=sum(max(0.0, e.get("saved_s", 0.0)) for e in helped),
        done=went_on["done"] if went_on else 0,
        total=went_on["total"] if went_on else -1,
    )


def _name(events: Sequence[Record], cell_id: str) -> str:
    """The name that its user gave to the cell's own checkpoint; empty if none."""
    own = [e["name"] for e in events if e.get("cell_id") == cell_id]
    return next((name for name in own if not name.startswith(_AUTOMATIC)), "")


def _way(events: Sequence[Record], cell_id: str) -> Way:
    """Restored as a whole, or in all of its steps; else it ran."""
    last = {e["name"]: e["event"] for e in events if e.get("cell_id") != cell_id}
    own = [e["event"] for e in events if e.get("cell_id") == cell_id]
    if "restored" in own or (last and set(last.values()) == {"restored"}):
        return "restored"
    return "ran"


def label_of(source: str, cell_id: str) -> str:
    """A text that tells a cell from others: its id if someone chose that, else its first line."""
    if cell_id and not _RANDOM_ID.fullmatch(cell_id):
        return cell_id
    lines = [line.strip() for line in source.splitlines()]
    told = next((line for line in lines if line and not line.startswith(("#", "%%"))), cell_id)
    return told if len(told) <= _LABEL_LENGTH else told[: _LABEL_LENGTH - 1] + "…"


def summary_text(outcomes: Sequence[Outcome]) -> str:
    """One line: how many cells were restored, and the time that this saved."""
    restored = sum(o.way == "restored" and o.ending == "done" for o in outcomes)
    went_on = [o for o in outcomes if o.way == "continued"]
    parts = [f"restored {restored} of {count_text(len(outcomes), 'cell')}"]
    parts += [f"{o.label!r} went on at item {o.done + 1}" for o in went_on]
    saved = sum(o.saved_s for o in outcomes)
    if saved >= WORTH_TELLING_S:
        parts.append(f"saved {duration_text(saved)}")
    return ", ".join(parts)


_COLUMNS = (
    Column("cell", right=True),
    Column("name"),
    Column("what happened"),
    Column("took", right=True),
    Column("saved", right=True),
)


def table(outcomes: Sequence[Outcome], *, width: int | None = None) -> str:
    """Table of outcomes, one line for each cell."""
    return table_text(_COLUMNS, [_row(outcome) for outcome in outcomes], width=width)


def _row(outcome: Outcome) -> tuple[str, ...]:
    reached = outcome.ending != "waiting"
    return (
        str(outcome.number),
        outcome.label,
        outcome.text,
        duration_text(outcome.took_s) if reached else "",
        duration_text(outcome.saved_s) if outcome.saved_s >= WORTH_TELLING_S else "",
    )
