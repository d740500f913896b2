"""The cells that ran up to a checkpoint, with their recorded outputs, as a notebook's file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.model import Cell, Checkpoint
from nbckpt.session.recorded_outputs import Output, notebook_outputs

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

VERSION = (4, 5)
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Executed(NamedTuple):
    """A cell that ran, and the checkpoint that holds its outputs; None if none does."""

    cell: Cell
    checkpoint: Checkpoint | None


class Notebook(NamedTuple):
    """A notebook of nbformat 4.5.

    Attributes
    ----------
    left_outputs
        Number of recorded outputs that it lacks: damaged, or of a form that nbformat does not have.
    """

    document: dict[str, Any]
    left_outputs: int


def notebook_of(session: Session, checkpoint: Checkpoint) -> Notebook:
    """The notebook that has run up to a checkpoint, a cell for each run."""
    line = session.timeline.ancestry(checkpoint.id)[::-1]
    runs = _without_blocks(run for one in line for run in _runs_of(one))
    ids = _cell_ids([run.cell for run in runs])
    cells, left = [], 0
    for run, cell_id in zip(runs, ids, strict=True):
        outputs = _recorded(session.store, run)
        valid = [output for output in outputs or () if _is_valid(output)]
        left += 1 if outputs is None else len(outputs) - len(valid)
        cells.append(_as_nbformat(run.cell, cell_id, valid))
    document = {
        "nbformat": VERSION[0],
        "nbformat_minor": VERSION[1],
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
        "cells": cells,
    }
    return Notebook(document, left)


def _runs_of(checkpoint: Checkpoint) -> Iterator[Executed]:
    yield from (Executed(cell, None) for cell in checkpoint.joined if cell.source)
    if checkpoint.cell.source:
        yield Executed(checkpoint.cell, checkpoint)


def _without_blocks(runs: Iterable[Executed]) -> list[Executed]:
    """The runs without `with` blocks that stand in the text of a later one.

    A block that is a checkpoint of its own is kept before the cell in which it stands.
    """
    found: list[Executed] = []
    for run in runs:
        if inside := _blocks_in(run.cell.source):
            found = [one for one in found if one.cell.cell_id or one.cell.source not in inside]
        found.append(run)
    return found


def _blocks_in(source: str) -> list[str]:
    """The `with nbckpt.checkpoint(…)` blocks of a cell, as their checkpoints have them."""
    if "checkpoint(" not in source:
        return []
    from nbckpt.fingerprint.code.magiclines import without_magics

    try:
        tree = ast.parse(without_magics(source))
    except (SyntaxError, ValueError):
        return []
    blocks = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.With)]
    return [b for b in blocks if b != source and "checkpoint(" in b.partition("\n")[0]]


def _cell_ids(cells: Iterable[Cell]) -> list[str]:
    """An id for each cell: its own the first time that it ran, where nbformat takes it."""
    found: dict[str, None] = {}
    cells = list(cells)
    taken = {cell.cell_id for cell in cells}
    for number, cell in enumerate(cells, 1):
        own = cell.cell_id or ""
        if not _ID.fullmatch(own) or own in found:
            own = f"run-{number}"
            while own in taken:
                own += "-"
        found[own] = None
    return list(found)


def _recorded(store: Store, run: Executed) -> list[Output] | None:
    """The outputs of a run, in the form of nbformat; None if they are damaged."""
    if run.checkpoint is None:
        return []
    return notebook_outputs(store, run.checkpoint, run.cell.execution_count)


def _as_nbformat(cell: Cell, cell_id: str, outputs: list[Output]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {},
        "execution_count": cell.execution_count,
        "source": cell.source,
        "outputs": outputs,
    }


def _is_valid(output: Output) -> bool:
    """True if nbformat has such an output: a library may show data of any form."""
    from nbformat.validator import isvalid

    return bool(isvalid(output, ref="output", version=VERSION[0], version_minor=VERSION[1]))
