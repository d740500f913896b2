"""A difference as plain text, for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from nbckpt.model import Variable
from nbckpt.reports.diff.details import Detail, Line, Status, VariableDifference
from nbckpt.reports.diff.sides import Side
from nbckpt.text.escape import lines_of, on_a_line
from nbckpt.text.tables import (
    Column,
    cut,
    facts_text,
    indented,
    table_text,
)
from nbckpt.text.units import bytes_text, duration_text

ID_LENGTH = 8
MARKS = {"added": "+", "removed": "-", "changed": "~", "same": "="}
ROWS = (Column("", always=True), Column("before", always=True), Column("after", always=True))


def text_of(sections: Sequence[str], width: int | None) -> str:
    """The sections that are not empty, no line of them wider than `width`."""
    text = "\n\n".join(section for section in sections if section)
    if width is None:
        return text
    return "\n".join(cut(line, width) for line in text.splitlines())


def sides_text(a: Side, b: Side) -> str:
    """The two sides that are compared."""
    return facts_text([("a", side_text(a)), ("b", side_text(b))])


def side_text(side: Side) -> str:
    """A side in one line: its name and branch, and a checkpoint's id and duration."""
    if not side.id:
        return f"{side.name} on {side.branch}, not kept yet"
    took = duration_text(side.duration_s)
    return f"{side.name} ({side.id[:ID_LENGTH]}) on {side.branch}, took {took}"


def counts_text(counts: Mapping[Status, int]) -> str:
    """Numbers of variables that were added, removed, changed, and are the same.

    Numbers that are 0 are left out.
    """
    texts = [f"{n:,} {status}" for status, n in counts.items() if n]
    return f"variables: {', '.join(texts) or 'none'}"


def variables_text(variables: Sequence[VariableDifference], width: int | None) -> str:
    """All variables that differ, and how."""
    return "\n".join(_variable(variable, width) for variable in variables)


def told_variable(difference: VariableDifference) -> str:
    """Type, shape and size of a variable, before and after where that differs."""
    kept = [v for v in (difference.a, difference.b) if v is not None]
    texts = list(dict.fromkeys(map(_told, kept)))
    return " → ".join(texts)


def _told(variable: Variable) -> str:
    shape = f" {variable.shape}" if variable.shape else ""
    return f"{variable.type_name}{shape}, {bytes_text(variable.size_bytes)}"


def preview_text(difference: VariableDifference) -> str:
    """Preview of a variable that is on one side only; empty for others."""
    kept = difference.b or difference.a
    return kept.preview if kept is not None and difference.detail is None else ""


def more_text(detail: Detail) -> str:
    """That there is more than is shown; nothing if there is not.

    Examples
    --------
    >>> more_text(Detail("tree", "", more=1200)), more_text(Detail("tree", ""))
    ('… and 1,200 more', '')
    """
    return f"… and {detail.more:,} more" if detail.more > 0 else ""


def _variable(variable: VariableDifference, width: int | None) -> str:
    head = f"{MARKS[variable.status]} {variable.name}  {told_variable(variable)}"
    return lines_of([head, *(f"    {line}" for line in _below(variable, width))])


def _below(variable: VariableDifference, width: int | None) -> Iterator[str]:
    if preview := preview_text(variable):
        yield preview
    detail = variable.detail
    if detail is None:
        return
    yield from textwrap.wrap(detail.summary, width - 4) if width else [detail.summary]
    yield from _lines(detail.lines)
    if any(row.path for row in detail.rows):
        yield from table_text(ROWS, detail.rows, width=width and width - 4).splitlines()
    if more := more_text(detail):
        yield more


def _lines(lines: Sequence[Line]) -> Iterator[str]:
    return (on_a_line(f"{line.sign} {line.text}".rstrip(), colours=True) for line in lines)


def lines_text(title: str, lines: Sequence[Line], more: int) -> str:
    """Differing lines under a title; empty if there are none."""
    if not lines:
        return ""
    texts = [*_lines(lines), *([f"… and {more:,} more"] if more else [])]
    return f"{title}\n{indented(chr(10).join(texts))}"


def remarks_text(remarks: Sequence[str]) -> str:
    """Further notes, each on a line."""
    return lines_of(remarks)
