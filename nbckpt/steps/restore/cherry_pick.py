"""A restored step on today's line: where the namespace stands then, and what a resume would give.

A step is found by its key, on whichever line. Where the namespace is that of its checkpoint
afterwards, the session stands on it, and nothing is written. Else, below a cell that was edited
say, nothing durable would hold what is there: then the step gets another checkpoint, on the line
that the session is on, as a cherry-picked commit does in git.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from nbckpt.capture.limits import least_size
from nbckpt.capture.selection import Selection
from nbckpt.errors import StoreError
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.model import AUTOMATIC, Cell, Checkpoint, Manifest
from nbckpt.runtime.interrupts import whole
from nbckpt.session.moves import unsaved
from nbckpt.session.session import Session

LOOK_BYTES = 1_000_000
"""So much of cells that are not kept by themselves is looked at: more would take longer than to
restore. What else they have made is taken to be that of the checkpoint, until the next one."""

_CONTAINERS = frozenset({dict, frozenset, list, set, tuple})


@whole
def stand_at(
    session: Session, checkpoint: Checkpoint, selection: Selection, *, is_next: bool
) -> Checkpoint:
    """Take note of a restored step; the checkpoint that stands for it.

    If the disk takes none, that is told, and the next one holds what came back.

    Parameters
    ----------
    selection
        What the step keeps.
    is_next
        Whether `session.position.follows` said so of the checkpoint before the step was restored.
    """
    if is_next and _brought_all(session, checkpoint):
        return _on(session, checkpoint)
    if not session.policy.keeps_each and _n_bytes_to_look_at(session, checkpoint) > LOOK_BYTES:
        _on(session, checkpoint)
        session.position.is_exact = False
        return checkpoint
    try:
        live = session.checkpoints.capture(selection).manifest
        here = session.timeline.checkpoints.get(session.position.id or "")
        is_ahead = here is None or _leads(session, here, checkpoint)
        if is_ahead and _is_there(session, checkpoint, live):
            session.pending_cells.forget()
            return _on(session, checkpoint)
        if here and _leads(session, checkpoint, here) and _is_there(session, here, live):
            session.position.is_exact = True  # all that came back was there already
            session.workspace.live_objects.restored_cell(checkpoint)
            return checkpoint
        return keep_again(session, checkpoint, selection)
    except StoreError:
        return checkpoint


def _brought_all(session: Session, checkpoint: Checkpoint) -> bool:
    """True if all that a checkpoint has changed came back with its step."""
    if session.pending_cells.cells or checkpoint.omitted:
        return False
    own = {*checkpoint.bound, *NAMES}
    if not own.issuperset(checkpoint.removed):
        return False
    # Others can share with fewer than before: their values are the same.
    changed = checkpoint.changed.items()
    parted = {n: v for n, v in changed if n not in own}
    before = session.timeline.manifest(checkpoint.parent) if parted and checkpoint.parent else {}
    return all(n in before and before[n].value == v.value for n, v in parted.items())


def _on(session: Session, checkpoint: Checkpoint) -> Checkpoint:
    session.position.stand_on(checkpoint)
    session.workspace.live_objects.restored_cell(checkpoint)
    return checkpoint


def _n_bytes_to_look_at(session: Session, checkpoint: Checkpoint) -> int:
    """Approximate bytes of the variables that code may have touched since they were looked at."""
    manifest, namespace = session.timeline.manifest(checkpoint.id), dict(session.namespace)
    names = set(session.workspace.tracker.user_names()) - session.workspace.tracker.untouched()
    return sum(
        max(
            least_size(namespace[n]),
            sys.getsizeof(namespace[n]) if type(namespace[n]) in _CONTAINERS else 0,
            manifest[n].size_bytes if n in manifest else 0,
        )
        for n in names & namespace.keys()
    )


def _leads(session: Session, older: Checkpoint, newer: Checkpoint) -> bool:
    return session.timeline.is_ancestor(older.id, newer.id)


def _is_there(session: Session, checkpoint: Checkpoint, live: Manifest) -> bool:
    """True if the namespace and the process state are those of a checkpoint."""
    is_state = unsaved.is_state_of(checkpoint, session.workspace.observer.standing())
    return is_state and is_as_kept(session, checkpoint, live)


def is_as_kept(session: Session, checkpoint: Checkpoint, live: Manifest) -> bool:
    """True if live variables are those of a checkpoint, but for what it does not hold."""
    kept = session.timeline.manifest(checkpoint.id)
    left_out = {*checkpoint.omitted, *(refusal.variable for refusal in checkpoint.refused)}
    # Numbers that nobody seeded are other ones each time, and nobody asked for them.
    left_out |= NAMES - session.workspace.seeded
    left_out |= session.workspace.own_names()  # a move leaves them
    names = {*live, *kept} - left_out
    return all(_tied(live, name) == _tied(kept, name) for name in names)


def _tied(manifest: Manifest, name: str) -> tuple[str, tuple[str, ...]] | None:
    """The value of a variable, and with which others it shares objects."""
    variable = manifest.get(name)
    return None if variable is None else (variable.value, variable.group)


@whole
def keep_again(
    session: Session, checkpoint: Checkpoint, selection: Selection, joined: tuple[Cell, ...] = ()
) -> Checkpoint:
    """A checkpoint of the same name where the session stands; its values are in the store already.

    Parameters
    ----------
    joined
        Cells that were restored with it.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    with session.checkpoints.holding():
        captured = session.checkpoints.capture(selection)
        draft = session.checkpoints.draft(
            checkpoint.name, captured, cell=checkpoint.cell, duration_s=checkpoint.duration_s
        )
        draft = _as_kept(draft, checkpoint, joined)
        # What was written on it since then speaks of that result, and not of this one.
        made = session.timeline.checkpoints.as_made(checkpoint.id)
        draft = replace(draft, tags=tags_of(made))
        session.checkpoints.commit(draft, patience_s=0.0)
    return draft


def _as_kept(draft: Checkpoint, kept: Checkpoint, joined: tuple[Cell, ...]) -> Checkpoint:
    """`draft`, as a checkpoint of what the cell of `kept` did."""
    known = {refusal.variable for refusal in draft.refused}
    lost = [r for r in kept.refused if r.variable in set(kept.bound) - known]
    gone = set(kept.omitted).intersection(kept.bound) - known - {*draft.changed, *draft.omitted}
    omitted = (*draft.omitted, *sorted(gone))
    lacking = known.union(omitted, (r.variable for r in lost))
    return replace(
        draft,
        omitted=omitted,
        key=kept.key,
        bound=kept.bound,
        in_place=kept.in_place,
        refused=(*draft.refused, *lost),
        lacking={n: d for n, d in kept.lacking.items() if n in lacking},
        outputs=kept.outputs,
        passive=kept.passive,
        preconditions=kept.preconditions,
        unrepeatable=kept.unrepeatable,
        outside=kept.outside,
        random_in=kept.random_in,
        began_as=kept.began_as,
        observed=kept.observed,
        made_by=kept.made_by,
        note=kept.note,
        joined=(*draft.joined, *joined),
    )


def tags_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The tags that the cell of a checkpoint asked for."""
    return tuple(tag for tag in checkpoint.tags if tag != AUTOMATIC)
