"""Result of a rerun: its cells, as a table and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from nbckpt.digests import Json
from nbckpt.model import Checkpoint
from nbckpt.text.escape import lines_of
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import duration_text

State: TypeAlias = Literal["restored", "run", "skipped", "failed", "not reached"]


@dataclass(frozen=True, slots=True)
class CellRun:
    """Outcome of one recorded cell.

    Attributes
    ----------
    checkpoint_id
        The checkpoint that holds it on the branch of the rerun; None if there is none.
    why
        Reason that it ran, or did not.
    took_s
        Seconds that it took.
    """

    name: str
    checkpoint_id: str | None
    state: State
    why: str = ""
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Rerun:
    """Result of a rerun.

    Attributes
    ----------
    branch
        Branch that the session is on now.
    start
        Checkpoint where the rerun began.
    is_new
        True if the branch was made for it.
    error
        Reason for an early end, one sentence; None if it did not end early.
    """

    branch: str
    start: Checkpoint
    cells: tuple[CellRun, ...]
    error: str | None = None
    is_new: bool = False

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def text(self, width: int | None = None) -> str:
        """A table, one line a cell, and what came of it all."""
        rows = [_row(cell) for cell in self.cells]
        return f"{table_text(_COLUMNS, rows, width=width)}\n{self._summary()}"

    def _summary(self) -> str:
        states = [cell.state for cell in self.cells]
        counts = [f"{states.count(s)} {s}" for s in _MARKS if s in states]
        on = f"on {'new ' * self.is_new}branch {self.branch!r}"
        text = f"rerun after {self.start.name!r}, {on}: {', '.join(counts)}"
        return lines_of([text] if self.error is None else [text, self.error])


_MARKS = {"restored": "○", "run": "●", "skipped": "·", "failed": "✗", "not reached": " "}
_COLUMNS = (
    Column("", always=True),
    Column("cell"),
    Column("what happened"),
    Column("took", right=True),
    Column("why"),
)


def _row(cell: CellRun) -> tuple[str, ...]:
    took = "" if cell.state in ("skipped", "not reached") else duration_text(cell.took_s)
    return (_MARKS[cell.state], cell.name, cell.state, took, cell.why)


def as_record(rerun: Rerun) -> dict[str, Json]:
    """A rerun's result as JSON."""
    cells: list[Json] = [
        {
            "name": cell.name,
            "checkpoint_id": cell.checkpoint_id,
            "state": cell.state,
            "why": cell.why,
            "took_s": cell.took_s,
        }
        for cell in rerun.cells
    ]
    return {
        "text": rerun.text(),
        "branch": rerun.branch,
        "is_new": rerun.is_new,
        "start": rerun.start.id,
        "cells": cells,
        "error": rerun.error,
    }
