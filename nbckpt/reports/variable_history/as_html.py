"""A variable's history as HTML, for notebooks: all of it text, and a drawn line; no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from nbckpt.reports.diff.as_html import STYLE
from nbckpt.reports.diff.facts import number_text
from nbckpt.reports.variable_history.as_text import headline
from nbckpt.reports.variable_history.points import BYTES
from nbckpt.runtime import clock
from nbckpt.text.units import age_text, bytes_text, count_text

if TYPE_CHECKING:
    from nbckpt.reports.variable_history.points import Point, Points

WIDTH, HEIGHT, EDGE = 420, 64, 5


def html_of(history: Points) -> str:
    """All points, newest first; each opens to the code and the head of its value."""
    told = headline(history).partition(" · ")[0]
    points = "".join(_point(point) for point in history.shown)
    older = f'<div class="quiet">… and {count_text(history.older, "older step")}</div>'
    return (
        f'<div class="nbckpt-diff"><style>{STYLE}</style><div><b>{escape(told)}</b></div>'
        f"{_line(history)}{points}{older if history.older else ''}</div>"
    )


def _line(history: Points) -> str:
    """The numbers of all points, oldest first, as a line with dots."""
    numbers = history.numbers
    known = [n for n in numbers if n is not None and math.isfinite(n)]
    if len(known) < 2:
        return ""
    tell = bytes_text if history.measure == BYTES else number_text
    measure = "size" if history.measure == BYTES else history.measure
    label = f"{measure}, from {tell(known[0])} to {tell(known[-1])}"
    places = places_of(numbers, WIDTH, HEIGHT, EDGE)
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in places)
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{WIDTH}" height="{HEIGHT}" '
        f'style="color: var(--jp-brand-color1, #1976d2); max-width: 100%; display: block">'
        f'<polyline points="{drawn}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<g fill="currentColor">{dots}</g></svg><div class="quiet">{escape(label)}</div>'
    )


def places_of(
    numbers: Sequence[float | None], width: float, height: float, edge: float
) -> list[tuple[float, float]]:
    """Where the known ones of some numbers lie in a drawing, evenly apart.

    Examples
    --------
    >>> places_of([0, None, 10], 100, 20, 0)
    [(0.0, 20.0), (100.0, 0.0)]
    """
    known = [n for n in numbers if n is not None and math.isfinite(n)]
    low, high = min(known), max(known)
    wide, tall = width - 2 * edge, height - 2 * edge
    return [
        (
            edge + wide * i / max(1, len(numbers) - 1),
            edge + tall * (0.5 if high == low else 1 - (n / 2 - low / 2) / (high / 2 - low / 2)),
        )
        for i, n in enumerate(numbers)
        if n is not None and math.isfinite(n)
    ]


def _point(point: Point) -> str:
    variable = point.variable
    kind = " ".join(filter(None, (variable.type_name, variable.shape))) if variable else ""
    age = age_text(clock.now() - point.created_at)
    facts = " · ".join((point.checkpoint[:8], age, kind))
    head = (
        f'<b>{escape(point.step)}</b> <span class="quiet">{escape(facts)}</span> '
        f"{escape(point.told or point.change)}"
    )
    inside = [f'<div class="quiet">{escape("; ".join(point.why))}</div>']
    inside += [f"<div>{escape(point.difference)}</div>"] if point.difference else []
    inside += [f"<pre>{escape(chr(10).join(point.code))}</pre>"] if point.code else []
    inside += [_head(point.facts.head)] if point.facts.head else []
    return (
        f'<details><summary>{head}</summary><div class="inside">{"".join(inside)}</div></details>'
    )


def _head(head: Sequence[Sequence[str]]) -> str:
    titles, *rows = head
    top = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(t)}</td>' for t in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"
