"""Findings of a comparison of two values, and limits on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from nbckpt.model import Variable

Kind: TypeAlias = Literal["frame", "array", "text", "code", "tree", "model", "value", "unreadable"]
Sign: TypeAlias = Literal[" ", "+", "-", "@"]
Status: TypeAlias = Literal["added", "removed", "changed", "same"]


class Line(NamedTuple):
    """One line of a diff: ``+`` is after's, ``-`` before's, a space both's, ``@`` says where."""

    sign: Sign
    text: str


class Row(NamedTuple):
    """One place inside a value, and what is there before and after.

    Attributes
    ----------
    path
        What follows the variable's name in Python, as ``['lr']`` or ``.coef_[3]``; or a word or
        two, as ``shape``.
    """

    path: str
    before: str
    after: str


class Detail(NamedTuple):
    """Differences between two values.

    Attributes
    ----------
    summary
        One line.
    rows, lines
        The first few places and lines that differ.
    more
        Number of differing places or lines that are not among them.
    is_same
        True if all was compared and nothing differs.
    """

    kind: Kind
    summary: str
    rows: tuple[Row, ...] = ()
    lines: tuple[Line, ...] = ()
    more: int = 0
    is_same: bool = False


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
    facts
        Records of what each of the two is in numbers (`facts`); None where one is missing, or
        they say nothing.
    """

    name: str
    status: Status
    a: Variable | None
    b: Variable | None
    detail: Detail | None
    facts: tuple[Mapping[str, object], Mapping[str, object]] | None = None

    def as_record(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "name": self.name,
            "status": self.status,
            "a": _variable_record(self.a),
            "b": _variable_record(self.b),
            "detail": _detail_record(self.detail),
            "facts": self.facts and list(self.facts),
        }


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
        "lines": line_records(detail.lines),
        "more": detail.more,
    }


def line_records(lines: tuple[Line, ...]) -> list[dict[str, str]]:
    """The lines of a diff for programs."""
    return [line._asdict() for line in lines]


SAME_VALUE = "same value"


def same(kind: Kind) -> Detail:
    """The detail of two values of which all was compared and nothing differs."""
    return Detail(kind, SAME_VALUE, is_same=True)


class Limits(NamedTuple):
    """Limits on the parts of one variable that are looked at and shown.

    Attributes
    ----------
    rows, lines
        Shown of one value.
    characters
        Of one value in a row.
    line_characters
        Of one line.
    compared_bytes
        Of arrays and columns of numbers, for each of the two sides; of larger ones a sample is
        compared, evenly spread.
    objects
        Values that Python has to compare one by one.
    aligned
        Items of the two lists, or lines of the two texts, between what both begin and end with,
        that are matched with each other; more are compared place by place.
    loaded_bytes
        A value that is not made of buffers and is larger is not loaded.
    walk_s
        Seconds after which no more parts of one value are compared.
    total_s
        Seconds after which no further variable is looked into.
    facts
        Whether heads, series and histograms of both values are wanted beside what differs.
    """

    rows: int = 12
    lines: int = 40
    characters: int = 80
    line_characters: int = 200
    compared_bytes: int = 1_000_000_000
    objects: int = 300_000
    aligned: int = 2_000
    loaded_bytes: int = 300_000_000
    walk_s: float = 4.0
    total_s: float = 20.0
    facts: bool = False


def share_text(part: int, whole: int) -> str:
    """A part in percent, never rounded to nothing or all.

    Examples
    --------
    >>> share_text(1, 3), share_text(1, 10**9), share_text(999_999, 10**6), share_text(5, 5)
    ('33.3 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.3g} %"
