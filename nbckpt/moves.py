"""Going back: rewind and resume, and what both need: a checkpoint's values in the namespace."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbckpt import randomness, restore
from nbckpt.errors import CheckpointNotFoundError, StoreError
from nbckpt.model import Cell, Checkpoint, Manifest, Refusal
from nbckpt.records import head_record

if TYPE_CHECKING:
    from nbckpt.session import Session

AUTOMATIC = "automatic"
"""The tag of checkpoints that nobody asked for."""


class Moved(NamedTuple):
    """What a rewind or resume did.

    Attributes
    ----------
    checkpoint
        Where the namespace is now.
    came_back, unchanged, removed
        Names that were restored, that held the same already, and that were not there then.
    failed
        What could not be restored, and why.
    left
        Names that the checkpoint could not or was not asked to keep: they are as they were.
    took_s
        Seconds.
    """

    checkpoint: Checkpoint
    came_back: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    failed: tuple[Refusal, ...]
    left: tuple[str, ...]
    took_s: float


def rewind(session: Session, ref: str) -> Moved:
    """Make the namespace that of `ref`; what was there is checkpointed first."""
    target = session.get(ref)
    keep_unsaved(session, "before-rewind")
    session.before = session.position
    moved = _move(session, target)
    record = head_record(session.branch, target, session.before)
    session.writing.follow(f"the rewind to {target.name!r}", session.append([record]))
    session.timeline.apply(record)
    _note(session, "rewound", moved)
    return moved


def resume(session: Session, branch: str | None) -> Moved:
    """Bring the head of a branch into the namespace; names that it does not hold stay."""
    session.refresh()
    branch = branch or session.branch
    head = session.timeline.head(branch)
    if head is None and branch != session.branch:
        head = session.timeline.resolve(branch, branch=branch, here=None, before=None)
    if head is None:
        message = f"nothing to resume: branch {branch!r} has no checkpoints yet"
        raise CheckpointNotFoundError(message)
    session.branch = branch
    session.before = session.position
    moved = _move(session, head, delete=False)
    _note(session, "resumed", moved)
    return moved


def keep_unsaved(session: Session, name: str) -> Checkpoint | None:
    """Checkpoint what no checkpoint holds yet; None if there is nothing of the kind."""
    if session.position is None and not session.capturer.user_names():
        return None  # a new process: there is nothing, and nothing need be imported to look at it
    captured = session.capturer.capture()
    draft = session.draft(name, captured, cell=Cell(""), duration_s=0.0)
    if set(draft.changed) <= randomness.NAMES and not draft.removed:
        return None
    session.commit(replace(draft, tags=(AUTOMATIC,)), sync=True)
    return draft


def bring_back(session: Session, checkpoint: Checkpoint, names: Iterable[str]) -> restore.Loaded:
    """Build the values of `names` as of `checkpoint`, with all they share objects with."""
    manifest = session.timeline.manifest(checkpoint.id)
    wanted = {n: manifest[n] for n in names if n in manifest}
    closed = {mate for v in wanted.values() for mate in v.group if mate in manifest}
    wanted |= {n: manifest[n] for n in sorted(closed - set(wanted))}
    if session.capturer.user_names():
        # So that what is there and has not changed is not built anew beside those who hold it.
        with suppress(StoreError):  # a full disk keeps nobody from going back: all is built anew
            session.capturer.capture(only=_with_definitions(wanted, manifest))
    return restore.load(
        wanted,
        store=session.store,
        namespace=session.namespace,
        live=session.capturer.settled(),
        manifest=manifest,
    )


def _with_definitions(names: Iterable[str], manifest: Manifest) -> set[str]:
    """`names`, the definitions that their values need, and all that is grouped with these."""
    found: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in found and name in manifest:
            found.add(name)
            queue += [*manifest[name].needs, *manifest[name].group]
    return found


def take(
    session: Session, checkpoint: Checkpoint, loaded: restore.Loaded, removed: Iterable[str]
) -> None:
    """Bind what was built, and take note of where the namespace is now."""
    manifest = session.timeline.manifest(checkpoint.id)
    for name in removed:
        session.namespace.pop(name, None)
    loaded.bind(session.namespace, manifest)
    session.capturer.adopt({n: manifest[n] for n in loaded.values}, removed)
    session.position = checkpoint.id
    note_seeds(session, checkpoint, loaded)


def note_seeds(session: Session, checkpoint: Checkpoint, loaded: restore.Loaded) -> None:
    """Take note which of the restored random generators stand where somebody put them."""
    states = set(loaded.values) & randomness.NAMES
    session.seeded = (session.seeded - states) | (states & set(checkpoint.seeded))


def _move(session: Session, target: Checkpoint, *, delete: bool = True) -> Moved:
    began = time.perf_counter()
    manifest = session.timeline.manifest(target.id)
    loaded = bring_back(session, target, manifest)
    left = {r.variable for r in target.refused} | set(target.omitted)
    present = set(session.capturer.user_names())
    gone = present - set(manifest) - left if delete else set()
    gone |= {r.variable for r in loaded.failed} & present
    take(session, target, loaded, sorted(gone))
    session.moved = True
    hidden = randomness.NAMES
    return Moved(
        checkpoint=target,
        came_back=tuple(n for n in manifest if n in loaded.values and n not in hidden),
        unchanged=tuple(n for n in manifest if n in loaded.unchanged - hidden),
        removed=tuple(sorted(gone)),
        failed=loaded.failed,
        left=tuple(sorted(left)),
        took_s=time.perf_counter() - began,
    )


def _note(session: Session, event: str, moved: Moved) -> None:
    target = moved.checkpoint
    session.event(event, checkpoint=target.id, name=target.name, took_s=moved.took_s)
