"""Going back: rewind and resume, and the move to a checkpoint that both make."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nbckpt.capture import restore
from nbckpt.capture.trust_gate import require_trusted
from nbckpt.config.validate import require_text
from nbckpt.errors import BranchNotFoundError, CheckpointNotFoundError
from nbckpt.model import AUTOMATIC, Checkpoint, size_of_all
from nbckpt.session.moves.integrity import Inspection, refusal_to_resume
from nbckpt.session.moves.move_result import MoveResult
from nbckpt.session.moves.namespace_restore import bring_back, restore_all, set_state
from nbckpt.session.moves.unsaved import keep_unsaved, prepare_move, would_lose
from nbckpt.timeline import references

if TYPE_CHECKING:
    from nbckpt.session.session_parts import SessionParts


def rewind(session: SessionParts, ref: str) -> MoveResult:
    """Make the namespace that of `ref`; what was there is checkpointed first.

    No branch is moved: that is left to the first checkpoint that is made from there.
    ``-`` goes back to the branch on which the session was before, too.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    UntrustedError
        If the user neither made nor trusts it.
    StoreError
        If what is there now cannot be written: nothing was changed.
    """
    prepare_move(session)
    target = session.get(ref)
    require_trusted(target)
    branch = session.position.before_branch if ref == "-" else None
    keep_unsaved(session, "before-rewind")
    moved = move(session, target)
    session.position.look_at(target, branch=branch, told=f"the rewind to {target.name!r}")
    note(session, "rewound", moved)
    return moved


def resume(session: SessionParts, branch: str | None, *, fallback: bool = False) -> MoveResult:
    """Bring the head of a branch into the namespace; names that it does not hold stay.

    Where the notebook had gone back to look and nothing went on from there, that is brought back,
    unless a branch is asked for.

    Parameters
    ----------
    fallback
        If the head is damaged, take the newest checkpoint that is whole.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    CheckpointNotFoundError
        If there is nothing on it yet.
    UntrustedError
        If the user neither made nor trusts its head.
    FormatError
        If the head is damaged: nothing was changed, and the message says what could be had.
    """
    prepare_move(session)
    if branch is not None:
        require_text(branch, "the name of a branch")
    session.refresh()
    is_asked_for = branch is not None or not session.position.is_on_usual_branch
    look = None if branch else session.position.look
    branch = branch or session.position.branch
    head = session.timeline.head(branch)
    if head is None and branch != session.position.branch:
        raise BranchNotFoundError(references.unknown_branch(session.timeline, branch))
    own = head if is_asked_for else session.timeline.own_head(branch, session.notebook)
    target = look or own
    if target is None:
        raise CheckpointNotFoundError(_nothing_to_resume(session, branch))
    if target not in (look, head):  # it is another notebook's by now: this one gets its own
        branch = session.notebook
    require_trusted(target)
    if would_lose(session, target):
        keep_unsaved(session, "before-resume")
    moved = _move_if_whole(session, target)
    if moved is None:
        return _fall_back(session, target, branch, is_asked_for=fallback)
    if look is not None:
        session.position.look_at(target, branch=branch)
        session.position.come_from(head)
    elif (branch, target) != (
        session.position.branch,
        session.position.head,
    ) or session.position.look:  # what was kept has moved it; or the notebook looks back no more
        session.position.branch = branch
        session.position.move_head(target)
    note(session, "resumed", moved)
    return moved


def _nothing_to_resume(session: SessionParts, branch: str) -> str:
    """That there is nothing, and what other notebooks of the folder have."""
    timeline = session.timeline
    others = {b: timeline.head(b) for b in sorted(timeline.branches)}
    known = [f"{b!r} of {h.notebook}" for b, h in others.items() if h is not None and h.notebook]
    message = f"nothing to resume: branch {branch!r} has no checkpoints yet"
    if not known:
        return message
    return f"{message}; there are {', '.join(known[:5])}: %resume BRANCH brings one of them"


def _move_if_whole(session: SessionParts, head: Checkpoint) -> MoveResult | None:
    """Make the namespace that of `head`, unless it is damaged: nothing is changed then."""
    began = time.perf_counter()
    before = session.workspace.observer.standing()
    set_state(session, head)
    loaded = bring_back(session, head, session.timeline.manifest(head.id))
    names = {refusal.variable for refusal in loaded.failed}
    if Inspection(session.timeline, session.store).damage_of(head, names):
        session.workspace.observer.go_to(before)
        return None
    moved = move(session, head, delete=False, loaded=loaded)
    return moved._replace(took_s=time.perf_counter() - began)


def _fall_back(
    session: SessionParts, head: Checkpoint, branch: str, *, is_asked_for: bool
) -> MoveResult:
    """Resume from the newest whole checkpoint, or offer it."""
    inspection = Inspection(session.timeline, session.store)
    damage = inspection.damage_of(head)
    session.writes.record_event(
        "resume_failed", checkpoint=head.id, name=head.name, error=str(damage)
    )
    whole = inspection.newest_whole(head, branch)
    if whole is None or not is_asked_for:
        raise refusal_to_resume(head, damage, whole)
    moved = move(session, whole, delete=False)
    session.position.branch = branch
    session.position.move_head(whole)  # the damaged line keeps a name of its own
    note(session, "fell_back", moved, instead_of=head.id)
    return moved


def move(
    session: SessionParts,
    target: Checkpoint,
    *,
    delete: bool = True,
    loaded: restore.Loaded | None = None,
) -> MoveResult:
    """Make the namespace that of `target`, and remember where it was.

    Raises
    ------
    UntrustedError
        If the user neither made nor trusts it. A verb asks before it keeps or loads anything;
        that no verb forgets it is asked here.
    """
    require_trusted(target)
    was = (session.position.id, session.position.branch)
    moved = restore_all(session, target, delete=delete, loaded=loaded)
    session.position.is_exact = delete
    session.position.origin = _origin(session, was[0], target.id)
    session.position.before, session.position.before_branch = was
    session.moved = True
    return moved


def _origin(session: SessionParts, was: str | None, target: str) -> str | None:
    """The newest place on the line of `target` from which the session has gone back, if any."""
    leads_on = session.timeline.is_ancestor
    places = [i for i in (was, session.position.origin) if i and i != target]
    ahead = [i for i in places if leads_on(target, i)]
    if len(ahead) > 1 and (leads_on(*ahead) or _is_offshoot(session, *ahead)):
        ahead.reverse()
    return ahead[0] if ahead else None


def _is_offshoot(session: SessionParts, kept: str, origin: str) -> bool:
    """True if a checkpoint only keeps what was unsaved beside the line of another one."""
    checkpoint = session.timeline.checkpoints[kept]
    if AUTOMATIC not in checkpoint.tags or checkpoint.cell.source or checkpoint.parent is None:
        return False
    return session.timeline.is_ancestor(checkpoint.parent, origin)


def restore_position(session: SessionParts, target: Checkpoint) -> None:
    """Make the namespace that of a checkpoint, and leave every branch where it is.

    What is there is checkpointed first, unless the session stands there already.

    Raises
    ------
    UntrustedError
        If the user neither made nor trusts it: nothing was changed.
    StoreError
        If what is there now cannot be written: nothing was changed.
    """
    if target.id == session.position.id:
        session.rescan()
    else:
        require_trusted(target)
        prepare_move(session)
        keep_unsaved(session, "before-rerun")
        move(session, target)


def note(session: SessionParts, event: str, moved: MoveResult, **members: object) -> None:
    """Have the history, and who listens, know of a move."""
    target, manifest = moved.checkpoint, session.timeline.manifest(moved.checkpoint.id)
    came_back = (manifest[name] for name in moved.came_back if name in manifest)
    lost = [refusal.variable for refusal in moved.failed]
    session.writes.record_event(
        event,
        checkpoint=target.id,
        name=target.name,
        took_s=moved.took_s,
        size_bytes=size_of_all(came_back),
        left_out=lost or None,
        outcome="partial" if lost else None,
        **members,
    )
    session.emit("moved")
