"""One step that changed a variable, and the points of all of them as a row of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from nbckpt.model import Variable
from nbckpt.reports.diff.facts import Facts

Change: TypeAlias = Literal["new", "changed", "gone", "not kept"]
BYTES = "bytes"
"""The measure where the values have no other in common."""


class Point(NamedTuple):
    """One step that changed the variable.

    Attributes
    ----------
    checkpoint
        Id; the value of then is at it.
    step
        Name of the checkpoint.
    variable
        As it was recorded; None where it is gone or was not kept.
    change
        What became of the variable there.
    why
        What changed it, in short sentences.
    code
        The statements that name it there, those that bind it if any does; a line each.
    difference
        From the value before, in a line; empty where that is not known.
    facts
        The value in numbers.
    """

    checkpoint: str
    step: str
    branch: str
    created_at: float
    variable: Variable | None
    change: Change
    why: tuple[str, ...]
    code: tuple[str, ...] = ()
    difference: str = ""
    facts: Facts = Facts()

    @property
    def number(self) -> float | None:
        """The one number of this point for a line over all; without another its size in bytes."""
        if self.facts.number is not None:
            return self.facts.number
        return None if self.variable is None else float(self.variable.size_bytes)

    @property
    def told(self) -> str:
        """The value in a line: its numbers, or what it looks like; empty where there is none."""
        return "" if self.variable is None else self.facts.text() or self.variable.preview

    def as_record(self) -> dict[str, object]:
        """The same for programs: plain values, the time in seconds since the epoch."""
        variable = self.variable
        return {
            "checkpoint": self.checkpoint,
            "step": self.step,
            "branch": self.branch,
            "created_at": self.created_at,
            "change": self.change,
            "type_name": variable.type_name if variable else "",
            "shape": (variable.shape or "") if variable else "",
            "size_bytes": variable.size_bytes if variable else None,
            "preview": variable.preview if variable else "",
            "told": self.told,
            "why": list(self.why),
            "code": list(self.code),
            "difference": self.difference,
            "facts": self.facts.as_record(),
            "number": self.number,
        }


class Points(NamedTuple):
    """The steps that changed one variable.

    Attributes
    ----------
    name
        Of the variable.
    shown
        Newest first.
    older
        Number of steps before these that changed it, too.
    """

    name: str
    shown: Sequence[Point]
    older: int = 0

    @property
    def measure(self) -> str:
        """What the numbers are: of all points one thing, else their size."""
        told = [point.facts for point in self.shown if point.variable is not None]
        measures = {facts.measure for facts in told if facts.rows != 0 or facts.measure}
        only = measures.pop() if len(measures) == 1 else ""
        return only or BYTES

    @property
    def numbers(self) -> list[float | None]:
        """One number for each point, oldest first, all of the same measure."""
        if self.measure == BYTES:
            sizes = (p.variable.size_bytes if p.variable else None for p in reversed(self.shown))
            return [None if size is None else float(size) for size in sizes]
        return [p.facts.number if p.variable else None for p in reversed(self.shown)]
