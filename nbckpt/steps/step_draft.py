"""The checkpoint of what the body of a step did: its effects, and why it may have to run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nbckpt.capture.background_work import left_at_work
from nbckpt.capture.capture import Captured
from nbckpt.errors import StoreError
from nbckpt.fingerprint import keys, random_generators
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.widgets import is_widget
from nbckpt.model import Checkpoint, Manifest, State
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.snapshot_dict import differing as differences
from nbckpt.session.checkpoint_writer import new_id
from nbckpt.steps import cell_results
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.restore.restorability import (
    addresses_kept,
    changes_outside,
    deleted_names,
    descriptors_used,
)
from nbckpt.text.secret_texts import redacted
from nbckpt.timeline.checkpoint_records import MICROSECONDS, checkpoint_record

if TYPE_CHECKING:
    from nbckpt.steps.execution.execution_state import Execution

UNANSWERED = "a question of it was not answered"
_MISSED = "{!r} is another, and it or something beside it may have changed that"


def draft_of(step: Execution, duration_s: float, state: State) -> Checkpoint:
    """A checkpoint of what the body of a step has done so far."""
    session, request, before = step.session, step.request, step.before
    selection = request.selection.and_definitions(step.names.binds, session.namespace)
    captured = session.checkpoints.capture(selection)
    now, was = captured.manifest, before.manifest
    differing = {n for n in differences(was, now) if not _has_same_value(n, was, now)}
    differing -= before.unchanged_users(session)
    differing |= _tied_anew(step, now, differing)
    assigned = step.names.binds
    refused = {r.variable for r in captured.refused}
    bound = differing | {n for n in assigned if n in now or n in refused}
    changed = before.changed_left_out(session)
    bound |= _bound_left_out(step, captured, changed)
    bound |= {n for n in deleted_names(step.tree) if n not in session.namespace}
    unsure = before.unsure(session, now, differing)
    bound -= unsure.keys()
    in_place = {n for n in bound & differing if before.is_same_object(n, session)}
    named = refused & {*bound, *assigned, *step.key.inputs, *step.key.functions}
    named |= _changed_behind(step, bound - refused, refused - named)
    omitted = {n for n in captured.omitted if n in step.key.inputs} - named
    kept = bound - refused - {*captured.omitted}
    named |= omitted - _changed_behind(step, kept, omitted)  # those tell if it changed
    named |= changed - bound
    return session.checkpoints.draft(
        request.name,
        captured,
        cell=step.cell,
        duration_s=duration_s,
        state=state,
        key=step.key,
        lacking=session.workspace.digests_of(named - session.workspace.capturer.encoder.too_large),
        bound=tuple(sorted(bound)),
        in_place=tuple(sorted(in_place)),
        passive={
            n: (was[n].value, d, before.ties[n])
            for n, d in before.mates.items()
            if n in in_place or n not in bound
        },
        preconditions=unsure,
        unrepeatable=_why_unrepeatable(step, captured, bound, in_place),
        outside=_changed_outside(step, bound & refused, in_place),
        random_in=_drawn(step, differing, now),
        began_as=step.began_as,
        observed=step.observed,
        failures=step.at.failures,
        tags=request.tags,
        note=request.note,
    )


def _bound_left_out(step: Execution, captured: Captured, changed: set[str]) -> set[str]:
    """What the body has bound of the variables that it was not to keep: made again when needed.

    Not what it made of an older value: that may be in place, where others see it.
    """
    read = {*step.key.inputs, *(name.partition(".")[0] for name in step.key.functions)}
    anew = step.names.binds - read
    return {n for n in anew.intersection(captured.omitted) if step.before.is_bound(n, changed)}


def failed_draft(step: Execution, why: str) -> Checkpoint:
    """A checkpoint that says why nothing of the step is kept."""
    session = step.session
    return Checkpoint(
        id=new_id(),
        parent=session.position.id,
        name=step.request.name,
        branch=session.position.branch,
        session=session.id,
        notebook=session.notebook,
        created_at=clock.now(),
        duration_s=round(step.elapsed_s(), MICROSECONDS),
        cell=step.cell,
        state="failed",
        error=redacted(why)[:500],
    )


def note_lost(step: Execution, problem: StoreError) -> None:
    """Have the history say that the disk did not take what the body made."""
    record = checkpoint_record(failed_draft(step, f"not written: {problem}"))
    step.session.writes.append([record], durable=False)
    step.session.timeline.apply(record)


def _drawn(step: Execution, differing: set[str], now: Manifest) -> dict[str, str]:
    """Random generators that the body drew from → digests of their states before."""
    states = step.before.random_states
    drawn = {n: states.get(n, "") for n in random_generators.NAMES & differing if n in now}
    if states and random_generators.reads(step.tree, step.session.namespace):
        drawn = {**states, **drawn}
    return drawn


def _why_unrepeatable(
    step: Execution, captured: Captured, bound: set[str], in_place: set[str]
) -> tuple[str, ...]:
    """Why the step cannot be restored, whatever it reads: a sentence each."""
    session, before = step.session, step.before
    calls, at_work = step.at.scope, session.state(StepState).at_work
    return (
        *before.tasks,
        *((UNANSWERED,) if calls is not None and calls.is_unanswered else ()),
        *left_at_work(before.at_work, before.work_since(session.namespace, at_work)),
        *_results_bound(step, bound - in_place),
        *(_MISSED.format(n) for n in sorted(captured.missed & bound)),
        *keys.changed_databases(step.key),
        *addresses_kept(step.tree, session.namespace),
        *session.workspace.observer.why_unrepeatable(in_place, step.as_it_ran((), is_shown=False)),
        *_inseparable(step, bound, captured.manifest),
    )


def _changed_outside(step: Execution, refused: set[str], in_place: set[str]) -> tuple[str, ...]:
    """Changes of the body that no checkpoint brings back.

    Parameters
    ----------
    refused
        What it bound or changed and could not be kept.
    """
    return (
        *_changes_in_modules(step),
        *descriptors_used(step.tree, step.session.namespace),
        *_callbacks_of(step, refused),
        *_changed_before(step, in_place, refused),
        *step.outside,
    )


def _changes_in_modules(step: Execution) -> tuple[str, ...]:
    """Changes in the user's modules that text or values tell of, where none was observed."""
    observed = step.observed.get("attachments")
    if isinstance(observed, Mapping) and observed.get("modules"):
        return ()
    told = changes_outside(step.tree, step.session.namespace)
    return (*told, *keys.changed_in_modules(step.key))


def _callbacks_of(step: Execution, names: set[str]) -> list[str]:
    """The callbacks of those of the variables that are widgets and could not be kept."""
    values = {n: step.session.namespace.get(n) for n in sorted(names)}
    return [f"callbacks of {n!r}" for n, v in values.items() if is_widget(type(v))]


def _changed_before(step: Execution, in_place: set[str], refused: set[str]) -> tuple[str, ...]:
    """Why a step cannot be restored that makes what cannot be kept, and changes what was not.

    A cell that failed had made that. To run the step again, for what could not be kept, would
    change once more what it has changed.
    """
    session = step.session
    if not refused or not in_place:
        return ()
    then = session.checkpoints.base()
    changed = (n for n in in_place if not _has_same_value(n, then, step.before.manifest))
    return tuple(
        f"it makes what cannot be kept, and changes {n!r}, which was not kept before it"
        for n in sorted(changed)
    )


def _results_bound(step: Execution, bound: set[str]) -> tuple[str, ...]:
    """Why a step cannot be restored that binds a result of an earlier cell: `x = Out[3]`.

    The shell has a result of its own by then, and what is bound may be a part of that.
    """
    results = step.before.results
    if not bound or not results:
        return ()
    namespace = step.session.namespace
    bound = {n for n in bound if n in namespace and not is_named(namespace[n], namespace)}
    if cell_results.are_read(step.names):
        names = cell_results.sharing(results, bound, namespace)
    else:  # what it does not read itself can only be a variable's, too
        shown = {id(v) for v in results if type(v) not in ATOMS}
        if names := [n for n in sorted(bound) if id(namespace[n]) in shown]:
            staying = [n for n in step.before.manifest if n in namespace and n not in bound]
            others = {id(namespace[n]) for n in staying}
            names = [n for n in names if id(namespace[n]) not in others]
    return tuple(f"{n!r} is what the result of an earlier cell is" for n in names)


def _changed_behind(step: Execution, bound: set[str], refused: set[str]) -> set[str]:
    """Those of `refused`, which the cell does not name, that hold what it bound or changed."""
    namespace = step.session.namespace
    changed, behind = bound & namespace.keys(), refused & namespace.keys()
    if not (changed and behind):
        return set()
    with allowed():
        near = {n: namespace[n] for n in changed | behind}
        found = behind & keys.on_same_memory(changed, near)
        return found | {
            name for name in behind - found if names_reached([namespace[name]], changed, namespace)
        }


def _inseparable(step: Execution, bound: set[str], now: Manifest) -> tuple[str, ...]:
    """Why variables that lie on one memory cannot be kept together."""
    namespace = step.session.namespace
    return tuple(
        f"{name!r} and {other!r} lie on one memory, which cannot be kept"
        for name in sorted(name for name in bound if name in now)
        if (other := keys.also_on(name, namespace, now[name].group, are_tables_values=True))
    )


def _tied_anew(step: Execution, now: Manifest, differing: set[str]) -> set[str]:
    """Variables that have equal values and other objects in common with each other now."""
    before, binds = step.before.manifest, step.names.binds

    def staying(names: Iterable[str]) -> set[str]:
        return {n for n in names if n in before and n in now and n not in binds}

    named = staying({*step.key.inputs, *step.names.loads})
    found = (n for n in named if staying(before[n].group) != staying(now[n].group))
    # Where something of a group differs, the group is brought back with that.
    return {n for n in found if differing.isdisjoint({*before[n].group, *now[n].group})}


def _has_same_value(name: str, one: Manifest, other: Manifest) -> bool:
    """True if a variable is in both manifests, with equal values."""
    return name in one and name in other and one[name].value == other[name].value
