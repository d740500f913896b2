"""Notices and outputs that a user sees of the step that a cell was."""

from __future__ import annotations

import json
from collections.abc import Sequence

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError
from nbckpt.jupyter import notices
from nbckpt.model import Checkpoint
from nbckpt.session.branch_position import Seen
from nbckpt.session.session import Session
from nbckpt.steps.step import Step


def show_restored(shell: InteractiveShell, step: Step) -> None:
    """Show again what a restored cell had shown, and say that it was restored."""
    assert step.restored is not None
    show_again(shell, step.session, step.restored, step.took_s, step.was_set)


def show_again(
    shell: InteractiveShell,
    session: Session,
    checkpoint: Checkpoint,
    took_s: float,
    was_set: Sequence[str] = (),
) -> None:
    """`show_restored`, of any checkpoint."""
    if checkpoint.outputs is not None:
        _show_outputs(shell, session, checkpoint)
    text = notices.restored_text(checkpoint.name, took_s, checkpoint.duration_s)
    lost = [r for r in checkpoint.refused if r.variable in checkpoint.bound]
    if lost:
        text += "; not kept then: " + "; ".join(map(str, lost))
    if was_set:
        text += "; set: " + ", ".join(was_set)
    notices.say(shell, text, restored=checkpoint.id, name=checkpoint.name)


def _show_outputs(shell: InteractiveShell, session: Session, checkpoint: Checkpoint) -> None:
    assert checkpoint.outputs is not None
    try:
        recorded = json.loads(bytes(session.store.get_blob(checkpoint.outputs)[0]))
    except NbckptError as problem:
        notices.warn(f"what this cell showed cannot be shown again: {problem}")
        return
    from nbckpt.capture.observation.shown_widgets import live_ids
    from nbckpt.jupyter import outputs
    from nbckpt.steps import cell_results

    maker = session.workspace.unkept.noted(checkpoint)
    ids = live_ids(checkpoint.observed.get("widgets"), session.namespace)
    outputs.show(shell, recorded, lambda kept: cell_results.restored(session, kept, maker), ids)


def notify_why(shell: InteractiveShell, step: Step) -> None:
    """Say why a cell runs that could have been restored, if it ran before."""
    named = step.session.timeline.named(step.request.name)
    if step.todo and not step.request.rerun and any(c.state == "done" for c in named):
        notices.say(shell, f"{step.request.name!r} runs: {'; '.join(step.why)}")


def notify_kept(
    shell: InteractiveShell,
    session: Session,
    checkpoint: Checkpoint,
    *,
    before: Seen,
    binds: frozenset[str] | set[str],
) -> None:
    """Say what is to be said of a new checkpoint: of a new line, and of what was not kept.

    Parameters
    ----------
    before
        The branch, before it.
    binds
        Names that the cell bound: what of them was not kept is news.
    """
    head = before.head
    # What another kernel has kept meanwhile was not there before.
    is_older = head is not None and (
        head.session == session.id or head.created_at < session.began_at
    )
    if head is None:
        pass
    elif checkpoint.parent is None and is_older:
        _notify_new_line(shell, session, head, "begins anew here; what was kept before")
    elif before.is_back and not session.timeline.is_ancestor(head.id, checkpoint.id):
        start = session.timeline.checkpoints.get(checkpoint.parent or "")
        where = f"from {start.name!r}" if start is not None and start.name else "from here"
        _notify_new_line(shell, session, head, f"goes on {where}; what was kept after that")
    news = [r for r in checkpoint.refused if r.variable in {*checkpoint.bound, *binds}]
    if news:
        text = "nbckpt: not kept: " + "; ".join(map(str, news))
        notices.say(shell, text, refused=[r.variable for r in news])


def _notify_new_line(
    shell: InteractiveShell, session: Session, head: Checkpoint, told: str
) -> None:
    names = [b for b, tip in session.timeline.branches.items() if tip == head.id]
    if names:
        text = (
            f"nbckpt: {session.position.branch!r} {told} is on "
            f"{names[0]!r}: %resume {names[0]} goes on there"
        )
        notices.say(shell, text, branch=names[0])
