"""Keeping before a move all that no checkpoint holds yet, so that the move can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.capture.decode import Values
from nbckpt.capture.same_values import holds
from nbckpt.digests import Json, digest_of_json
from nbckpt.fingerprint import random_generators
from nbckpt.model import AUTOMATIC, Cell, Checkpoint
from nbckpt.runtime.interrupts import breathe

if TYPE_CHECKING:
    from nbckpt.session.session_parts import SessionParts

_MOST_BYTES = 64 << 20
"""To build and compare a larger value would take longer than to keep it once more."""
_BY_THEIR_BYTES = ("matplotlib.", "numpy.", "torch.")
"""Modules of values that count as changed if their bytes did, without being built and compared.

A comparison does not see flags and views, and a figure opens itself as it is built.
"""


def would_lose(session: SessionParts, target: Checkpoint) -> bool:
    """True if bringing `target` back would overwrite what no checkpoint holds.

    In a new process only what both have is looked at: its imports are no reason for a checkpoint.
    """
    if session.position.id is not None:
        return True
    manifest = session.timeline.manifest(target.id)
    shared = {n for n in session.workspace.tracker.user_names() if n in manifest}
    if not shared:
        return False
    live = session.workspace.capturer.capture(only=shared).manifest
    return any(n not in live or live[n].value != manifest[n].value for n in shared)


def prepare_move(session: SessionParts) -> None:
    """Take note of what may have changed, and keep the cells that wait for a checkpoint."""
    session.rescan()
    session.pending_cells.keep_aside()


def keep_unsaved(session: SessionParts, name: str) -> Checkpoint | None:
    """Checkpoint what no checkpoint holds yet; None if there is nothing of the kind.

    Where the namespace does not come from the head of its branch (in a new process, or while the
    first cells of a finished notebook are restored), the branch stays where it is.
    """
    if session.position.id is None and not session.workspace.tracker.user_names():
        return None  # a new process: there is nothing, and nothing need be imported to look at it
    with session.checkpoints.holding(name):
        head = session.position.head
        captured = session.workspace.capturer.capture()
        draft = session.checkpoints.draft(name, captured, cell=Cell(""), duration_s=0.0)
        is_same = not draft.removed and not _is_other_state(session, draft)
        is_same = is_same and not _changed_values(session, draft)
        if is_same and not _newly_refused(session, draft):
            return None
        session.checkpoints.commit(replace(draft, tags=(AUTOMATIC,)), sync=True)
        if head is not None and not session.timeline.is_ancestor(head.id, draft.id):
            session.position.move_head(head)
    breathe()  # it may not be durable: an interrupt ends a wait
    return draft


def _changed_values(session: SessionParts, draft: Checkpoint) -> set[str]:
    """Variables that hold another value than where the session stands, not only other bytes."""
    changed = draft.changed.keys() - random_generators.NAMES - session.workspace.own_names()
    if not changed or draft.parent is None:
        return set(changed)
    manifest = session.timeline.manifest(draft.parent)
    values = Values(session.store, manifest)
    for name in sorted(changed):
        now, kept = draft.changed[name], manifest.get(name)
        if kept is None or max(now.size_bytes, kept.size_bytes) > _MOST_BYTES:
            return {name}
        if now.type_name.startswith(_BY_THEIR_BYTES):
            return {name}
        tied = (now.group, now.needs) == (kept.group, kept.needs)
        if not tied or not holds(session.namespace, now, kept, values, now.group):
            return {name}
    return set()


def _newly_refused(session: SessionParts, draft: Checkpoint) -> set[str]:
    """Variables that cannot be kept, of which the checkpoint where the session stands is silent.

    Only a checkpoint says later what of that moment is gone, and why.
    """
    if draft.parent is None:
        return set()
    before = session.timeline.checkpoints[draft.parent]
    known = {r.variable for r in before.refused} | set(before.omitted)
    return {r.variable for r in draft.refused} - known


def _is_other_state(session: SessionParts, draft: Checkpoint) -> bool:
    """True if the process state is another than where the namespace comes from."""
    if session.position.id is None:
        return False
    before = session.timeline.checkpoints[session.position.id]
    return not is_state_of(before, draft.standing)


def is_state_of(checkpoint: Checkpoint, standing: Mapping[str, Json]) -> bool:
    """True if the process state of a checkpoint is `standing`."""
    return digest_of_json(checkpoint.standing) == digest_of_json(standing)
