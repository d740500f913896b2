"""One rerun under way: which recorded cells are restored, which run, and on which branch.

Each cell goes through `Step.begin`, so that its key decides. What is restored beside a change is
kept again on the new line: the state there is another one, and its values are in the store.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from nbckpt.capture.selection import Selection
from nbckpt.config.auto_policy import OFF
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.model import AUTOMATIC, Checkpoint
from nbckpt.runtime.interrupts import breathe, held, whole
from nbckpt.session.history.recorded_cells import Recorded
from nbckpt.session.session import Session
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.rerun.branch import Line
from nbckpt.steps.rerun.given_values import binds_only, given_at, overwritten
from nbckpt.steps.rerun.plan import Plan
from nbckpt.steps.rerun.result import CellRun, Rerun, State
from nbckpt.steps.restore.cherry_pick import tags_of


class Runner(Protocol):
    """Runs recorded code in a session's namespace."""

    async def run(self, recorded: Recorded, request: Request | None) -> BaseException | None:
        """Run one piece; the error that it ended with.

        Parameters
        ----------
        request
            What its checkpoint is to be; None if it keeps none by itself.
        """

    def tell(self, text: str) -> None:
        """Say what becomes of the piece whose outputs follow."""

    def confirm(self, question: str) -> bool | None:
        """The user's answer; None where nobody can be asked."""

    def show(self, checkpoint: Checkpoint, took_s: float) -> None:
        """Show again what the cell of a restored checkpoint had shown."""


@dataclass(eq=False)
class Rerunning:
    """One rerun that is under way; the session's watch."""

    session: Session
    plan: Plan
    runner: Runner
    restores: bool
    cells: list[CellRun] = field(default_factory=list)
    error: str | None = None
    _piece: Recorded | None = None
    _steps: list[Execution] = field(default_factory=list)
    _came_back: tuple[str, ...] = ()
    _given: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.line = Line(self.session, self.plan)
        self._given = given_at(self.session.timeline, self.plan.start.id)

    async def run(self) -> Rerun:
        """Run the plan and return its result."""
        session = self.session
        steps = session.state(StepState)
        reruns, policy = steps.reruns, session.policy
        try:
            # What is joined is kept with its own checkpoint, as it was, whatever the policy says.
            steps.watch, steps.reruns, session.policy = self, not self.restores, OFF
            for group in _groups(self.plan.cells):
                await self._all(group)
        finally:  # here nothing is called, so that no interrupt comes between
            steps.watch, steps.reruns, session.policy = None, reruns, policy
            session.moved = True
        if self.line.is_begun:
            self.line.note("reran", state="failed" if self.error else "done")
        session.emit("moved")
        cells = tuple(self.cells)
        return Rerun(session.position.branch, self.plan.start, cells, self.error, self.line.is_new)

    async def _all(self, group: list[Recorded]) -> None:
        """Rerun all that one checkpoint stands for: the cells joined to it, and its own."""
        is_kept_apart = any(map(self._overwritten, group))
        can_restore = self.error is None and self.restores and not is_kept_apart
        if can_restore and (rows := self._unreached(group)):
            self.cells += rows
            return
        for piece in group:
            if self.error is not None:
                self.cells.append(CellRun(piece.name, None, "not reached"))
                continue
            names = self._overwritten(piece)
            if names and (binds_only(piece, names) or self._declines(piece, names)):
                self.cells.append(self._left_out(piece, names))
                continue
            self.cells.append(await self._one(piece))
            for name in names:  # from here on it is what the cells make of it
                del self._given[name]

    @whole
    def _unreached(self, group: list[Recorded]) -> list[CellRun]:
        """Restore cells that no key tells of, where no change can have reached them."""
        piece, began = group[-1], time.perf_counter()
        checkpoint = piece.checkpoint
        if piece.kind == "joined":
            return []  # its checkpoint is that of a block in a cell that comes later
        if piece.kind != "nothing" and checkpoint.key is not None and len(group) == 1:
            return []
        if piece.kind == "nothing" and len(group) == 1:
            return []
        if not self.line.restores_unreached(group):
            return []
        took_s = time.perf_counter() - began
        joined = tuple(other.cell for other in group[:-1])
        with held(firmly=True):  # its values are bound
            kept = self.line.stand(checkpoint, Selection(), joined=joined)
        for other in group[:-1]:
            self.runner.tell(f"{other.name} · {_UNREACHED}")
        self.runner.tell(f"{piece.name} · {_UNREACHED}")
        self.runner.show(kept, took_s)
        self.session.writes.record_event(
            "restored",
            checkpoint=kept.id,
            name=kept.name,
            cell_id=kept.cell.cell_id,
            took_s=took_s,
            saved_s=kept.duration_s - took_s,
        )
        return [CellRun(p.name, kept.id, "restored", _UNREACHED) for p in group[:-1]] + [
            CellRun(piece.name, kept.id, "restored", _UNREACHED, took_s)
        ]

    async def _one(self, piece: Recorded) -> CellRun:
        self._piece, self._steps = piece, []
        began = time.perf_counter()
        try:
            breathe()
            if piece.kind == "nothing":
                return self._nothing(piece)
            self._came_back, _ = self.line.bring_back(piece.checkpoint)
            if piece.kind == "joined":
                self.runner.tell(f"{piece.name} · runs: {_JOINED}")
            error = await self.runner.run(piece, self._request(piece))
        except (Exception, KeyboardInterrupt) as problem:  # whatever it is, the rest has to be told
            error = problem
        return self._ended(piece, error, time.perf_counter() - began)

    def _overwritten(self, piece: Recorded) -> frozenset[str]:
        """The values that a cell takes back, of those given by hand after it was recorded."""
        is_ancestor, at = self.session.timeline.is_ancestor, piece.checkpoint.id
        return overwritten(piece, {n for n, by in self._given.items() if not is_ancestor(by, at)})

    def _declines(self, piece: Recorded, names: Iterable[str]) -> bool:
        """True if the user says that a cell is not to run, which does more than that."""
        question = f"{piece.name!r} overwrites {_listed(names)}, given by hand. Run it?"
        return self.runner.confirm(question) is False

    def _left_out(self, piece: Recorded, names: Iterable[str]) -> CellRun:
        """A cell that would only take back what was given by hand."""
        why = f"{_listed(names)} was given by hand"
        self.runner.tell(f"{piece.name} · skipped: {why}")
        return CellRun(piece.name, None, "skipped", why)

    def _request(self, piece: Recorded) -> Request | None:
        """Request for a checkpoint as it was, but restorable; None if the piece is not a cell."""
        key = piece.checkpoint.key
        if piece.kind != "cell":
            return None
        options = key.options if key is not None else {}
        chosen = options.get("vars")
        selection = Selection(
            None if chosen is None else frozenset(chosen.split(",")) - {""},
            frozenset(options.get("exclude", "").split(",")) - {""},
        )
        files = tuple(key.files) if key is not None else ()
        # What was written on it since then speaks of that result, and not of the next one.
        made = self.session.timeline.checkpoints.as_made(piece.checkpoint.id)
        return Request(piece.name, selection, files, tags_of(made), made.note)

    # -- what becomes of a piece ------------------------------------------------------------

    @whole
    def _nothing(self, piece: Recorded) -> CellRun:
        checkpoint = piece.checkpoint
        self._came_back, problems = self.line.bring_back(checkpoint)
        why = f"nothing to run: {_made(checkpoint)}"
        if problems:
            why += f"; not brought back: {'; '.join(problems)}"
        elif names := _user_names(self._came_back):
            why += f"; {names} as kept then"
        with held(firmly=True):  # what changed before it is bound
            is_there = self.line.is_there_already(checkpoint)
            if not is_there and self.session.pending_cells.cells:
                # What the cells before it did is to be found under its name again.
                self.line.keep_again(checkpoint, Selection())
                is_there = True
        if not is_there and self.session.position.id != checkpoint.id:
            return CellRun(piece.name, None, "skipped", why)
        return CellRun(piece.name, self.session.position.id, "skipped", why)

    def _ended(self, piece: Recorded, error: BaseException | None, took_s: float) -> CellRun:
        own = next((s for s in self._steps if s.request.name == piece.checkpoint.name), None)
        if piece.kind == "joined":
            own = None
        if error is not None:
            told = _told(error)
            self.error = f"{piece.name!r} {told}" if told == _INTERRUPTED else (
                f"{piece.name!r} failed: {told}"
            )  # fmt: skip
            return CellRun(piece.name, None, "failed", told, took_s)
        if own is None:
            why = _JOINED if piece.kind == "joined" else "it ran, and was not kept"
            return CellRun(piece.name, None, "run", self._with_inner(why, own), took_s)
        if own.restored is not None:
            state: State = "restored" if own.restored.bound else "skipped"
            return CellRun(piece.name, own.restored.id, state, self._why(own), took_s)
        why = self._with_inner(self._why(own), own)
        return CellRun(piece.name, self.session.position.id, "run", why, took_s)

    def _why(self, step: Execution) -> str:
        taken_back = frozenset() if self._piece is None else self._overwritten(self._piece)
        more = f"; it overwrites {_listed(taken_back)}, given by hand" if taken_back else ""
        return f"{self._why_alone(step)}{more}"

    def _why_alone(self, step: Execution) -> str:
        if step.restored is not None:
            why = _UNREACHED
        elif step.request.rerun:
            why = "it was asked to run"
        else:
            why = "; ".join(step.why) or "it was not finished"
        names = _user_names(self._came_back)
        return f"{why}; {names} as kept then" if names else why

    def _with_inner(self, why: str, own: Execution | None) -> str:
        """`why`, and which blocks inside the cell were restored."""
        names = [repr(s.request.name) for s in self._steps if s is not own and not s.todo]
        return f"{why}; {', '.join(names)} in it restored" if names else why

    # -- the session's watch ----------------------------------------------------------------

    def restored(self, step: Execution, checkpoint: Checkpoint) -> Checkpoint:
        """Have the session stand where a step was restored, on the line of the rerun."""
        checkpoint = self.line.stand(checkpoint, step.request.selection)
        step.todo, step.restored = False, checkpoint
        self._follow(step, self._why(step))
        return checkpoint

    def begins(self, step: Execution) -> None:
        """Be on a branch of the rerun's own before anything is made."""
        self.line.begin()
        self._follow(step, f"runs: {self._why(step)}")

    def _follow(self, step: Execution, text: str) -> None:
        self._steps.append(step)
        piece = self._piece
        if piece is not None and step.request.name == piece.name and piece.kind != "joined":
            self.runner.tell(f"{piece.name} · {text}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


_UNREACHED = "nothing that it reads has changed"
_JOINED = "it was not kept by itself"
_INTERRUPTED = "was interrupted"


def _groups(pieces: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    """Each cell that was kept, with those before it that were not."""
    group: list[Recorded] = []
    for piece in pieces:
        group.append(piece)
        if piece.kind != "joined":
            yield group
            group = []
    if group:
        yield group


def _made(checkpoint: Checkpoint) -> str:
    if checkpoint.made_by:
        return f"its values were given by {checkpoint.made_by}"
    return "nbckpt kept it by itself" if AUTOMATIC in checkpoint.tags else "kept by hand"


def _told(error: BaseException) -> str:
    name = type(error).__name__
    if name in ("KeyboardInterrupt", "CancelledError"):
        return _INTERRUPTED
    text = str(error)
    return f"{name}: {text}" if text else name


def _user_names(names: tuple[str, ...]) -> str:
    return ", ".join(n for n in names if n not in NAMES)
