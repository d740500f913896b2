"""Moves to a checkpoint of another notebook of the same store: they are asked about, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.errors import UsageError
from nbckpt.verbs.arguments import flag

if TYPE_CHECKING:
    from nbckpt.model import Checkpoint
    from nbckpt.verbs.calls import Call

OPTION = "--other-notebook"
OTHER_NOTEBOOK = flag(
    OPTION, help="also to a checkpoint of another notebook, unasked", is_rare=True
)


def require_own_ref(call: Call, ref: str | None) -> None:
    """Ask the user before a move to `ref`, if another notebook has made it; see `require_own`.

    Raises
    ------
    CheckpointNotFoundError
        If it means nothing, as the move itself would.
    """
    if ref not in (None, "-") and call.session.notebook:
        require_own(call, call.session.get(ref))


def require_own_branch(call: Call, branch: str | None) -> None:
    """Ask the user before a move to the head of `branch`, if it is another notebook's."""
    if branch is None or not call.session.notebook:
        return
    call.session.refresh()
    head = call.session.timeline.head(branch)
    if head is not None:
        require_own(call, head)


def require_own(call: Call, target: Checkpoint) -> None:
    """Ask the user before a move to `target`, if it is of another notebook and not of this line.

    Raises
    ------
    UsageError
        If the user says no, or nobody can be asked and the call does not say `OPTION`.
    """
    session = call.session
    if call.arguments.other_notebook or not session.timeline.is_foreign(target, session.notebook):
        return
    whose = (
        f"{target.name!r} is a checkpoint of the notebook {target.notebook!r},"
        f" and this is {session.notebook!r}"
    )
    agreed = call.confirm(f"{whose}: go there?")
    if agreed is None:
        message = f"{whose}: add {OPTION} to go there all the same"
        raise UsageError(message)
    if not agreed:
        message = f"{whose}: nothing was changed"
        raise UsageError(message)
