"""A variable's history as a table of text, a line of bars above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.reports.diff.facts import number_text
from nbckpt.reports.variable_history.points import BYTES
from nbckpt.runtime import clock
from nbckpt.text.escape import on_a_line
from nbckpt.text.sparkline import sparkline
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import age_text, bytes_text, count_text

if TYPE_CHECKING:
    from nbckpt.reports.variable_history.points import Point, Points

COLUMNS = (
    Column("step"),
    Column("id"),
    Column("made", right=True),
    Column("type"),
    Column("what it is"),
    Column("differs by"),
    Column("why"),
)


def text_of(history: Points, width: int | None) -> str:
    """All points, newest first."""
    rows = [_row(point) for point in history.shown]
    table = table_text(COLUMNS, rows, width=width)
    return "\n".join([headline(history), table, *_older(history)])


def headline(history: Points) -> str:
    """The name, the number of points, and a line over them, oldest first."""
    told = f"{history.name}: {count_text(len(history.shown) + history.older, 'step')} changed it"
    numbers = history.numbers
    known = [n for n in numbers if n is not None]
    if len(known) < 2:
        return on_a_line(told)
    of = "size" if history.measure == BYTES else history.measure
    tell = bytes_text if history.measure == BYTES else number_text
    return on_a_line(f"{told} · {of} {tell(known[0])} {sparkline(numbers)} {tell(known[-1])}")


def _older(history: Points) -> list[str]:
    return [f"… and {count_text(history.older, 'older step')}"] if history.older else []


def _row(point: Point) -> tuple[str, ...]:
    variable = point.variable
    return (
        point.step,
        point.checkpoint[:8],
        age_text(clock.now() - point.created_at),
        " ".join(filter(None, (variable.type_name, variable.shape))) if variable else point.change,
        point.told,
        point.difference,
        "; ".join(point.why),
    )
