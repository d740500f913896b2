"""Result of comparing two checkpoints, and its forms: text, HTML, JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from nbckpt.fingerprint.names import Own
from nbckpt.model import Variable
from nbckpt.reports.diff.details import Detail, Line
from nbckpt.reports.diff.sides import Side

Status: TypeAlias = Literal["added", "removed", "changed", "same"]


class VariableDifference(NamedTuple):
    """One variable on both sides.

    Attributes
    ----------
    status
        ``same`` for one whose bytes differ and whose value does not; others that are the same
        are counted alone.
    a, b
        What is known of it on each side; None where it is not.
    detail
        How the two differ; None where one is missing.
    """

    name: str
    status: Status
    a: Variable | None
    b: Variable | None
    detail: Detail | None

    def as_record(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "name": self.name,
            "status": self.status,
            "a": _variable_record(self.a),
            "b": _variable_record(self.b),
            "detail": _detail_record(self.detail),
        }


@dataclass(frozen=True)
class Difference(Own):
    """Differences of `b` from `a`.

    Attributes
    ----------
    variables
        Those that differ, and those that are the same though their bytes are not, by name.
    same
        Number of variables that are the same.
    code, outputs
        Differences of the cells' code and of their outputs, line by line.
    more
        Lines of code and of outputs that differ beside those.
    remarks
        Further notes on the comparison.
    """

    a: Side
    b: Side
    variables: tuple[VariableDifference, ...]
    same: int
    code: tuple[Line, ...] = ()
    outputs: tuple[Line, ...] = ()
    more: tuple[int, int] = (0, 0)
    remarks: tuple[str, ...] = ()

    def text(self, width: int | None = None) -> str:
        """The difference as plain text.

        Parameters
        ----------
        width
            Characters that there is room for; None: no limit.
        """
        from nbckpt.reports.diff.as_text import text_of

        return text_of(self, width)

    def as_record(self) -> dict[str, object]:
        """The difference for programs: plain values, times in seconds since the epoch."""
        return {
            "a": self.a.as_record(),
            "b": self.b.as_record(),
            "variables": [variable.as_record() for variable in self.variables],
            "code": {"lines": _line_records(self.code)},
            "outputs": {"lines": _line_records(self.outputs)},
            "same": self.same,
            "remarks": list(self.remarks),
        }

    def counts(self) -> dict[Status, int]:
        """Number of variables that were added, removed, changed, and are the same."""
        found = [v.status for v in self.variables]
        kinds: tuple[Status, ...] = ("added", "removed", "changed")
        return {**{kind: found.count(kind) for kind in kinds}, "same": self.same}

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from nbckpt.reports.diff.as_html import html_of

        return html_of(self)


def _variable_record(variable: Variable | None) -> dict[str, object] | None:
    if variable is None:
        return None
    return {
        "type_name": variable.type_name,
        "shape": variable.shape,
        "size_bytes": variable.size_bytes,
        "preview": variable.preview,
    }


def _detail_record(detail: Detail | None) -> dict[str, object] | None:
    if detail is None:
        return None
    return {
        "kind": detail.kind,
        "summary": detail.summary,
        "rows": [list(row) for row in detail.rows],
        "lines": _line_records(detail.lines),
        "more": detail.more,
    }


def _line_records(lines: tuple[Line, ...]) -> list[dict[str, str]]:
    return [line._asdict() for line in lines]
