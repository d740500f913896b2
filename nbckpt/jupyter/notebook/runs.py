"""Cells that ran on a line of checkpoints, in their order, with the checkpoint that holds each."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.model import Cell, Checkpoint

# What only changed cells need is imported by the first of them, not by the first look at a page.
if TYPE_CHECKING:
    from nbckpt.fingerprint.code import Names


class Restored(NamedTuple):
    """That a cell was restored, and not run.

    Attributes
    ----------
    source_crc
        Of its text, where that was another than the text which made its checkpoint.
    """

    took_s: float
    source_crc: int | None = None


class Run(NamedTuple):
    """A cell that ran well.

    Attributes
    ----------
    checkpoint
        What holds what it made; None as long as nothing does.
    is_own
        Whether that is its own, and not of a cell that it was joined to.
    restored
        How it was restored in this session; None if it ran, or came back with a move.
    """

    cell: Cell
    checkpoint: Checkpoint | None
    is_own: bool
    restored: Restored | None = None

    @property
    def cell_id(self) -> str:
        """The front end's id of the cell; empty if it told none."""
        return self.cell.cell_id or ""

    @property
    def source_crc(self) -> int:
        """Tells its text, as it was then, from others."""
        crc = self.restored and self.restored.source_crc
        return self.cell.source_crc if crc is None else crc

    def within(self, cell: Cell) -> Run:
        """The same of a block, as what became of its cell."""
        restored = self.restored and self.restored._replace(source_crc=None)
        return self._replace(cell=cell, restored=restored)

    def known_as(self, cell_id: str) -> Run:
        """The same under another id of its cell."""
        if cell_id == self.cell_id:
            return self
        return self._replace(cell=self.cell._replace(cell_id=cell_id))

    @property
    def kept_as(self) -> str:
        """Name of the checkpoint that holds it; empty as long as none does."""
        return self.checkpoint.name if self.checkpoint is not None else ""

    def may_write(self, name: str, *, in_place: bool) -> bool:
        """True if the cell may have given a variable another value.

        Parameters
        ----------
        in_place
            Whether its value can be changed without being bound anew.
        """
        checkpoint = self.checkpoint
        if checkpoint is not None and self.is_own and not checkpoint.joined:
            return name in checkpoint.bound
        if checkpoint is not None and name not in checkpoint.changed:
            return False
        names = names_in(self.cell.source)
        return name in names.binds or (in_place and name in names.loads)


def runs_of(line: Iterable[Checkpoint], since: Iterable[Cell] = ()) -> list[Run]:
    """All that ran on a line, oldest first, and after it.

    Parameters
    ----------
    line
        Checkpoints, oldest first.
    since
        Cells that ran after the last of them and are not kept yet.
    """
    return [*(run for checkpoint in line for run in _of(checkpoint)), *_not_kept(since)]


def _of(checkpoint: Checkpoint) -> Iterator[Run]:
    yield from (Run(cell, checkpoint, is_own=False) for cell in checkpoint.joined)
    yield Run(checkpoint.cell, checkpoint, is_own=True)


def _not_kept(cells: Iterable[Cell]) -> Iterator[Run]:
    return (Run(cell, None, is_own=False) for cell in cells)


def last_of_cells(runs: Sequence[Run]) -> dict[str, int]:
    """Id of each cell → place of its last run."""
    return {run.cell_id: place for place, run in enumerate(runs) if run.cell_id}


def first_of_cells(runs: Sequence[Run]) -> dict[str, int]:
    """Id of each cell → place of its first run."""
    return {run.cell_id: place for place, run in reversed(list(enumerate(runs))) if run.cell_id}


def blocks_of(runs: Sequence[Run]) -> dict[int, int]:
    """Place of a cell that is not kept by itself → that of the last kept `with` block in it."""
    from nbckpt.session.history.recorded_cells import blocks_in

    kept: dict[str, int] = {}
    found: dict[int, int] = {}
    for place, run in enumerate(runs):
        if run.is_own and run.cell.cell_id is None:
            kept[run.cell.source] = place
        elif kept and not run.is_own and "with" in run.cell.source:
            within = [kept[source] for source in blocks_in(run.cell.source) if source in kept]
            if within:
                found[place] = max(within)
    return found


@lru_cache(maxsize=1000)
def names_in(source: str) -> Names:
    """Names that a cell reads and binds, as far as that can be told without IPython."""
    from nbckpt.fingerprint import code

    return code.names_of_tree(_parsed(source))


@lru_cache(maxsize=1000)
def code_of(source: str) -> str:
    """Part of a cell's text that counts when its runs are compared: no comments, no spacing."""
    tree = _parsed(source)
    return ast.dump(tree) if tree.body and "%" not in source and "!" not in source else source


def _parsed(source: str) -> ast.Module:
    from nbckpt.session.history.recorded_cells import parsed

    return parsed(source)
