"""Cells that would take back a value that was given by hand, when many cells run in one go.

*Run All* on a fork's branch runs the cell ``n_trees = 30`` again, too: it is left out, as a rerun
leaves it out. Who runs it by itself wants the 30.
"""

from __future__ import annotations

import ast
import datetime as dt
import time
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.jupyter.parent_message import request_of
from nbckpt.model import Cell, Checkpoint
from nbckpt.runtime import clock
from nbckpt.session.session import Session
from nbckpt.timeline.timeline import Timeline

# What only cells on a fork's branch need is imported by the first of them.
if TYPE_CHECKING:
    from nbckpt.steps.rerun.given_values import GivenValues

AT_ONCE_S = 0.1
"""A program that sends one cell after the other sends the next within this time."""


class GivenCells:
    """Looks at the cells of one shell."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self._shell = shell
        self._session = session
        self._given: GivenValues | None = None
        self._sent: dt.datetime | None = None
        self._began = 0.0
        self._took_s = 0.0
        self._is_one_of_many = False
        self._bound: dict[str, float] = {}  # by cells when, since the session last moved

    def begins(self) -> None:
        """Note that a cell begins: one of many, if it was sent before the last one had ended."""
        if self._session.moved:
            self._bound.clear()
        before, self._sent = self._sent, _sent(self._shell)
        self._began = time.perf_counter()
        self._is_one_of_many = (
            before is not None
            and self._sent is not None
            and dt.timedelta(0) <= self._sent - before
            and (self._sent - before).total_seconds() < self._took_s + AT_ONCE_S
        )

    def ends(self, tree: ast.Module | None) -> None:
        """Note that a cell has ended, and what it bound: what is given no more is meant."""
        self._took_s = time.perf_counter() - self._began
        if self._session.moved:
            self._bound.clear()
        elif tree is not None and self._session.timeline.has_given:
            from nbckpt.fingerprint import code
            from nbckpt.steps.rerun.given_values import made_of_itself

            binds = code.names_of_tree(tree).binds
            self._bound |= dict.fromkeys(binds - made_of_itself(tree, binds), clock.now())

    def left_out(self, cell: Cell) -> str | None:
        """What to say of a cell that is left out; None if it runs.

        A value that is not there, as in a new kernel, or was changed in place since, comes from
        where it was given.
        """
        if not self._is_one_of_many or (given := self._taken_back(cell)) is None:
            return None
        is_alone, names = given
        listed = ", ".join(sorted(names))
        if not is_alone:
            return None
        by = {by.id: by for by in names.values()}
        others = {n: by for n, by in names.items() if not self._is_as_given(n, by)}
        if others and not self._brought_back(others):
            return None
        where = ", ".join(f"{c.name!r} ({c.id[:8]})" for c in by.values())
        return (
            f"nbckpt: left out, as {listed} was given by hand at {where}; run this cell by itself"
            " to have it again"
        )

    def warning(self, cell: Cell) -> str | None:
        """What to say of a cell that does more than to take a given value back; it runs."""
        if not self._is_one_of_many or (given := self._taken_back(cell)) is None or given[0]:
            return None
        listed = ", ".join(sorted(given[1]))
        return f"nbckpt: this cell overwrites {listed}, given by hand"

    def _taken_back(self, cell: Cell) -> tuple[bool, dict[str, Checkpoint]] | None:
        """Whether that is all a cell does, and the names that it takes back; None if none."""
        timeline, position = self._session.timeline, self._session.position
        head = position.head
        here = timeline.checkpoints.get(position.id or "") or head
        if here is None or not timeline.has_given:
            return None
        if head is not None and timeline.is_ancestor(here.id, head.id):
            here = head  # a cell that was restored stands where it was made, before the values
        from nbckpt.session.history.recorded_cells import Recorded
        from nbckpt.steps.rerun.given_values import GivenValues, binds_only, overwritten

        self._given = self._given or GivenValues(timeline)
        given, piece = self._given.at(here.id), Recorded(here, cell, "cell", None)
        by = {n: timeline.checkpoints[given[n]] for n in overwritten(piece, given.keys())}
        found = {n: c for n, c in by.items() if self._bound.get(n, 0.0) <= c.created_at}
        if not found:
            return None
        if not _was_there(timeline, cell.source, min(c.created_at for c in found.values())):
            return None  # it was written since: that is meant
        return binds_only(piece, found.keys()), found

    def _is_as_given(self, name: str, by: Checkpoint) -> bool:
        if name not in self._session.namespace:
            return False
        live = self._session.workspace.capturer.capture(only={name}).manifest
        given = self._session.timeline.manifest(by.id)
        if name not in given:  # it could not be kept: what is there is it
            return True
        return name in live and live[name].value == given[name].value

    def _brought_back(self, others: dict[str, Checkpoint]) -> bool:
        from nbckpt.steps.restore.effects import reproduce_variable

        for name, by in others.items():
            if not by.trusted or reproduce_variable(self._session, by, name):
                return False
        return True


def _sent(shell: Any) -> dt.datetime | None:
    """When the front end sent the running cell, by its own clock."""
    date = request_of(shell).get("header", {}).get("date")
    return date if isinstance(date, dt.datetime) else None


def _was_there(timeline: Timeline, source: str, before: float) -> bool:
    """True if a cell of this text ran before some time."""
    for checkpoint in timeline.checkpoints.values():
        if checkpoint.created_at < before:
            cells = (checkpoint.cell, *checkpoint.joined)
            if any(cell.source == source for cell in cells):
                return True
    return False
