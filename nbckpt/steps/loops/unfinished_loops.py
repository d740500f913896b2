"""The checkpoint from which a step's loops go on, and what is kept of loops on their way.

Which items are finished is told by `finished_items`; `loop` skips these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from nbckpt.capture.observation.audit import unheard
from nbckpt.digests import Digest
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.model import Checkpoint, is_trusted
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.loop_state import LoopState
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.restore.restorability import changed_precondition, key_before
from nbckpt.steps.step_draft import UNANSWERED, draft_of
from nbckpt.timeline.recordings import BEGUN, begun_record


class LoopPosition(NamedTuple):
    """Through which items the body of a step has gone: so many loops, and items of maps."""

    loops: int
    mapped: Mapping[str, int]


def position(step: Execution) -> LoopPosition:
    """Through which items the body has gone."""
    return LoopPosition(step.loops.begun, step.at.mapped)


def go_on(step: Execution) -> None:
    """Have loops go on where an earlier run of the step was."""
    step.loops = LoopState(_unfinished(step))


def go_again(step: Execution, position: LoopPosition) -> None:
    """Have loops and maps go on where they were: the code after `position` runs again."""
    step.at.map_again(position.mapped)
    if not step.is_kept:
        return
    unfinished = _unfinished(step)
    if step.request.rerun and unfinished and unfinished.created_at < step.since:
        unfinished = None
    step.loops = LoopState(unfinished, position.loops)


@whole
@unheard
def went_on(step: Execution, partial: Checkpoint) -> None:
    """Note that a loop goes on where `partial` was kept."""
    assert partial.progress is not None
    _, done, total = partial.progress
    step.spent_s = saved = partial.duration_s
    step.session.state(AnswerOwners).keeps(step.session, step.request.name, step.cell.source)
    if (calls := step.calls.scope) is not None:
        for record in step.session.store.records(BEGUN):
            if record["checkpoint"] == partial.id and is_trusted(record):
                calls.go_on(record["begun"])
        if UNANSWERED in partial.unrepeatable:
            calls.note_unanswered(partial.id)
    step.record_event("continued", partial, took_s=0.0, saved_s=saved, done=done, total=total)


@whole
@unheard
def keep_progress(
    step: Execution, progress: tuple[int, int, int], finished: tuple[Digest, ...]
) -> None:
    """Keep what the step's loops have made so far."""
    step.ran()
    step.observe(is_shown=True)
    duration_s = step.spent_s + step.elapsed_s()
    with step.session.checkpoints.holding(step.request.name):
        draft = draft_of(step, duration_s, "partial")
        calls = step.calls.scope
        if calls is not None and (begun := calls.repeated()):
            step.session.writes.append([begun_record(draft.id, begun, clock.now())], durable=False)
        step.session.checkpoints.commit(replace(draft, progress=progress, finished=finished))


def _unfinished(step: Execution) -> Checkpoint | None:
    """Checkpoint of an unfinished run of this step's loops; its key is then this step's."""
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
