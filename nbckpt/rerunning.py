"""One rerun under way: which recorded cells are restored, which run, and on which branch.

Each cell goes through `Step.begin`, so that its key decides. What is restored beside a change is
kept again on the new line: the state there is another one, and its values are in the store.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from nbckpt import forks, moves
from nbckpt.effects import reproduce
from nbckpt.model import Checkpoint, Manifest
from nbckpt.randomness import NAMES
from nbckpt.recorded import Plan, Recorded, made_between
from nbckpt.reran import CellRun, Rerun, State
from nbckpt.selection import Selection
from nbckpt.session import Session
from nbckpt.steps import Request, Step


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


@dataclass(eq=False)
class Rerunning:
    """One rerun that is under way; the session's watch."""

    session: Session
    plan: Plan
    runner: Runner
    restores: bool
    cells: list[CellRun] = field(default_factory=list)
    error: str | None = None
    is_new: bool = False
    _is_on_branch: bool = False
    _piece: Recorded | None = None
    _steps: list[Step] = field(default_factory=list)
    _came_back: tuple[str, ...] = ()

    async def run(self) -> Rerun:
        """What became of it all."""
        with self._watching():
            for piece in self.plan.cells:
                if self.error is not None:
                    self.cells.append(CellRun(piece.name, None, "not reached"))
                else:
                    self.cells.append(await self._one(piece))
        session = self.session
        session.moved = True
        if self._is_on_branch:
            self._note("reran", state="failed" if self.error else "done")
        session.tell("moved")
        cells = tuple(self.cells)
        return Rerun(session.branch, self.plan.start, cells, self.error, self.is_new)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        session, reruns = self.session, self.session.reruns
        session.watch, session.reruns = self, not self.restores
        try:
            yield
        finally:
            session.watch, session.reruns = None, reruns

    async def _one(self, piece: Recorded) -> CellRun:
        self._piece, self._steps = piece, []
        began = time.perf_counter()
        try:
            self._came_back, problems = self._bring_back(piece.checkpoint)
            if piece.kind == "nothing":
                return self._nothing(piece, problems)
            if piece.kind == "joined":
                self.runner.tell(f"{piece.name} · runs: {_JOINED}")
            error = await self.runner.run(piece, _request(piece))
        except (Exception, KeyboardInterrupt) as problem:  # whatever it is, the rest has to be told
            error = problem
        return self._ended(piece, error, time.perf_counter() - began)

    # -- what becomes of a piece ------------------------------------------------------------

    def _nothing(self, piece: Recorded, problems: tuple[str, ...]) -> CellRun:
        checkpoint = piece.checkpoint
        why = f"nothing to run: {_made(checkpoint)}"
        if problems:
            why += f"; not brought back: {'; '.join(problems)}"
        elif names := _user_names(self._came_back):
            why += f"; {names} as kept then"
        if self._is_as_kept(checkpoint):
            self.session.stand_on(checkpoint)
        elif self.session.joined:
            # What the cells before it did is to be found under its name again.
            self._keep_again(checkpoint, EVERYTHING)
        else:
            return CellRun(piece.name, None, "skipped", why)
        return CellRun(piece.name, self.session.position, "skipped", why)

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
        return CellRun(piece.name, self.session.position, "run", why, took_s)

    def _why(self, step: Step) -> str:
        if step.restored is not None:
            why = "nothing that it reads has changed"
        elif step.request.rerun:
            why = "it was asked to run"
        else:
            why = "; ".join(step.why) or "it was not finished"
        names = _user_names(self._came_back)
        return f"{why}; {names} as kept then" if names else why

    def _with_inner(self, why: str, own: Step | None) -> str:
        """`why`, and which blocks inside the cell were restored."""
        names = [repr(s.request.name) for s in self._steps if s is not own and not s.todo]
        return f"{why}; {', '.join(names)} in it restored" if names else why

    # -- the session's watch ----------------------------------------------------------------

    def restored(self, step: Step, checkpoint: Checkpoint) -> Checkpoint:
        """Have the session stand where a step was restored, on the line of the rerun."""
        if checkpoint.parent == self.session.position or self._is_as_kept(checkpoint):
            self.session.stand_on(checkpoint)
        else:
            checkpoint = self._keep_again(checkpoint, step.request.selection)
        step.todo, step.restored = False, checkpoint
        self._follow(step, self._why(step))
        return checkpoint

    def begins(self, step: Step) -> None:
        """Be on a branch of the rerun's own before anything is made."""
        self._branch_off()
        self._follow(step, f"runs: {self._why(step)}")

    def _follow(self, step: Step, text: str) -> None:
        self._steps.append(step)
        piece = self._piece
        if piece is not None and step.request.name == piece.name and piece.kind != "joined":
            self.runner.tell(f"{piece.name} · {text}")

    def _branch_off(self) -> None:
        if self._is_on_branch:
            return
        session, head = self.session, self.session.head
        if head is not None and head.id != session.position:
            forks.branch_off(session)
            self.is_new = True
        self._is_on_branch = True
        self._note("rerun")

    def _note(self, kind: str, **members: object) -> None:
        """Have the history know of this rerun, so that another one can go on."""
        session = self.session
        session.record_event(
            kind,
            checkpoint=session.position,
            branch=session.branch,
            origin=self.plan.origin,
            line=self.plan.line,
            **members,
        )

    # -- values that no cell makes ----------------------------------------------------------

    def _bring_back(self, checkpoint: Checkpoint) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Bring back what changed before a checkpoint by something else than recorded code.

        Only of variables that stood before as they stood then: of others the change is older than
        what they hold now. Gives what came back, and why something did not.
        """
        timeline = self.session.timeline
        if not (names := made_between(checkpoint)):
            return (), ()
        live, then = self._live(), timeline.manifest(checkpoint.id)
        before = timeline.manifest(checkpoint.parent) if checkpoint.parent else {}
        names = {n for n in names if _value(live, n) == _value(before, n) != _value(then, n)}
        if not names:
            return (), ()
        given = replace(
            checkpoint, bound=tuple(sorted(names)), in_place=(), passive={}, key=None, refused=()
        )
        problems = reproduce(self.session, given)
        return ((), problems) if problems else (given.bound, ())

    def _live(self) -> Manifest:
        return self.session.capture(EVERYTHING).manifest

    def _is_as_kept(self, checkpoint: Checkpoint) -> bool:
        """Whether the namespace is that of a checkpoint of the line, and nothing went off it."""
        timeline = self.session.timeline
        if self._is_on_branch or not timeline.is_ancestor(checkpoint.id, self.plan.line):
            return False
        live, kept = self._live(), timeline.manifest(checkpoint.id)
        others = set(live) - set(kept) - set(checkpoint.omitted)
        others -= {refusal.variable for refusal in checkpoint.refused}
        return not others and all(_value(live, n) == v.value for n, v in kept.items())

    def _keep_again(self, checkpoint: Checkpoint, selection: Selection) -> Checkpoint:
        """A checkpoint of the same name on this line; its values are in the store already."""
        self._branch_off()
        session = self.session
        captured = session.capture(selection)
        draft = session.draft(
            checkpoint.name, captured, cell=checkpoint.cell, duration_s=checkpoint.duration_s
        )
        known = {refusal.variable for refusal in draft.refused}
        lost = (r for r in checkpoint.refused if r.variable in set(checkpoint.bound) - known)
        draft = replace(
            draft,
            key=checkpoint.key,
            bound=checkpoint.bound,
            in_place=checkpoint.in_place,
            refused=(*draft.refused, *lost),
            outputs=checkpoint.outputs,
            passive=checkpoint.passive,
            outside=checkpoint.outside,
            random_in=checkpoint.random_in,
            note=checkpoint.note,
        )
        session.commit(draft, patience_s=0.0)
        return draft


EVERYTHING = moves.EVERYTHING
_JOINED = "it was not kept by itself"
_INTERRUPTED = "was interrupted"


def _request(piece: Recorded) -> Request | None:
    """What the checkpoint of a cell is to be: as it was, but that it may be restored."""
    key = piece.checkpoint.key
    if piece.kind != "cell":
        return None
    options = key.options if key is not None else {}
    chosen = options.get("vars")
    selection = Selection(
        None if chosen is None else frozenset(chosen.split(",")) - {""},
        frozenset(options.get("exclude", "").split(",")) - {""},
    )
    return Request(piece.name, selection, tuple(key.files) if key is not None else ())


def _made(checkpoint: Checkpoint) -> str:
    if checkpoint.made_by:
        return f"its values were given by {checkpoint.made_by}"
    return "nbckpt kept it by itself" if moves.AUTOMATIC in checkpoint.tags else "kept by hand"


def _told(error: BaseException) -> str:
    name = type(error).__name__
    if name in ("KeyboardInterrupt", "CancelledError"):
        return _INTERRUPTED
    text = str(error)
    return f"{name}: {text}" if text else name


def _value(manifest: Manifest, name: str) -> str | None:
    return manifest[name].value if name in manifest else None


def _user_names(names: tuple[str, ...]) -> str:
    return ", ".join(n for n in names if n not in NAMES)
