"""Cells of the open notebooks, matched to those that ran, where their ids do not say it.

A cell gets another id when it is copied and the first one deleted, and all cells of a notebook
file that keeps none (a format before 4.5) get new ones whenever it is opened. A cell is taken for
one that ran under another id if that id is gone from its notebook and either it was restored from
what that one made, or its text is the very same, and there is no other cell with this text. Once
known, it stays so when its text is edited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nbckpt.jupyter.notebook.runs import Run

MOST = 16
"""Pages that are remembered: one that was loaded again does not say that it has gone."""


class _Page(NamedTuple):
    """The cells of a notebook, in their order: their ids, and what tells their texts."""

    notebook: str
    cells: Mapping[str, int | None]


class Identities:
    """Ids of cells that the pages of one session reported, and the ids that they stand for.

    An id *stands for* another one that ran: that one counts.
    """

    def __init__(self) -> None:
        self._pages: dict[str, _Page] = {}  # replaced, not changed: cells ask from their thread
        self._same: dict[str, str] = {}
        self._homes: dict[str, set[str]] = {}  # of each cell that was seen, its notebooks

    def take(
        self, page: str, cells: Sequence[str], texts: Sequence[int | None] = (), notebook: str = ""
    ) -> None:
        """Take note of the cells of a page.

        Parameters
        ----------
        cells
            Their ids, in their order.
        texts
            `Cell.source_crc` of each, None of a cell without code; empty where the page tells none.
        notebook
            Path of its notebook.
        """
        told = texts if len(texts) == len(cells) else [None] * len(cells)
        others = {i: other for i, other in self._pages.items() if i != page}
        pages = {**others, page: _Page(notebook, dict(zip(cells, told, strict=True)))}
        self._pages = dict(list(pages.items())[-MOST:])
        for cell_id in cells:
            self._homes.setdefault(cell_id, set()).add(notebook)

    def forget(self, page: str) -> None:
        """Take note that a page is closed."""
        self._pages = {i: other for i, other in self._pages.items() if i != page}

    def has_gone(self, cell_id: str, *, where: str) -> bool:
        """True if a cell is gone from the notebook in which another one is."""
        pages = reversed(list(self._pages.values()))
        page = next((page for page in pages if where in page.cells), None)
        return page is not None and cell_id not in page.cells and self._was_in(cell_id, page)

    def _was_in(self, cell_id: str, page: _Page) -> bool:
        """True if a cell may have stood in a notebook: it was not only seen in others."""
        homes = self._homes.get(cell_id)
        return homes is None or page.notebook in homes

    def of(self, cell_id: str) -> str:
        """The id that counts for a cell."""
        while cell_id in self._same:
            cell_id = self._same[cell_id]
        return cell_id

    @property
    def others(self) -> dict[str, str]:
        """Each id that stands for another one → that one."""
        return {cell_id: self.of(cell_id) for cell_id in self._same}

    def orders(self) -> list[dict[str, int]]:
        """Of each page, newest first: the ids that count → the places of their cells."""
        pages = reversed(self._pages.values())
        return [{self.of(i): place for place, i in enumerate(page.cells)} for page in pages]

    def learn(
        self, runs: Sequence[Run], before: Mapping[str, int], since: Mapping[str, int]
    ) -> None:
        """Find out which cells are which.

        Parameters
        ----------
        runs
            All that happened to the namespace, oldest first.
        before, since
            Ids for which there is something else to tell, each with what tells its text then.
        """
        ran = {run.cell_id: run.source_crc for run in runs if run.cell_id}
        ran = {**before, **ran, **since}
        made = {run.cell_id: maker for run in runs if (maker := maker_of(run))}
        for page in self._pages.values():
            self._part(page)
            self._match(page, ran, made)

    def _part(self, page: _Page) -> None:
        """Two cells that stand side by side are not the same."""
        held = Counter(self.of(cell_id) for cell_id in page.cells)
        twice = [i for i in page.cells if i in self._same and held[self.of(i)] > 1]
        for cell_id in twice:
            del self._same[cell_id]

    def _match(self, page: _Page, ran: Mapping[str, int], made: Mapping[str, str]) -> None:
        held = {self.of(cell_id) for cell_id in page.cells}
        if held >= {*ran, *made.values()}:
            return
        away = {self.of(i): text for i, text in ran.items() if self.of(i) not in held}
        away = {i: text for i, text in away.items() if self._was_in(i, page)}
        by_text = {text: i for i, text in away.items()}
        once = {text for text, count in Counter(away.values()).items() if count == 1}
        once -= {text for text, count in Counter(page.cells.values()).items() if count > 1}
        known = {self.of(cell_id) for cell_id in ran}
        makers = {i: self.of(made[i]) for i in page.cells if i in made}
        often = Counter(makers.values())
        for cell_id, text in page.cells.items():
            maker = makers.get(cell_id, "")
            if maker not in away or often[maker] > 1:
                is_new = cell_id not in known and text in once
                maker = by_text[text] if is_new and text else ""  # 0 is that of no text
            if maker in away and cell_id not in self._same:
                self._same[cell_id] = maker
                del away[maker]


def maker_of(run: Run) -> str:
    """Id of the cell from whose checkpoint another one was restored; empty if there is none."""
    if run.restored is None or run.checkpoint is None:
        return ""
    maker = run.checkpoint.cell.cell_id or ""
    return maker if run.cell_id and maker != run.cell_id else ""
