"""Text in columns, for a terminal and for what a notebook prints: tables, and labelled facts."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from nbckpt.text.escape import legible, on_a_line

ELLIPSIS = "…"
GAP = "  "
NARROWEST = 8
LABEL_WIDTH = 10


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    title
        Stands above it.
    right
        Whether its texts end at the same place, as numbers do.
    always
        Whether it is shown when all of its texts are empty.
    """

    title: str
    right: bool = False
    always: bool = False


def table_text(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int | None = None
) -> str:
    """A table in plain text, one line a row, under a line of titles.

    Parameters
    ----------
    rows
        Texts, one for each column; line ends in them are written out.
    width
        Characters that there is room for: the widest columns are cut to fit. None: no limit.
    """
    texts = [[on_a_line(text) for text in row] for row in rows]
    used = [i for i in range(len(columns)) if columns[i].always or any(row[i] for row in texts)]
    shown = [columns[i] for i in used]
    grid = [[on_a_line(c.title) for c in shown], *([row[i] for i in used] for row in texts)]
    widths = [max(map(width_of, column)) for column in zip(*grid, strict=True)]
    if width is not None:
        widths = _fitted(widths, width)
    return "\n".join(_line(shown, row, widths) for row in grid)


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (_padded(text, w, c) for text, w, c in zip(row, widths, columns, strict=True))
    return GAP.join(cells).rstrip()


def _padded(text: str, width: int, column: Column) -> str:
    if text.isascii() and len(text) <= width:  # nearly all, and a long log has many
        return text.rjust(width) if column.right else text.ljust(width)
    text = cut(text, width)
    space = " " * (width - width_of(text))
    return space + text if column.right else text + space


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """`widths`, the widest of them made smaller until all fit into `room`."""
    fitted = list(widths)
    room -= len(GAP) * (len(fitted) - 1)
    while sum(fitted) > room:
        widest = max(range(len(fitted)), key=lambda i: fitted[i])
        if fitted[widest] <= NARROWEST:
            break
        fitted[widest] -= 1
    return fitted


def cut(text: str, width: int) -> str:
    """`text` if it fits into `width`, else its beginning and an ellipsis."""
    if width_of(text) <= width:
        return text
    kept = ""
    for character in text:
        if width_of(kept + character) > width - 1:
            break
        kept += character
    return kept + ELLIPSIS


def width_of(text: str) -> int:
    """The columns that `text` takes on a terminal: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(map(_width_of_character, text))


def _width_of_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def facts_text(facts: Sequence[tuple[str, str | Sequence[str]]]) -> str:
    """Labels and what they are, those without a text left out.

    Parameters
    ----------
    facts
        Labels, each with a text, which takes one line whatever it holds, or with several.
    """
    shown = [(label, [text] if isinstance(text, str) else text) for label, text in facts if text]
    width = max([LABEL_WIDTH, *(width_of(label) for label, _ in shown)])
    return "\n".join(_fact(label, text, width) for label, text in shown)


def _fact(label: str, texts: Sequence[str], width: int) -> str:
    labels = [label + " " * (width - width_of(label))]
    lines = zip_longest(labels, map(on_a_line, texts), fillvalue=" " * width)
    return "\n".join(f"{left}{GAP}{right}" for left, right in lines)


def indented(text: str, by: str = "    ") -> str:
    """`text` with each of its lines moved to the right; it may have colours."""
    lines = legible(text, colours=True).splitlines()
    return "\n".join(by + line if line else line for line in lines)
