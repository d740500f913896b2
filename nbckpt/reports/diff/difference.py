"""Result of comparing two checkpoints, and its forms: text, HTML, JSON."""

from __future__ import annotations

from dataclasses import dataclass

from nbckpt.fingerprint.user_names import Own
from nbckpt.reports.diff.details import Line, Status, VariableDifference, line_records
from nbckpt.reports.diff.sides import Side


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
        from nbckpt.reports.diff import as_text

        sections = [
            as_text.sides_text(self.a, self.b),
            as_text.counts_text(self.counts()),
            as_text.variables_text(self.variables, width),
            as_text.lines_text("code", self.code, self.more[0]),
            as_text.lines_text("outputs", self.outputs, self.more[1]),
            as_text.remarks_text(self.remarks),
        ]
        return as_text.text_of(sections, width)

    def as_record(self) -> dict[str, object]:
        """The difference for programs: plain values, times in seconds since the epoch."""
        return {
            "a": self.a.as_record(),
            "b": self.b.as_record(),
            "variables": [variable.as_record() for variable in self.variables],
            "code": {"lines": line_records(self.code)},
            "outputs": {"lines": line_records(self.outputs)},
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
        from nbckpt.reports.diff import as_html

        return as_html.html_of(
            [
                as_html.sides_html(self.a, self.b),
                as_html.counts_html(self.counts()),
                as_html.variables_html(self.variables),
                as_html.lines_html("code", self.code, self.more[0]),
                as_html.lines_html("outputs", self.outputs, self.more[1]),
                as_html.remarks_html(self.remarks),
            ]
        )
