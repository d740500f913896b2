"""Code that ran on a line of checkpoints, as it can run again: cells, in order, each once.

A line of checkpoints says more than that: cells that were joined to the next one, blocks inside a
cell that was kept itself, and checkpoints for which no code ran.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from nbckpt.fingerprint.code.magiclines import without_magics
from nbckpt.model import Cell, Checkpoint
from nbckpt.runtime.source_trees import parse
from nbckpt.timeline.cell_outcomes import label_of

Kind: TypeAlias = Literal["cell", "block", "joined", "nothing"]

_MARKED = re.compile(r"\s*(#[ \t]*)?%%checkpoint(?!\S)")


class Recorded(NamedTuple):
    """One piece of code that ran, or a checkpoint for which none did.

    Attributes
    ----------
    checkpoint
        Whose line it is; of a joined cell, the one that it was joined to.
    cell
        The code, as it was typed.
    since
        Id of the checkpoint before all that this one did: its parent or, where blocks stand in its
        own code, theirs.
    kind
        ``cell``: it was kept by itself; ``block``: the body of a `with` statement; ``joined``: it
        was kept with the next one; ``nothing``: no code ran.
    """

    checkpoint: Checkpoint
    cell: Cell
    kind: Kind
    since: str | None

    @property
    def name(self) -> str:
        """Name that people know it by."""
        if self.kind != "joined":
            return self.checkpoint.name
        return label_of(self.cell.source, self.cell.cell_id or "")


def recorded(line: Sequence[Checkpoint]) -> list[Recorded]:
    """The code of a line of checkpoints, oldest first, each piece once.

    A block that stands in a cell of the line is run by that cell.
    """
    pieces = [piece for checkpoint in line for piece in _pieces(checkpoint)]
    found: list[Recorded] = []
    inside: str | None = None  # the parent of the first of the blocks that were passed over
    for i, piece in enumerate(pieces):
        if piece.kind == "block" and _is_inside(piece, pieces[i:]):
            inside = inside or piece.since
            continue
        found.append(piece._replace(since=inside or piece.since))
        if piece.kind != "joined":
            inside = None
    return found


def _pieces(checkpoint: Checkpoint) -> Iterator[Recorded]:
    parent = checkpoint.parent
    yield from (Recorded(checkpoint, cell, "joined", parent) for cell in checkpoint.joined)
    yield Recorded(checkpoint, checkpoint.cell, _kind(checkpoint), parent)


def _kind(checkpoint: Checkpoint) -> Kind:
    cell = checkpoint.cell
    if checkpoint.made_by or not cell.source.strip():
        return "nothing"
    is_cell = cell.cell_id is not None or cell.execution_count is not None
    return "cell" if is_cell or not _is_block(cell.source) else "block"


def _is_block(source: str) -> bool:
    body = parsed(source).body
    return len(body) == 1 and isinstance(body[0], ast.With)


def _is_inside(block: Recorded, later: Sequence[Recorded]) -> bool:
    """True if a block stands in the next cell of the line, or in a block before that cell's end.

    What holds it ended after it. A block of the same text is its next run, as in a loop.
    """
    written = block.cell.source
    for piece in later:
        source = piece.cell.source
        is_again = piece.kind == "block" and source == written
        if piece.kind != "nothing" and not is_again and written in blocks_in(source):
            return True
        if piece.kind == "cell":
            return False
    return False


@lru_cache(maxsize=1000)
def blocks_in(source: str) -> frozenset[str]:
    """The `with` statements of a cell, as their checkpoints have them."""
    withs = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.With))
    return frozenset(map(ast.unparse, withs))


def parsed(source: str) -> ast.Module:
    """The code without its magics; empty if it cannot be read without IPython."""
    try:
        return parse(without_magics(source))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def without_marker(source: str) -> str:
    """The code of a cell without its ``%%checkpoint`` line."""
    lines = source.splitlines(keepends=True)
    return "".join(line for line in lines[:2] if not _MARKED.match(line)) + "".join(lines[2:])
