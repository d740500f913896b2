"""The head of a table that a cell showed as HTML."""

from __future__ import annotations

from contextlib import suppress
from html.parser import HTMLParser

from nbckpt.text.escape import on_a_line

MOST_ROWS, MOST_COLUMNS = 4, 4
MOST_OF_TABLE = 20_000
"""Characters of HTML that are looked at."""
MOST_OF_CELL = 12


def head_of_table(html: str) -> list[list[str]]:
    """The texts of the first cells of the first table; none if there is no table."""
    reader = _TableReader()
    with suppress(AssertionError, ValueError):  # what is no HTML
        reader.feed(html[:MOST_OF_TABLE])
    return [row[:MOST_COLUMNS] for row in reader.rows[:MOST_ROWS] if row]


class _TableReader(HTMLParser):
    """Reads the outermost table that comes first; other tables in it, and scripts, tell nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._depth = 0
        self._is_done = self._is_in_cell = False
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "table":
            self._depth += 1
        elif tag in ("script", "style"):
            self._silent += 1
        elif self._is_outermost and tag == "tr":
            self.rows.append([])
        elif self._is_outermost and tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._is_done = self._is_done or self._depth == 1
            self._depth -= 1
        elif tag in ("script", "style"):
            self._silent -= 1
        elif self._is_outermost and tag in ("td", "th", "tr"):
            self._is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_outermost and self._is_in_cell and not self._silent and self.rows[-1]:
            self.rows[-1][-1] = (self.rows[-1][-1] + on_a_line(data))[:MOST_OF_CELL]

    @property
    def _is_outermost(self) -> bool:
        return self._depth == 1 and not self._is_done
