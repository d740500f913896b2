"""The loops of a step: the progress that is kept of them, and where they go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.capture.observation import unheard
from nbckpt.digests import Digest
from nbckpt.fingerprint.names import Own
from nbckpt.model import Checkpoint, is_trusted
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole
from nbckpt.steps.cache_lookup import changed_precondition, key_before
from nbckpt.steps.loops import Loops
from nbckpt.steps.step_draft import UNANSWERED, draft_of
from nbckpt.steps.step_state import StepState
from nbckpt.timeline.recordings import BEGUN, begun_record

if TYPE_CHECKING:
    from nbckpt.steps.step import Step


class LoopPosition(NamedTuple):
    """Through which items the body of a step has gone: so many loops, and items of maps."""

    loops: int
    mapped: Counter[str]


class StepLoops(Own):
    """The loops of one execution of a step.

    Attributes
    ----------
    tracked
        Those that it tracks; others after the body was begun again.
    """

    def __init__(self, step: Step) -> None:
        self.tracked = Loops(step, None)
        self._step = step

    @property
    def position(self) -> LoopPosition:
        """Through which items the body has gone."""
        return LoopPosition(self.tracked.begun, self._step.at.mapped)

    def go_on(self) -> None:
        """Have loops go on where an earlier run of the step was."""
        self.tracked = Loops(self._step, self._unfinished())

    def go_again(self, position: LoopPosition) -> None:
        """Have loops and maps go on where they were: the code after `position` runs again."""
        step = self._step
        step.at.map_again(position.mapped)
        if not step.is_kept:
            return
        unfinished = self._unfinished()
        if step.request.rerun and unfinished and unfinished.created_at < step.since:
            unfinished = None
        self.tracked = Loops(step, unfinished, position.loops)

    @whole
    @unheard
    def went_on(self, partial: Checkpoint) -> None:
        """Note that a loop goes on where `partial` was kept."""
        assert partial.progress is not None
        step = self._step
        _, done, total = partial.progress
        step.spent_s = saved = partial.duration_s
        if (calls := step.calls.scope) is not None:
            for record in step.session.store.records(BEGUN):
                if record["checkpoint"] == partial.id and is_trusted(record):
                    calls.go_on(record["begun"])
            if UNANSWERED in partial.unrepeatable:
                calls.note_unanswered(partial.id)
        step.record_event("continued", partial, took_s=0.0, saved_s=saved, done=done, total=total)

    @whole
    @unheard
    def keep_progress(self, progress: tuple[int, int, int], finished: tuple[Digest, ...]) -> None:
        """Keep what the step's loops have made so far."""
        step = self._step
        step.ran()
        step.observe(is_shown=True)
        duration_s = step.spent_s + step.elapsed_s()
        with step.session.checkpoints.holding(step.request.name):
            draft = draft_of(step, duration_s, "partial")
            calls = step.calls.scope
            if calls is not None and (begun := calls.repeated()):
                step.session.writes.append(
                    [begun_record(draft.id, begun, clock.now())], durable=False
                )
            step.session.checkpoints.commit(replace(draft, progress=progress, finished=finished))

    def _unfinished(self) -> Checkpoint | None:
        """Checkpoint of an unfinished run of this step's loops; its key is then this step's."""
        step = self._step
        session, name, find = step.session, step.request.name, step.session.timeline.partial
        if found := find(name, step.key.digest):
            return None if changed_precondition(session, found) else found
        if (interrupted := session.state(StepState).interrupted.get(name)) is None:
            return None
        key = key_before(interrupted, step.key)
        found = find(name, key.digest)
        if found is None or changed_precondition(session, found):
            return None
        step.key = key
        return found
