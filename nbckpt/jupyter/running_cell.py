"""The cell that runs: IPython's word of it, its code, its step and its outputs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.model import Cell

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbckpt.jupyter.outputs import Recorder
    from nbckpt.steps.execution.step_request import Request
    from nbckpt.steps.step import Step

NO_CODE = ast.Module([], [])


class CellOverride(NamedTuple):
    """Request and identity of a cell that runs inside another, whatever its text says.

    Attributes
    ----------
    request
        Of its step; None if it is not kept by itself.
    cell
        The one that its checkpoint names.
    """

    request: Request | None
    cell: Cell


@dataclass(frozen=True, slots=True)
class RunningCell:
    """State of the cell that is followed; replaced as the cell goes on.

    Attributes
    ----------
    override
        Given by the code that runs it inside another cell.
    info
        IPython's word of it; None if no cell runs.
    thread
        Id of the thread in which it runs.
    tree
        Its code; None as long as it is not parsed.
    acting
        The part of its code that runs: nothing of a restored cell.
    step
        Its step; None if it has none.
    refused
        Its step, if that could not begin.
    recorder
        Of its outputs.
    began
        When it began to run, by the performance counter.
    reach
        Names that it can change without a step; None: any.
    """

    override: CellOverride | None = None
    info: Any = None
    thread: int = 0
    tree: ast.Module | None = None
    acting: ast.Module = NO_CODE
    step: Step | None = None
    refused: Step | None = None
    recorder: Recorder | None = None
    began: float = 0.0
    reach: frozenset[str] | None = frozenset()

    def identity(self, shell: InteractiveShell) -> Cell:
        """The cell as its checkpoint names it."""
        if self.override is not None:
            return self.override.cell
        count = shell.execution_count - 1 if self.info.store_history else None
        return Cell(self.info.raw_cell, count, getattr(self.info, "cell_id", None))
