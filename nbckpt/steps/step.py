"""A step: code that is restored instead of run when the same code ran on the same values before.

A cell, the body of ``with nbckpt.checkpoint(…)`` and a loop in it go through the same four calls:
`begin` looks for a checkpoint with the step's key, `finish` makes one, `fail` notes why there is
none, `track` keeps how far a loop came.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from nbckpt.capture.observation.audit import unheard
from nbckpt.capture.selection import Selection
from nbckpt.digests import Json
from nbckpt.errors import StoreError, UsageError, line_of
from nbckpt.fingerprint import code
from nbckpt.fingerprint.values.remembering import forget
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.model import Cell, Checkpoint, Key
from nbckpt.runtime.interrupts import whole
from nbckpt.session.session import Session
from nbckpt.steps import loops
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.step_before import StepBefore
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.execution.step_state import Interrupted, StepState
from nbckpt.steps.items import ThroughItems
from nbckpt.steps.loops import unfinished_loops
from nbckpt.steps.remake import remake
from nbckpt.steps.restore.step_restore import restore
from nbckpt.steps.step_draft import draft_of, failed_draft, note_lost
from nbckpt.steps.step_keys import StepKeys


class Step(ThroughItems, Execution):
    """One execution of a step, from its beginning to its end; its attributes are of `Execution`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keys = StepKeys(self.session, self.request, self.tree)

    @classmethod
    @whole
    @unheard
    def begin(cls, session: Session, request: Request, cell: Cell, tree: ast.Module) -> Step:
        """Restore the step if that can be, else get ready to run it.

        Raises
        ------
        UsageError
            If a file of `deps` is missing, or `track` stands where it could not go on.
        VariableNotFoundError
            If `selection` names what neither exists nor is bound by the code.
        StoreError
            If the disk refuses.
        """
        loops.require_plain(request.name, tree)
        if request.selection.vars and not (names := code.names_of_tree(tree)).everything:
            known = {*session.workspace.tracker.user_names(), *names.binds}
            session.workspace.require_names(request.selection, known)
        if session.state(StepState).reruns:
            request = replace(request, rerun=True)
        if session.state(StepState).is_remaking:
            return cls._again(session, request, cell, tree)
        session.follower.catch_up()
        can_restore = request.is_skippable and not request.rerun
        step = cls(session, request, cell, tree, Key(""))
        step.key = step._keys.at_first(is_known=can_restore)
        step._list()
        if can_restore and restore(step):
            return step
        if remake.before(session, tree):
            step.key = step._keys.now()
            if can_restore and restore(step):
                return step
        step._start()
        return step

    @classmethod
    def _again(cls, session: Session, request: Request, cell: Cell, tree: ast.Module) -> Step:
        """The step as a part of code that runs again to make what could not be kept.

        It is restored unless it makes something of that, and nothing is told of it.
        """
        step = cls(session, request, cell, tree, Key(""), is_kept=False)
        if request.is_skippable and not request.rerun:
            step.key = step._keys.at_first(is_known=True)
            if restore(step):
                return step
        step._enter()
        return step

    @classmethod
    @whole
    def refused(
        cls, session: Session, request: Request, cell: Cell, tree: ast.Module, why: str
    ) -> Step:
        """A step that could not begin: its body runs, its loops and maps keep nothing."""
        step = cls(session, request, cell, tree, Key(""), why=(why,), is_kept=False)
        step._list()
        step._enter()
        return step

    def _list(self) -> None:
        """Make it the latest step of its name: they stand in the order in which they began."""
        self.session.state(StepState).begins(self)
        owners = self.session.state(AnswerOwners)
        owners.begins(self.session, self.request.name, self.cell.cell_id)

    def _start(self) -> None:
        session, selection = self.session, self.request.selection
        watch = session.state(StepState).watch
        if watch is not None:
            watch.begins(self)
        session.follower.choose_branch()
        session.workspace.capturer.capture(selection, only=self._followed(selection))
        self.began_as = self._keys.start_of(self.key)
        session.workspace.runs(self.tree)
        self.before = StepBefore.taken(session, self.key, self.names)
        session.workspace.tracker.let_go({*self.names.loads, *self.names.binds})
        forget(session.namespace[name] for name in self.names.binds if name in session.namespace)
        if not self.request.rerun:
            unfinished_loops.go_on(self)
        self._enter()

    def _followed(self, selection: Selection) -> set[str] | None:
        """What is to be as it is in what is kept before the body runs: all, if that is None.

        Of what was kept before and is not asked for, too: it changes with the body.
        """
        if selection.vars is None:
            return None
        return {*selection.vars, *self.session.workspace.capturer.kept_names()}

    def _enter(self) -> None:
        steps = self.session.state(StepState)
        self.enter(steps.running, steps.at_work, is_fresh=steps.pays_again)

    def running(self, what: str) -> Step:
        """The step itself, if it can go through items.

        Raises
        ------
        UsageError
            If it has ended.
        """
        if not self.is_running:
            message = f"checkpoint {self.request.name!r} has ended: use `{what}` inside of its body"
            raise UsageError(message)
        return self

    @whole
    @unheard
    def finish(self, outputs: Sequence[Json] = (), *, patience_s: float = -1) -> Checkpoint:
        """Checkpoint what the body did. Call it once, after the body ended well.

        Raises
        ------
        StoreError
            If the disk refuses: the values are there, the checkpoint is not.
        """
        duration_s = self.elapsed_s()
        try:
            self.observe(outputs, is_shown=bool(outputs))
        finally:  # an interrupt may come meanwhile: the body has run, and is left
            self.left()
            self.ran()
        with self.session.checkpoints.holding(self.request.name):
            try:
                draft = draft_of(self, self.spent_s + duration_s, "done")
                if outputs:
                    draft = replace(draft, outputs=self.session.checkpoints.put_outputs(outputs))
            except StoreError as problem:
                note_lost(self, problem)
                raise
            self.session.checkpoints.commit(draft, sync=self.request.sync, patience_s=patience_s)
        self.session.state(StepState).interrupted.pop(self.request.name, None)
        self.record_event("ran", draft, took_s=duration_s)
        self.forget_before()
        return draft

    @whole
    @unheard
    def fail(self, error: BaseException) -> Checkpoint:
        """Note that the body raised: how far its loops came is kept, the step is not."""
        session = self.session
        self.left()
        self.ran()
        changed = self.key.inputs.keys() & self.names.loads
        after = {n: d for n, d in self._keys.now().inputs.items() if n in changed}
        session.state(StepState).interrupted[self.request.name] = Interrupted(self.key, after)
        with session.checkpoints.holding():
            failed = failed_draft(self, line_of(error))
            session.checkpoints.commit(failed)
        self.record_event("failed", failed, took_s=failed.duration_s)
        self.forget_before()
        return failed
