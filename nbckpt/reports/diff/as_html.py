"""A difference as HTML, for notebooks: light or dark as the host is, all of it text, no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from nbckpt.reports.diff.as_text import (
    MARKS,
    counts_text,
    more_text,
    preview_text,
    side_text,
    told_variable,
)
from nbckpt.reports.diff.details import Detail, Line, Row, Status, VariableDifference
from nbckpt.reports.diff.sides import Side

OPEN = 8
"""So many variables are shown with all that is known of them; of more, each opens by itself."""

STYLE = """
.nbckpt-diff { font-family: var(--jp-ui-font-family, system-ui, sans-serif);
  font-size: var(--jp-ui-font-size1, 13px); color: var(--jp-ui-font-color1, inherit);
  line-height: 1.45; }
.nbckpt-diff code, .nbckpt-diff pre, .nbckpt-diff td {
  font-family: var(--jp-code-font-family, ui-monospace, monospace);
  font-size: var(--jp-code-font-size, 12px); }
.nbckpt-diff .quiet { color: var(--jp-ui-font-color2, inherit); opacity: 0.85; }
.nbckpt-diff details { border-top: 1px solid var(--jp-border-color2, rgba(128, 128, 128, 0.35));
  padding: 3px 0; }
.nbckpt-diff .flat { border-top: 1px solid var(--jp-border-color2, rgba(128, 128, 128, 0.35));
  padding: 3px 0 3px 1em; }
.nbckpt-diff summary { cursor: pointer; }
.nbckpt-diff summary:focus-visible { outline: 2px solid var(--jp-brand-color1, #1976d2); }
.nbckpt-diff .inside { margin: 2px 0 6px 22px; }
.nbckpt-diff table { border-collapse: collapse; margin: 4px 0; color: inherit; }
.nbckpt-diff td, .nbckpt-diff th { text-align: left; padding: 1px 14px 1px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; vertical-align: top; background: none; }
.nbckpt-diff pre { margin: 4px 0; white-space: pre-wrap; overflow-wrap: anywhere; color: inherit;
  background: none; }
.nbckpt-diff pre span { display: block; padding: 0 4px; }
.nbckpt-diff .mark { display: inline-block; width: 1.2em; text-align: center; font-weight: 600; }
.nbckpt-diff .added { color: var(--jp-success-color1, #388e3c); }
.nbckpt-diff .removed { color: var(--jp-error-color1, #d32f2f); }
.nbckpt-diff .changed { color: var(--jp-warn-color1, #c77700); }
.nbckpt-diff span.plus { background: rgba(56, 142, 60, 0.18); }
.nbckpt-diff span.minus { background: rgba(211, 47, 47, 0.16); }
"""

_CLASSES = {"+": "plus", "-": "minus", "@": "quiet", " ": ""}


def html_of(sections: Sequence[str]) -> str:
    """The sections, as one element with its style."""
    return f'<div class="nbckpt-diff"><style>{STYLE}</style>{"".join(sections)}</div>'


def sides_html(a: Side, b: Side) -> str:
    """The two sides that are compared."""
    sides = (("a", a), ("b", b))
    lines = (f"<div><b>{label}</b> {escape(side_text(side))}</div>" for label, side in sides)
    return "".join(lines)


def counts_html(counts: Mapping[Status, int]) -> str:
    """Numbers of variables by status."""
    return f"<div>{escape(counts_text(counts))}</div>"


def variables_html(variables: Sequence[VariableDifference]) -> str:
    """All variables that differ, and how."""
    is_short = len(variables) <= OPEN
    return "".join(_variable(variable, is_open=is_short) for variable in variables)


def _variable(variable: VariableDifference, *, is_open: bool) -> str:
    status = variable.status
    head = (
        f'<span class="mark {status}" title="{status}">{MARKS[status]}</span>'
        f'<code>{escape(variable.name)}</code> <span class="quiet">'
        f"{escape(told_variable(variable))}</span>"
    )
    detail = variable.detail
    if detail is not None:
        head += f" {escape(detail.summary)}"
    inside = "".join(_inside(detail)) if detail else ""
    if preview := preview_text(variable):
        inside += f"<code>{escape(preview)}</code>"
    if not inside:
        return f'<div class="flat">{head}</div>'
    opened = " open" if is_open else ""
    return f'<details{opened}><summary>{head}</summary><div class="inside">{inside}</div></details>'


def _inside(detail: Detail) -> Iterator[str]:
    if detail.lines:
        yield _pre(detail.lines)
    if any(row.path for row in detail.rows):
        yield _table(detail.rows)
    if more := more_text(detail):
        yield f'<div class="quiet">{escape(more)}</div>'


def _table(rows: Sequence[Row]) -> str:
    head = "<tr><th></th><th>before</th><th>after</th></tr>"
    body = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows)
    return f"<table>{head}{''.join(f'<tr>{cells}</tr>' for cells in body)}</table>"


def _pre(lines: Sequence[Line]) -> str:
    spans = (
        f'<span class="{_CLASSES[line.sign]}">{line.sign} {escape(line.text)}</span>'
        for line in lines
    )
    return f"<pre>{''.join(spans)}</pre>"


def lines_html(title: str, lines: Sequence[Line], more: int) -> str:
    """Differing lines under a title; empty if there are none."""
    if not lines:
        return ""
    rest = f'<div class="quiet">… and {more:,} more</div>' if more else ""
    return (
        f"<details open><summary>{title}</summary>"
        f'<div class="inside">{_pre(lines)}{rest}</div></details>'
    )


def remarks_html(remarks: Sequence[str]) -> str:
    """Further notes, each on a line."""
    return "".join(f'<div class="quiet">{escape(remark)}</div>' for remark in remarks)
