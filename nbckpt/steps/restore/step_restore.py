"""A step restored: the values of an earlier checkpoint instead of a run of the body."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.model import Checkpoint, size_of_all
from nbckpt.runtime.interrupts import held
from nbckpt.steps import cell_results
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.remake import makers
from nbckpt.steps.restore import effects
from nbckpt.steps.restore.cherry_pick import stand_at
from nbckpt.steps.restore.restorability import why_not_restorable, why_not_restored

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.steps.execution.execution_state import Execution
    from nbckpt.steps.restore.shadow_run import ShadowRun


def restore(step: Execution) -> bool:
    """Restore a step from the newest checkpoint that can stand for it; whether there is one.

    If there is none, the step says why.
    """
    session, namespace = step.session, step.session.namespace
    began = time.perf_counter()
    found = session.timeline.find(step.request.name, step.key.digest)
    for checkpoint in found:
        if why := why_not_restorable(step, checkpoint):
            step.why = (why,)
            continue
        shadow = _shadow(step, checkpoint)
        changed = {n: namespace[n] for n in _not_bound(session, checkpoint) if n in namespace}
        # A result goes on with the part that it holds now.
        parted = cell_results.with_parts(checkpoint.in_place, namespace)
        reasons = tuple(f"it changes {n!r} in place, and a result has that" for n in parted)
        is_next = session.position.follows(checkpoint)
        if reasons := reasons or effects.reproduce(session, checkpoint):
            step.why = reasons
            continue
        cell_results.follow(namespace, changed, session.state(StepState).results)
        if not step.is_kept:  # in a cell that runs again for another: the session stays
            step.todo = False
            return True
        step.was_set = session.workspace.observer.was_set
        step.took_s = time.perf_counter() - began
        _stand(step, checkpoint, is_next=is_next)
        session.state(AnswerOwners).keeps(session, step.request.name, step.cell.source)
        if shadow is not None:
            shadow.compare(session, checkpoint, step.request.selection)
        makers.was_restored(session, _as_typed(step, checkpoint), step.names.binds)
        _record(step, checkpoint)
        return True
    if not found:
        step.why = tuple(why_not_restored(session, step.request.name, step.key))
    return False


def _as_typed(step: Execution, checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint with the text of its cell, also where a secret was taken out of that."""
    return replace(checkpoint, cell=step.cell) if checkpoint.cell.starred else checkpoint


def _stand(step: Execution, checkpoint: Checkpoint, *, is_next: bool) -> None:
    """Have the session stand where the step, whose values are bound, was restored."""
    session = step.session
    with held(firmly=True):
        watch = session.state(StepState).watch
        if watch is None:
            selection = step.request.selection
            step.restored = stand_at(session, checkpoint, selection, is_next=is_next)
        else:
            step.restored = watch.restored(step, checkpoint)
        step.todo = False


def _record(step: Execution, checkpoint: Checkpoint) -> None:
    """Have the history say that the step was restored, and what that saved."""
    assert step.restored is not None
    other: dict[str, float] = {}
    if step.cell.source != checkpoint.cell.source:  # a comment, say: the key is the same
        other["source_crc"] = step.cell.source_crc
    step.record_event(
        "restored",
        step.restored,
        took_s=step.took_s,
        saved_s=checkpoint.duration_s - step.took_s,
        size_bytes=_size_of(step.session, checkpoint),
        **other,
    )


def _not_bound(session: Session, checkpoint: Checkpoint) -> set[str]:
    """The variables that may get other objects, though a run would bind none to them."""
    manifest = session.timeline.manifest(checkpoint.id)
    bound = set(checkpoint.bound) - set(checkpoint.in_place)
    mates = {mate for n in bound if n in manifest for mate in manifest[n].group}
    return mates.union(checkpoint.in_place) - bound


def _shadow(step: Execution, checkpoint: Checkpoint) -> ShadowRun | None:
    """Result of running the step, if the setting `verify` asks for it and it can be told."""
    if step.session.workspace.audit.mode == "off":
        return None
    from nbckpt.steps.restore.shadow_run import shadow_of

    return shadow_of(step.session, checkpoint, step.tree)


def _size_of(session: Session, checkpoint: Checkpoint) -> int:
    """Bytes of what the step bound or changed."""
    manifest = session.timeline.manifest(checkpoint.id)
    return size_of_all(manifest[name] for name in checkpoint.bound if name in manifest)
