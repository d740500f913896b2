"""Cells whose outputs would be different now, because something that they read has changed.

A variable that a cell further down changes makes no cell above it stale: run from top to bottom,
they would do the same again. Only a cell further up that ran again counts, or a value that was
given by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nbckpt.jupyter.notebook.present_values import Present
from nbckpt.jupyter.notebook.runs import Run, first_of_cells
from nbckpt.model import Checkpoint

FEW = 2
"""Variables that a reason names."""


class Staleness:
    """The stale cells on one line of runs.

    Parameters
    ----------
    orders
        Of each notebook that is open: id of each cell → its place. Two cells that are not in one
        of them stand in the order of their first runs.
    """

    def __init__(
        self, runs: Sequence[Run], present: Present, orders: Iterable[Mapping[str, int]]
    ) -> None:
        self._runs = runs
        self._present = present
        self._orders = [*orders, first_of_cells(runs)]

    def why(self, place: int) -> str | None:
        """Why the cell of a run is stale; None if it is not, or if nobody knows."""
        run = self._runs[place]
        step = run.checkpoint
        if step is None or step.key is None or not run.is_own:
            return None
        names = [*step.key.inputs, *step.key.functions]
        found = [n for n in names if self._is_blamed(n, place) and self._differs(n, step)]
        return reason(found) if found else None

    def _is_blamed(self, name: str, place: int) -> bool:
        """True if the last who may have changed a variable stands further up, or is no cell."""
        in_place = self._present.is_mutable(name)
        for run in reversed(self._runs[place + 1 :]):
            if run.checkpoint is not None and run.checkpoint.made_by and run.is_own:
                if name in run.checkpoint.changed:
                    return True
            elif run.may_write(name, in_place=in_place):
                return self._is_above(run, self._runs[place])
        return False

    def _is_above(self, run: Run, other: Run) -> bool:
        one, two = run.cell_id, other.cell_id
        order = next((each for each in self._orders if one in each and two in each), None)
        return order is not None and order[one] < order[two]

    def _differs(self, name: str, step: Checkpoint) -> bool:
        return self._present.is_another(name, step) is True


def stale_after_given(
    given: Checkpoint, line: Sequence[Checkpoint], present: Present
) -> dict[str, str]:
    """Id of each cell of the line that values given by hand have left → why it is stale.

    Parameters
    ----------
    given
        Where the session stands.
    line
        What followed there before, oldest first.
    """
    found: dict[str, str] = {}
    made: set[str] = set()
    for step in line:
        key, cell_id = step.key, step.cell.cell_id
        if key is not None and cell_id:
            names = [n for n in (*key.inputs, *key.functions) if n in given.changed]
            changed = [n for n in names if n not in made and present.is_another(n, step)]
            if changed:
                found[cell_id] = reason(changed)
        made |= set(step.bound)
    return found


def reason(names: Sequence[str]) -> str:
    """That these have changed."""
    told = " and ".join(names) if len(names) <= FEW else f"{names[0]} and {len(names) - 1} more"
    return f"{told} changed"
