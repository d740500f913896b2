"""The cells that ran up to a checkpoint, with their recorded outputs, as a notebook's file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.model import Cell, Checkpoint
from nbckpt.session.history.recorded_cells import Recorded, recorded
from nbckpt.session.history.recorded_outputs import NotebookOutputs, Output, notebook_outputs

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

VERSION = (4, 5)
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Notebook(NamedTuple):
    """A notebook of nbformat 4.5.

    Attributes
    ----------
    left_outputs
        Number of recorded outputs that it lacks: damaged, errors, changes of earlier
        ones, or of a form that nbformat does not have.
    """

    document: dict[str, Any]
    left_outputs: int


def notebook_of(session: Session, checkpoint: Checkpoint) -> Notebook:
    """The notebook that has run up to a checkpoint, a cell for each run."""
    line = session.timeline.ancestry(checkpoint.id)[::-1]
    runs = [run for run in recorded(line) if run.cell.source]
    ids = _cell_ids([run.cell for run in runs])
    cells, left = [], 0
    for run, cell_id in zip(runs, ids, strict=True):
        outputs = _outputs_of(session.store, run)
        valid = [output for output in outputs.shown if _is_valid(output)] if outputs else []
        left += outputs.left_out + len(outputs.shown) - len(valid) if outputs else 1
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


def _outputs_of(store: Store, run: Recorded) -> NotebookOutputs | None:
    """The outputs of a run, in the form of nbformat; None if they are damaged."""
    if run.kind == "joined":
        return NotebookOutputs([], 0)
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
