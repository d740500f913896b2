"""The cells of a session that recordings belong to: an answer that one has is no other's sample."""

from __future__ import annotations

import ast
import re
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from nbckpt.fingerprint.code.magiclines import without_magics
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.source_trees import parse

if TYPE_CHECKING:
    from nbckpt.llm.recordings_index import Asking
    from nbckpt.session.session import Session

_CALL = re.compile(r"(?P<equals>(?P<function>[^(]+\().*\)#)(?P<n>\d+)", re.DOTALL)
"""The step that a call of a function under `@nbckpt.step` is: see `steps.calls.step_call`."""
_NAMING = re.compile(r"\bcheckpoint\(|^@(\w+\.)*step\b")
"""Lines that name a step, and say nothing of what it does."""
_SHARE = 2 / 3
"""Of a cell's lines, those that another cell has where it holds the same code."""


@dataclass(eq=False)
class CellRun:
    """One run of a cell, as far as recordings are given to it.

    Attributes
    ----------
    source
        The code of the cell; empty where no shell tells of cells.
    cell_id
        Of the cell, as far as a step in it has one.
    steps
        Names of the steps that began in it.
    number
        A later run has a higher one.
    """

    source: str = ""
    cell_id: str | None = None
    steps: set[str] = field(default_factory=set)
    number: int = field(default_factory=count().__next__)

    def is_of_cell(self, other: CellRun, source: str) -> bool:
        """True if it runs the cell that another run ran, or one that has that code in it.

        Parameters
        ----------
        source
            The code of the other, or of the step in it that is asked for.
        """
        if not self.steps.isdisjoint(other.steps) or holds(self.source, source, whole=True):
            return True
        is_other = None not in (self.cell_id, other.cell_id) and self.cell_id != other.cell_id
        return not is_other and holds(self.source, source)


class Owner(NamedTuple):
    """A run of a cell that has a recording, and the code for which it has it."""

    run: CellRun
    source: str


class AnswerOwners(Own):
    """Owners of recordings in one session; ``session.state(AnswerOwners)`` gives it.

    What was recorded of a step in other sessions is its own where it is restored in this one or
    goes on, and asks for nothing of it.

    Attributes
    ----------
    begun
        Names of the steps that began in this session.
    """

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self._steps: dict[str, Owner] = {}
        self._given: dict[str, CellRun] = {}
        self._moved: dict[str, tuple[CellRun, Asking]] = {}
        self._runs: WeakKeyDictionary[ast.Module, CellRun] = WeakKeyDictionary()
        self._script = CellRun()
        self._lock = threading.Lock()

    def begins(self, session: Session, step: str, cell_id: str | None) -> None:
        """Take note that a step begins in the cell that runs; it has its id if it is all of it."""
        run = self.running(session)
        run.steps.add(step)
        self.begun.add(step)
        run.cell_id = run.cell_id or cell_id

    def keeps(self, session: Session, step: str, source: str | None = None) -> None:
        """Take note that a step has what was kept of it, and may ask for nothing.

        Parameters
        ----------
        source
            Its code; None if that is its cell's.
        """
        run = self.running(session, reads=source is None)
        self._steps[function_of(step)] = Owner(run, run.source if source is None else source)

    def gives(self, session: Session, recording: str) -> None:
        """Take note that the cell that runs has a recording."""
        self._given[recording] = self.running(session, reads=True)

    def moves(self, session: Session, recording: str, asking: Asking) -> None:
        """Take note that the cell that runs has a recording of another place than it is of."""
        self.gives(session, recording)
        self._moved[recording] = self.running(session), asking

    def is_elsewhere(self, session: Session, recording: str, asking: Asking) -> bool:
        """True if another call of the cell that runs was given a recording that is not of it."""
        run, other = self._moved.get(recording, (None, asking))
        return run is self.running(session) and other != asking

    def of(self, recording: str, step: str = "") -> Owner | None:
        """The owner of a recording that was made in a step; None if it has none in this session."""
        given, kept = self._given.get(recording), self._steps.get(function_of(step))
        if given is None or (kept is not None and kept.run.number > given.number):
            return kept
        return Owner(given, given.source)

    def running(self, session: Session, *, reads: bool = False) -> CellRun:
        """The run of the cell that runs now; with its code, if somebody reads that."""
        tree = session.workspace.running
        if tree is None:
            return self._script
        with self._lock:
            run = self._runs.get(tree)
            if run is None:
                run = self._runs[tree] = CellRun()
        if reads and not run.source:
            run.source = ast.unparse(tree)
        return run


def function_of(step: str) -> str:
    """What tells a step from others: of a call of a function, the function."""
    found = _CALL.fullmatch(step)
    return found["function"] if found else step


def equals_of(step: str) -> str:
    """What steps have in common whose calls are samples of one: all but the number."""
    found = _CALL.fullmatch(step)
    return found["equals"] if found else step


def rank_of(step: str) -> int:
    """How many equal calls of its function came before a step; 0 of one that is none."""
    found = _CALL.fullmatch(step)
    return int(found["n"]) if found else 0


def holds(cell: str, source: str, *, whole: bool = False) -> bool:
    """True if a cell has the code of another in it: it was edited, pasted or merged.

    Parameters
    ----------
    whole
        True if all of it has to be there: an edited one does not count.
    """
    lines = _lines(source)
    share = 1.0 if whole else _SHARE
    return bool(lines) and len(lines & _lines(cell)) >= share * len(lines)


@lru_cache(maxsize=200)
def _lines(source: str) -> frozenset[str]:
    """The lines of some code, however it is spaced and quoted, without those that name steps."""
    try:
        text = ast.unparse(parse(without_magics(source)))
    except (SyntaxError, ValueError):
        text = source
    stripped = (line.strip() for line in text.splitlines())
    return frozenset(s for s in stripped if s not in ("", "pass") and not _NAMING.search(s))
