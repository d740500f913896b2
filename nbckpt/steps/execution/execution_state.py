"""One execution of a step: what was asked for, how it began, and what was seen of it since."""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from nbckpt.capture.observation import Ran
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint import code
from nbckpt.fingerprint.keys.inputs import MODULE
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Cell, Checkpoint, Key
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole
from nbckpt.session.session import Session
from nbckpt.steps.execution.at_item import AtItem
from nbckpt.steps.execution.loop_state import LoopState
from nbckpt.steps.execution.step_before import StepBefore
from nbckpt.steps.execution.step_calls import StepCalls
from nbckpt.steps.execution.step_request import Request

if TYPE_CHECKING:
    from nbckpt.capture.background_work import AtWork


@dataclass(eq=False)
class Execution(Own):
    """One execution of a step, for all that restore, keep or follow it.

    Attributes
    ----------
    todo
        False when its values were restored and the body is to be skipped.
    restored
        The checkpoint that was restored; None when the body runs.
    why
        Why the body runs, one sentence each.
    took_s
        Seconds that it took to restore it.
    is_kept
        False where the disk did not let it begin: the body runs, and nothing of it is kept.
    was_set
        Process state that was set because the step was restored, a short text each.
    outside
        What the body changed that no checkpoint brings back, if its caller has seen it.
    observed
        What the body was seen to read and do.
    began_as
        What `Checkpoint.began_as` is to say.
    since
        When the body began, in seconds since 1970.
    spent_s
        Seconds that earlier runs have spent on what this one continues.
    before
        The namespace before the body runs.
    loops
        Its tracked loops; others after the body was begun again.
    at
        Which item is in work.
    calls
        Model calls of the body.
    """

    session: Session
    request: Request
    cell: Cell
    tree: ast.Module
    key: Key
    todo: bool = True
    restored: Checkpoint | None = None
    why: tuple[str, ...] = ()
    took_s: float = 0.0
    is_kept: bool = True
    was_set: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    observed: dict[str, Json] = field(default_factory=dict)
    began_as: Digest = ""
    since: float = 0.0
    spent_s: float = 0.0
    _began: float = 0.0
    _windows: dict[str, object] = field(default_factory=dict)
    _running: dict[int, Execution] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.before = StepBefore()
        self.loops = LoopState()
        self.at = AtItem(self.session)
        self.calls = StepCalls(self.session, self.request.name, self.cell.cell_id)

    @property
    def is_running(self) -> bool:
        """True if the body has begun, and neither ended nor failed."""
        return id(self) in self._running

    @cached_property
    def names(self) -> code.Names:
        """Names that the code reads and binds; a loop asks after each item."""
        return code.names_of_tree(self.tree, self.session.namespace)

    def elapsed_s(self) -> float:
        """Seconds since the body began."""
        return time.perf_counter() - self._began

    def enter(
        self, running: dict[int, Execution], at_work: list[AtWork], *, is_fresh: bool
    ) -> None:
        """Take note that the body begins.

        Parameters
        ----------
        running
            The executions whose bodies run; this one is among them until it is left.
        at_work
            Work that goes on beside the cells.
        is_fresh
            True if its model calls are made again.
        """
        self.enter_calls(running, is_fresh=is_fresh)
        self.before.note_work(self.tree, self.session.namespace, at_work)
        self._windows = self.session.workspace.observer.open()
        self._began, self.since = time.perf_counter(), clock.now()

    def enter_calls(
        self, running: dict[int, Execution], *, is_fresh: bool, is_plain: bool = False
    ) -> None:
        """The same of a step of which calls alone are kept: nothing else of it is looked at."""
        self._running = running
        running[id(self)] = self
        self.at.scope = self.calls.begin(is_fresh=is_fresh, is_plain=is_plain)

    def as_it_ran(self, outputs: Sequence[Json], *, is_shown: bool) -> Ran:
        """The run of the body, as observation is told of it."""
        namespace = self.session.namespace
        return Ran(self.tree, self.key, namespace, self.before.values, is_shown, outputs)

    def observe(self, outputs: Sequence[Json] = (), *, is_shown: bool) -> None:
        """Take note of what the body has read and done so far."""
        if not self._windows:
            return
        ran = self.as_it_ran(outputs, is_shown=is_shown)
        self.observed = self.session.workspace.observer.close(self._windows, ran)

    def ran(self) -> None:
        """Have what the body can have changed looked at, by functions that it redefined, too."""
        session = self.session
        session.workspace.ran(self.tree)
        if any(name.startswith(MODULE) for name in self.key.functions):
            session.workspace.modules_ran()
        session.workspace.tracker.touched({n for n in self.key.inputs if n in session.namespace})

    @whole
    def left(self) -> None:
        """Take note that the body has ended, however: model calls belong to it no more."""
        self._running.pop(id(self), None)
        windows, self._windows = self._windows, {}
        if windows:
            self.session.workspace.observer.discard(windows)
        self.at.end()
        self.calls.end()

    def forget_before(self) -> None:
        """Let go of the namespace before the body: it has ended, and the step stays known."""
        self.before = StepBefore()

    def record_event(self, kind: str, checkpoint: Checkpoint, **members: float) -> None:
        """Note in the journal something that happened to the step."""
        self.session.writes.record_event(
            kind,
            checkpoint=checkpoint.id,
            name=checkpoint.name,
            cell_id=self.cell.cell_id,
            execution_count=self.cell.execution_count,
            **members,
        )
