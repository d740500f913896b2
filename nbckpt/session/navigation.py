"""Going back: rewind and resume, and what both need: a checkpoint's values in the namespace."""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.capture import restore
from nbckpt.capture.selection import Selection
from nbckpt.capture.untrusted import require_trusted
from nbckpt.config.validate import require_text
from nbckpt.digests import Json, digest_of_json
from nbckpt.errors import BranchNotFoundError, CheckpointNotFoundError, StoreError
from nbckpt.fingerprint import random_state
from nbckpt.fingerprint.names import is_nbckpts_own
from nbckpt.model import AUTOMATIC, Cell, Checkpoint, Manifest, Refusal, Variable
from nbckpt.runtime.interrupts import breathe
from nbckpt.session.integrity import Inspection, refusal_to_resume
from nbckpt.session.unkept import Unkept
from nbckpt.timeline import references

if TYPE_CHECKING:
    from nbckpt.session.session import Session

EVERYTHING = Selection()


class Moved(NamedTuple):
    """Result of a rewind or resume.

    Attributes
    ----------
    checkpoint
        Checkpoint that the namespace is at now.
    came_back, unchanged, removed
        Names that were restored, that held the same already, and that were not there then.
    failed
        Variables that could not be restored, with reasons.
    left
        Names that the checkpoint could not or was not asked to keep. Those that are in `removed`
        are gone: their values were of another moment. Those in `absent` are not there either, and
        were not before. The others are as they were.
    took_s
        Seconds that it took.
    untrusted
        Variables that were not restored, as the user neither made nor trusts them.
    was_set
        Process state that was set, a short text each.
    unset
        Process state that could not be set, and the code to run for it, a short text each.
    moved_on
        Names of `left` that hold the object of then, which may have changed since.
    begun
        Threads that had not begun there and run by now, with variables that share objects with
        them: they stay, as copies would be other objects.
    refused
        Names of `left` that the checkpoint could not keep, with reasons.
    absent
        Names of `left` that were not there before either, as in a new process.
    """

    checkpoint: Checkpoint
    came_back: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    failed: tuple[Refusal, ...]
    left: tuple[str, ...]
    took_s: float
    untrusted: tuple[Refusal, ...] = ()
    was_set: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    moved_on: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    absent: tuple[str, ...] = ()

    def __repr__(self) -> str:
        at = self.checkpoint
        return f"<at {at.name!r} {at.id[:8]}: {len(self.came_back)} variables came back>"


def rewind(session: Session, ref: str) -> Moved:
    """Make the namespace that of `ref`; what was there is checkpointed first.

    ``-`` goes back to the branch on which the session was before, too.
    """
    target = session.get(ref)
    require_trusted(target)
    branch = session.before_branch if ref == "-" else None
    keep_unsaved(session, "before-rewind")
    moved = move(session, target)
    session.branch = branch or session.branch
    session.move_head(target, told=f"the rewind to {target.name!r}")
    note(session, "rewound", moved)
    return moved


def resume(session: Session, branch: str | None, *, fallback: bool = False) -> Moved:
    """Bring the head of a branch into the namespace; names that it does not hold stay.

    Parameters
    ----------
    fallback
        If the head is damaged, take the newest checkpoint that is whole.
    """
    if branch is not None:
        require_text(branch, "the name of a branch")
    session.refresh()
    is_asked_for = branch is not None or not session.is_on_usual_branch
    branch = branch or session.branch
    head = session.timeline.head(branch)
    if head is None and branch != session.branch:
        raise BranchNotFoundError(references.unknown_branch(session.timeline, branch))
    own = head if is_asked_for else session.timeline.own_head(branch, session.notebook)
    if own is None:
        raise CheckpointNotFoundError(_nothing_to_resume(session, branch))
    if own != head:  # the branch is another notebook's by now: this one gets its own
        branch, head = session.notebook, own
    assert head is not None
    require_trusted(head)
    if _would_lose(session, head):
        keep_unsaved(session, "before-resume")
    moved = _move_if_whole(session, head)
    if moved is None:
        return _fall_back(session, head, branch, is_asked_for=fallback)
    if branch != session.branch or session.head != head:  # what was kept has moved it
        session.branch = branch
        session.move_head(head)
    note(session, "resumed", moved)
    return moved


def _nothing_to_resume(session: Session, branch: str) -> str:
    """That there is nothing, and what other notebooks of the folder have."""
    timeline = session.timeline
    others = {b: timeline.head(b) for b in sorted(timeline.branches)}
    known = [f"{b!r} of {h.notebook}" for b, h in others.items() if h is not None and h.notebook]
    message = f"nothing to resume: branch {branch!r} has no checkpoints yet"
    if not known:
        return message
    return f"{message}; there are {', '.join(known[:5])}: %resume BRANCH brings one of them"


def _move_if_whole(session: Session, head: Checkpoint) -> Moved | None:
    """Make the namespace that of `head`, unless it is damaged: nothing is changed then."""
    began = time.perf_counter()
    before = session.observer.standing()
    set_state(session, head)
    loaded = bring_back(session, head, session.timeline.manifest(head.id))
    names = {refusal.variable for refusal in loaded.failed}
    if Inspection(session).damage_of(head, names):
        session.observer.go_to(before)
        return None
    moved = move(session, head, delete=False, loaded=loaded)
    return moved._replace(took_s=time.perf_counter() - began)


def _fall_back(session: Session, head: Checkpoint, branch: str, *, is_asked_for: bool) -> Moved:
    """Resume from the newest whole checkpoint, or offer it."""
    inspection = Inspection(session)
    damage = inspection.damage_of(head)
    session.record_event("resume_failed", checkpoint=head.id, name=head.name, error=str(damage))
    whole = inspection.newest_whole(head, branch)
    if whole is None or not is_asked_for:
        raise refusal_to_resume(head, damage, whole)
    moved = move(session, whole, delete=False)
    session.branch = branch
    session.move_head(whole)  # the damaged line keeps a name of its own
    note(session, "fell_back", moved, instead_of=head.id)
    return moved


def _would_lose(session: Session, target: Checkpoint) -> bool:
    """True if bringing `target` back would overwrite what no checkpoint holds.

    In a new process only what both have is looked at: its imports are no reason for a checkpoint.
    """
    if session.position is not None:
        return True
    manifest = session.timeline.manifest(target.id)
    shared = {n for n in session.capturer.user_names() if n in manifest}
    if not shared:
        return False
    live = session.capturer.capture(only=shared).manifest
    return any(n not in live or live[n].value != manifest[n].value for n in shared)


def keep_unsaved(session: Session, name: str) -> Checkpoint | None:
    """Checkpoint what no checkpoint holds yet; None if there is nothing of the kind.

    Where the namespace does not come from the head of its branch (in a new process, or while the
    first cells of a finished notebook are restored), the branch stays where it is.
    """
    if session.position is None and not session.capturer.user_names():
        return None  # a new process: there is nothing, and nothing need be imported to look at it
    with session.holding(name):
        head = session.head
        captured = session.capturer.capture()
        draft = session.draft(name, captured, cell=Cell(""), duration_s=0.0)
        is_same = (
            set(draft.changed) <= random_state.NAMES | own_names(session) and not draft.removed
        )
        is_same = is_same and not _is_other_state(session, draft)
        if is_same and not _newly_refused(session, draft):
            return None
        session.commit(replace(draft, tags=(AUTOMATIC,)), sync=True)
        if head is not None and not session.timeline.is_ancestor(head.id, draft.id):
            session.move_head(head)
    breathe()  # it may not be durable: an interrupt ends a wait
    return draft


def _newly_refused(session: Session, draft: Checkpoint) -> set[str]:
    """Variables that cannot be kept, of which the checkpoint where the session stands is silent.

    Only a checkpoint says later what of that moment is gone, and why.
    """
    if draft.parent is None:
        return set()
    before = session.timeline.checkpoints[draft.parent]
    known = {r.variable for r in before.refused} | set(before.omitted)
    return {r.variable for r in draft.refused} - known


def _is_other_state(session: Session, draft: Checkpoint) -> bool:
    """True if the process state is another than where the namespace comes from."""
    if session.position is None:
        return False
    before = session.timeline.checkpoints[session.position]
    return not is_state_of(before, draft.standing)


def is_state_of(checkpoint: Checkpoint, standing: Mapping[str, Json]) -> bool:
    """True if the process state of a checkpoint is `standing`."""
    return digest_of_json(checkpoint.standing) == digest_of_json(standing)


def own_names(session: Session) -> set[str]:
    """Names that hold nbckpt and what was imported from it: who moves by them needs them there."""
    capturer = session.capturer
    return {n for n in capturer.user_names() if is_nbckpts_own(session.namespace[n])}


def bring_back(
    session: Session,
    checkpoint: Checkpoint,
    names: Iterable[str],
    *,
    anew: Container[str] = frozenset(),
    gone: Container[str] = frozenset(),
) -> restore.Loaded:
    """Build the values of `names` as of `checkpoint`, with all they share objects with.

    Parameters
    ----------
    anew
        Names that are built even if they have the same value already.
    gone
        Names that are about to be taken away: what shares with none but these can stay.
    """
    manifest = session.timeline.manifest(checkpoint.id)
    wanted = {n: manifest[n] for n in names if n in manifest}
    closed = {mate for v in wanted.values() for mate in v.group if mate in manifest}
    wanted |= {n: manifest[n] for n in sorted(closed - set(wanted))}
    if session.capturer.user_names():
        # So that what is there and has not changed is not built anew beside those who hold it.
        with suppress(StoreError):  # a full disk keeps nobody from going back: all is built anew
            session.capturer.capture(only=_with_definitions(wanted, manifest))
    parted = session.observer.at_other_places(wanted.keys() & session.namespace.keys())
    settled = session.capturer.settled()
    live = {n: v for n, v in settled.items() if n not in anew and n not in parted}
    live |= {n: v for n, v in wanted.items() if n in live and _is_alone(v, live[n], gone)}
    return restore.load(
        wanted,
        store=session.store,
        namespace=session.namespace,
        live=live,
        manifest=manifest,
        silenced=session.observer.silenced,
    )


def _is_alone(wanted: Variable, live: Variable, gone: Container[str]) -> bool:
    """True if a live variable is as wanted, as soon as those that it shares with are gone.

    What cannot be kept may hold it, and stays as it is.
    """
    others = [mate for mate in live.group if mate != live.name]
    return (
        wanted.group == (wanted.name,)
        and (wanted.value, wanted.needs) == (live.value, live.needs)
        and all(mate in gone for mate in others)
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


def _ending(session: Session, going: Collection[str]) -> set[str]:
    """Names whose values do something of the user's when they go."""
    if not going:  # as in a new kernel, which needs to load nothing for that
        return set()
    from nbckpt.capture.observation.finalizers import called_at_end

    return set(called_at_end(going, session.namespace))


def take(
    session: Session, checkpoint: Checkpoint, loaded: restore.Loaded, removed: Iterable[str]
) -> None:
    """Bind what was built, and take note of where the namespace is now."""
    manifest = session.timeline.manifest(checkpoint.id)
    for name in removed:
        session.namespace.pop(name, None)
    stay = [n for n in session.capturer.user_names() if n not in loaded.values]
    session.torn_graphs.replaces(loaded.values.keys(), stay)
    session.observer.replaced(loaded.replaced(session.namespace))
    loaded.bind(session.namespace, manifest)
    session.observer.bound({*loaded.values, *loaded.unchanged})
    kept, replaced = session.capturer.manifest(), {*loaded.values, *removed}
    session.capturer.adopt({n: manifest[n] for n in loaded.values}, removed)
    # What stays and shared an object with what was replaced shares it no more.
    stays = kept.keys() - replaced
    session.capturer.touched(n for n in stays if not replaced.isdisjoint(kept[n].group))
    session.position, session.is_at_position = checkpoint.id, False
    lost = {r.variable for r in loaded.failed} & manifest.keys()
    session.unkept = Unkept(checkpoint.id, failed=frozenset(lost))
    session.live_objects.restored(checkpoint)
    note_seeds(session, checkpoint, loaded)


def note_seeds(session: Session, checkpoint: Checkpoint, loaded: restore.Loaded) -> None:
    """Take note which of the restored random generators stand where somebody put them."""
    states = set(loaded.values) & random_state.NAMES
    session.seeded = (session.seeded - states) | (states & set(checkpoint.seeded))


def move(
    session: Session,
    target: Checkpoint,
    *,
    delete: bool = True,
    loaded: restore.Loaded | None = None,
) -> Moved:
    """Make the namespace that of `target`, and remember where it was."""
    was = (session.position, session.branch)
    moved = restore_all(session, target, delete=delete, loaded=loaded)
    session.is_at_position = delete
    origins = (was[0], session.origin)
    leads_on = session.timeline.is_ancestor
    session.origin = next(
        (o for o in origins if o != target.id and o and leads_on(target.id, o)), None
    )
    session.before, session.before_branch = was
    session.moved = True
    return moved


def restore_all(
    session: Session,
    target: Checkpoint,
    *,
    delete: bool = True,
    loaded: restore.Loaded | None = None,
    is_undone: bool = False,
) -> Moved:
    """Make the namespace that of `target`; unless `delete`, other names stay.

    Parameters
    ----------
    loaded
        Its values, if they were built already.
    is_undone
        Whether the namespace holds the objects of that moment again: what could not be kept, too.
    """
    began = time.perf_counter()
    manifest = session.timeline.manifest(target.id)
    if loaded is None:
        set_state(session, target)
        goes = _not_in(session, target) if delete else frozenset()
        loaded = bring_back(session, target, manifest, gone=goes)
    refused = {r.variable for r in target.refused}
    left = refused | set(target.omitted)
    present = set(session.capturer.user_names())
    untouched = session.live_objects.untouched(target)
    untouched -= session.live_objects.holders_of_any(loaded.values)  # they hold what is replaced
    lasting = session.live_objects.lasting(target) - untouched
    still = refused if is_undone else untouched | lasting
    stays = still | set(target.omitted) | own_names(session)
    gone = present - set(manifest) - stays if delete else set()
    if (
        session.position is not None and not is_undone
    ):  # what is there is of another moment of this history
        gone |= (refused & present) - stays
        loaded = _without_orphans(loaded, manifest, refused & gone)
    begun = {m for n in session.live_objects.begun_since(target) for m in manifest[n].group}
    loaded = _without(loaded, begun)
    gone |= {r.variable for r in (*loaded.failed, *loaded.untrusted)} & present
    ending = _ending(session, [n for n in {*loaded.values, *gone} if n in session.namespace])
    if ending:  # what that does comes first: it is done to what goes, not to what comes
        for name in [n for n in reversed(session.namespace) if n in ending]:
            session.namespace.pop(name, None)  # the last first: it may need, or drop, the others
        session.capturer.adopt({}, ending)
        loaded.drop()
        session.capturer.touched(None)
        loaded = _without(bring_back(session, target, manifest, gone=gone), begun)
        gone |= {r.variable for r in (*loaded.failed, *loaded.untrusted)} & present
    take(session, target, loaded, sorted(gone))
    session.torn_graphs.goes_back(session.observer.standing)
    session.capturer.touched(lasting | begun)  # they may share no more with what was replaced
    session.joining.forget()
    hidden = random_state.NAMES
    return Moved(
        checkpoint=target,
        came_back=tuple(n for n in manifest if n in loaded.values and n not in hidden),
        unchanged=tuple(n for n in manifest if n in loaded.unchanged - hidden),
        removed=tuple(sorted(gone)),
        failed=loaded.failed,
        left=tuple(sorted(left)),
        took_s=time.perf_counter() - began,
        untrusted=loaded.untrusted,
        was_set=session.observer.was_set,
        unset=session.observer.unset,
        moved_on=() if is_undone else tuple(sorted(lasting)),
        refused=target.refused,
        begun=tuple(sorted(begun)),
        absent=tuple(sorted(left - gone - session.namespace.keys())),
    )


def _without(loaded: restore.Loaded, names: set[str]) -> restore.Loaded:
    """`loaded` without some values, which stay as they are."""
    return loaded._replace(values={n: v for n, v in loaded.values.items() if n not in names})


def _without_orphans(loaded: restore.Loaded, manifest: Manifest, gone: set[str]) -> restore.Loaded:
    """`loaded` without what is as it was, but refers to a definition that goes and is not kept.

    Made again, that would be another one than what stays refers to.
    """
    orphans: dict[str, str] = {}
    while found := {
        name: need
        for name in loaded.unchanged - orphans.keys()
        for need in manifest[name].needs
        if need in gone or need in orphans
    }:
        orphans |= found
    reason = "did not come back: it needs {!r}, which its checkpoint does not hold"
    failed = [
        Refusal(name, name, manifest[name].type_name, reason.format(need))
        for name, need in orphans.items()
    ]
    unchanged = loaded.unchanged - orphans.keys()
    return loaded._replace(unchanged=unchanged, failed=(*loaded.failed, *failed))


def _not_in(session: Session, target: Checkpoint) -> frozenset[str]:
    """Names of variables that are kept now, and that a checkpoint says nothing of."""
    then = {*session.timeline.manifest(target.id), *target.omitted, *own_names(session)}
    return frozenset(session.capturer.kept_names()) - then


def set_state(session: Session, target: Checkpoint) -> None:
    """Set the process state of a checkpoint, before its values are loaded."""
    session.observer.go_to(target.standing)


def note(session: Session, event: str, moved: Moved, **members: object) -> None:
    """Have the history, and who listens, know of a move."""
    target, manifest = moved.checkpoint, session.timeline.manifest(moved.checkpoint.id)
    blobs = {manifest[n].blob: manifest[n].size_bytes for n in moved.came_back if n in manifest}
    lost = [refusal.variable for refusal in moved.failed]
    session.record_event(
        event,
        checkpoint=target.id,
        name=target.name,
        took_s=moved.took_s,
        size_bytes=sum(blobs.values()),
        left_out=lost or None,
        outcome="partial" if lost else None,
        **members,
    )
    session.tell("moved")
