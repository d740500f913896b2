"""The cells of a notebook as a page tells them, and what of their text counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nbckpt.errors import UsageError
from nbckpt.jupyter.notebook.identities import maker_of
from nbckpt.jupyter.notebook.runs import Run, code_of
from nbckpt.model import Cell
from nbckpt.session.history.recorded_cells import blocks_in

CODE = "code"

_OURS = re.compile(
    r"\s*%(load_ext\s+nbckpt|unload_ext\s+nbckpt|reload_ext\s+nbckpt"
    r"|(nbckpt|resume|rewind|fork|switch|rerun|timeline)\b).*"
)
_MARKED = re.compile(r"\s*(#[ \t]*)?%%checkpoint(?!\S)")


class Written(NamedTuple):
    """A code cell, as its text is now."""

    cell_id: str
    source: str

    @property
    def is_marked(self) -> bool:
        """True if it asks to be restored instead of run."""
        lines = [line for line in self.source.splitlines() if line.strip()][:2]
        marks = [_MARKED.match(line) for line in lines]
        return any(mark and not (n and mark[1]) for n, mark in enumerate(marks))

    @property
    def is_empty(self) -> bool:
        """True if there is nothing in it to run."""
        lines = self.source.splitlines()
        return all(not line.strip() or line.lstrip().startswith("#") for line in lines)

    @property
    def is_our_own(self) -> bool:
        """True if it does nothing but ask nbckpt for something."""
        lines = [line for line in self.source.splitlines() if line.strip()]
        asks = [line for line in lines if not line.lstrip().startswith("#")]
        return bool(asks) and all(_OURS.fullmatch(line) for line in asks)

    def has_run(self, ran: Cell) -> bool:
        """True if something that ran is this cell, or a block in it."""
        if ran.cell_id is not None:
            return ran.cell_id == self.cell_id
        return ran.source in blocks_in(self.source)

    def is_other_than(self, source: str) -> bool:
        """True if the text says something else than one that ran."""
        if self.source == source:
            return False
        from nbckpt.session.history.recorded_cells import without_marker

        return code_of(without_marker(self.source)) != code_of(without_marker(source))


def code_cells(cells: object) -> list[Written]:
    """The code cells of a notebook, in their order.

    Raises
    ------
    UsageError
        If `cells` is no list of cells.
    """
    if not isinstance(cells, Sequence) or isinstance(cells, str):
        message = "'cells' is missing: a list of objects with 'cell_id', 'source' and 'kind'"
        raise UsageError(message)
    found = []
    for cell in cells:
        if not isinstance(cell, Mapping) or not isinstance(cell.get("cell_id"), str):
            message = "each of 'cells' is an object with 'cell_id', 'source' and 'kind'"
            raise UsageError(message)
        if _text(cell, "kind", CODE) == CODE:
            found.append(Written(_text(cell, "cell_id"), _text(cell, "source")))
    return found


def known_as(
    cells: Sequence[Written], ran: Iterable[Cell], restored: Iterable[Run] = ()
) -> list[Written]:
    """The cells with the ids under which they ran.

    A cell whose id never ran is known by what it was restored from, or by its text, if the cell
    that ran is gone and no other one has that text. A notebook file of a format before 4.5 keeps
    no ids, so each page gives its cells new ones: where not one is known, equal cells are known
    in their order.

    Parameters
    ----------
    ran
        What ran, oldest first. Of several that could be meant, the last one is.
    restored
        Cells that were restored from what others had made.
    """
    sources: dict[str, str] = {}
    for ran_once in ran:
        if cell_id := ran_once.cell_id:
            sources.pop(cell_id, None)
            sources[cell_id] = ran_once.source
    here = {cell.cell_id for cell in cells}
    known = {cell_id: cell_id for cell_id in here.intersection(sources)}
    makers = {run.cell_id: maker_of(run) for run in restored}
    gone = {i: source for i, source in sources.items() if i not in here}
    new = [cell for cell in cells if cell.cell_id not in known]
    for cell in new:
        if (maker := makers.get(cell.cell_id, "")) in gone:
            known[cell.cell_id] = maker
            del gone[maker]
    if gone and (new := [cell for cell in new if cell.cell_id not in known]):
        known |= _by_text(new, cells, gone, is_new=here.isdisjoint(sources))
    return [cell._replace(cell_id=known.get(cell.cell_id, cell.cell_id)) for cell in cells]


def _by_text(
    new: Sequence[Written], cells: Sequence[Written], gone: Mapping[str, str], *, is_new: bool
) -> dict[str, str]:
    """Id of each cell that is known by its text → that under which this ran."""
    text_of = code_of if is_new else str
    often = Counter(text_of(cell.source) for cell in cells if not cell.is_empty)
    ids: dict[str, list[str]] = {}
    for cell_id, source in gone.items():
        ids.setdefault(text_of(source), []).append(cell_id)
    waiting = {
        text: ids[text][-count:][::-1]
        for text, count in often.items()
        if text in ids and (count == 1 or is_new)
    }
    found = ((cell.cell_id, waiting.get(text_of(cell.source))) for cell in new)
    return {cell_id: others.pop() for cell_id, others in found if others}


def _text(cell: Mapping[str, Any], name: str, default: str = "") -> str:
    value = cell.get(name, default)
    return value if isinstance(value, str) else default
