"""Recorded cells, run again by IPython: their outputs appear under the cell that asks, in order."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, nullcontext

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import nested_cells, notices, step_notices
from nbckpt.jupyter.as_text import WIDTH
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.confirming import confirmed
from nbckpt.jupyter.running_cell import CellOverride
from nbckpt.model import Checkpoint
from nbckpt.runtime.interrupts import held
from nbckpt.session.history.recorded_cells import Recorded
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.rerun.rerun import Rerun, driven, rerun_with


class InShell:
    """Runs recorded cells as the shell runs any cell.

    Parameters
    ----------
    waits
        Whether the caller awaits what is run, so that cells can await in the loop that runs.
    quiet
        Show nothing; outputs are recorded all the same.

    Attributes
    ----------
    result
        Of the cell that ran last, unless it was awaited.
    """

    def __init__(
        self, shell: InteractiveShell, cells: Cells, *, waits: bool = False, quiet: bool = False
    ) -> None:
        self._shell = shell
        self._cells = cells
        self._waits = waits
        self._quiet = quiet
        self.result: object = None

    def tell(self, text: str) -> None:
        """Say in a quiet line what becomes of the cell whose outputs follow."""
        if not self._quiet:
            notices.say(self._shell, f"▸ {text}", rerun=text)

    def confirm(self, question: str) -> bool | None:
        """Ask under the cell; None where nobody can be asked."""
        return None if self._quiet else confirmed(self._shell, question)

    def show(self, checkpoint: Checkpoint, took_s: float) -> None:
        """Show again what the cell of a restored checkpoint had shown."""
        if not self._quiet:
            step_notices.show_again(self._shell, self._cells.session, checkpoint, took_s)

    async def run(self, recorded: Recorded, request: Request | None) -> BaseException | None:
        """Run one piece; the error that it ended with, shown as the shell shows errors."""
        source, cell_id = recorded.cell.source, recorded.cell.cell_id
        hold = nullcontext() if self._waits else held()  # no `held` while others run in the loop
        with hold, ExitStack() as stack:
            stack.enter_context(self._cells.apart(CellOverride(request, recorded.cell)))
            if self._quiet:
                stack.enter_context(nested_cells.muted(self._shell))
            if self._waits:
                return await nested_cells.run_async(self._shell, source, cell_id)
            if _is_in_loop() and nested_cells.awaits(self._shell, source):
                message = "it awaits, which no cell can that runs inside of another"
                if not self._quiet:
                    message += ": put `%rerun` on a line of its own in a cell"
                return UsageError(message)
            if self._quiet:
                stack.enter_context(nested_cells.underscores_kept(self._shell))
            error, self.result = nested_cells.run(self._shell, source, cell_id)
            return error

    def put_result(self, name: str, value: object) -> None:
        """Have one of IPython's names of results, ``_`` or ``_3``, be that of `value`."""
        nested_cells.put_result(self._shell, name, value)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def rerun_in(
    shell: InteractiveShell,
    cells: Cells,
    session: Session,
    ref: str | None = None,
    *,
    fresh: bool = False,
    everything: bool = False,
    quiet: bool = False,
) -> Rerun:
    """`nbckpt.rerun`, with the outputs of the cells shown by `shell`.

    Parameters
    ----------
    quiet
        Show nothing; outputs are recorded all the same.

    Raises
    ------
    CheckpointNotFoundError, UsageError, StoreError
        As `nbckpt.rerun` does.
    """
    runner = InShell(shell, cells, quiet=quiet)
    with held(), nested_cells.underscores_kept(shell):
        return driven(rerun_with(session, runner, ref, fresh=fresh, everything=everything))


async def rerun_async(
    shell: InteractiveShell,
    cells: Cells,
    session: Session,
    ref: str | None = None,
    *,
    fresh: bool = False,
    everything: bool = False,
    quiet: bool = False,
) -> Rerun:
    """`rerun_in`, for a caller that can wait for what the cells await."""
    runner = InShell(shell, cells, waits=True, quiet=quiet)
    with nested_cells.underscores_kept(shell):
        return await rerun_with(session, runner, ref, fresh=fresh, everything=everything)


async def magic_async(cells: Cells, ref: str | None, *, fresh: bool, everything: bool) -> None:
    """`%rerun` of a cell that awaits it; prints the table.

    See Also
    --------
    nbckpt.jupyter.awaited : where a cell is made to await it.
    """
    try:
        done = await rerun_async(
            cells.shell, cells, cells.session, ref, fresh=fresh, everything=everything
        )
    except NbckptError as problem:
        problem.__traceback__ = None
        raise problem from None
    notices.notify(done.text(WIDTH))
