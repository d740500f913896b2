"""Variables that share other objects than at a step, or have changed: reasons not to restore it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.capture import restore
from nbckpt.digests import Digest
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.model import Checkpoint, Manifest
from nbckpt.runtime.interrupts import allowed

if TYPE_CHECKING:
    from nbckpt.session.session import Session


def changed_since(
    session: Session,
    checkpoint: Checkpoint,
    manifest: Manifest,
    loaded: restore.Loaded,
    present: set[str],
) -> list[str]:
    """Reasons: variables that hold something of the step's, and are other than they were then.

    Where all variables are those with which it began none is: it did not change these.
    """
    return [
        *_untied(session, checkpoint, present & set(loaded.values)),
        *_parted_mates(session, loaded, present),
        *_changed_mates(session, loaded, manifest, present),
    ]


def _untied(session: Session, checkpoint: Checkpoint, mates: set[str]) -> list[str]:
    """Reasons: variables that shared an object with what the step reads before it, and do not now.

    ``d = d`` leaves the two as they were; it does not tie them.
    """
    return [
        f"{mate!r} shared an object with what it reads then, and does not now"
        for mate in sorted(mates & checkpoint.passive.keys())
        if session.workspace.tie_of(mate, checkpoint.key) != checkpoint.passive[mate][-1]
    ]


def _parted_mates(session: Session, loaded: restore.Loaded, present: set[str]) -> list[str]:
    """Reasons: variables that shared an object with each other then, and do not now."""
    names = sorted(present & set(loaded.values))
    if len(names) < 2:
        return []
    then = session.workspace.capturer.encoder.sharing_within(
        {**session.namespace, **loaded.values}, names
    )
    now = {frozenset(group) for group in session.workspace.capturer.encoder.sharing(names)}
    return [
        f"{group[0]!r} and {group[1]!r} shared an object then, and do not now"
        for group in then
        if frozenset(group) not in now
    ]


def _changed_mates(
    session: Session, loaded: restore.Loaded, manifest: Manifest, present: set[str]
) -> list[str]:
    """Reasons: variables that hold something of the step's, and are not as they were."""
    live = session.workspace.tracker.settled()
    reasons = []
    for mate in sorted(present & set(loaded.values)):
        if mate in live and live[mate].value == manifest[mate].value:
            continue
        digester = ValueDigester(session.namespace)
        with allowed():
            now, then = map(digester.digest, (session.namespace[mate], loaded.values[mate]))
        if now != then:
            reasons.append(f"{mate!r} shared an object with it then, and has another value now")
    return reasons


def parted_in_place(
    session: Session, checkpoint: Checkpoint, in_place: set[str], *, begins_again: bool
) -> list[str]:
    """Reasons: variables that changed only because they shared, and do not as they did then."""
    live = session.workspace.tracker.settled()
    key = checkpoint.key
    named = {*checkpoint.bound, *(key.inputs if key else ()), *(key.functions if key else ())}
    active = named - checkpoint.passive.keys()
    names = sorted(in_place & checkpoint.passive.keys())
    reasons = []
    for name in names:
        *before, tie = checkpoint.passive[name]
        is_same = begins_again or (
            is_as_then(session, live, name, *before)
            and session.workspace.tie_of(name, checkpoint.key) == tie
        )
        if not is_same or not _is_tied(live, name, active):
            reasons.append(f"it changed {name!r} through a shared object, and that is another now")
    return reasons


def _is_tied(live: Manifest, name: str, active: set[str]) -> bool:
    """True if a variable shares an object with some of `active`, or is the class of one."""
    return not active.isdisjoint(live[name].group) or any(
        name in live[n].needs for n in active if n in live
    )


def is_as_then(session: Session, live: Manifest, name: str, kept: Digest, digest: Digest) -> bool:
    """True if a variable is as it was before the step ran, as bytes or as a value."""
    if name not in live:
        return False
    return live[name].value == kept or session.workspace.digests_of([name])[name] == digest
