"""Histories: of a branch, and of one variable, which can be brought back alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from nbckpt.steps import current_session
from nbckpt.verbs.arguments import (
    CHECKPOINT,
    NOTEBOOK_ONLY,
    OF_NOTEBOOK,
    VARIABLE,
    argument,
    checkpoint_argument,
    count,
)
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import READS, WRITES, declare

if TYPE_CHECKING:
    from nbckpt.reports.variable_history import VariableHistory
    from nbckpt.session.checkpoint_view import Look
    from nbckpt.session.session import Session


@overload
def history(name: str, /) -> list[Look] | VariableHistory: ...
@overload
def history(*, branch: str | None = None, all: bool = False) -> list[Look]: ...
@overload
def history(*, variable: str) -> VariableHistory: ...
def history(
    name: str | None = None,
    /,
    *,
    branch: str | None = None,
    all: bool = False,  # noqa: A002  # the option's name everywhere else
    variable: str | None = None,
) -> list[Look] | VariableHistory:
    """The finished checkpoints of this branch, or the steps that changed a variable, newest first.

    Parameters
    ----------
    name
        Of a branch or, if none has it, of a variable.
    branch
        Of this one instead.
    all
        Of every branch; those that failed or did not finish among them.
    variable
        The history of this variable, whatever else has its name: for each step that changed it
        what it was then, in numbers, and why it changed.

    Raises
    ------
    CheckpointNotFoundError
        If `branch` names none, or `name` neither a branch nor a variable.
    VariableNotFoundError
        If no step has changed `variable`.

    Examples
    --------
    ``nbckpt.history("df")[0].facts.rows`` is the number of rows that `df` has now.
    """
    from nbckpt.reports.variable_history import history_of
    from nbckpt.session.checkpoint_view import Look, ref_of

    session = current_session.session()
    session.refresh()
    timeline = session.timeline
    if variable is not None:
        return history_of(session, variable)
    if all:
        return [Look(session, timeline.checkpoints[i]) for i in timeline.log(None)]
    named = branch if name is None else ref_of(name)
    if named is None:
        return [Look(session, checkpoint) for checkpoint in session.history()]
    if branch is None and timeline.head(named) is None and _is_variable(session, named):
        return history_of(session, named)
    head = session.get(ref_of(named))
    return [Look(session, checkpoint) for checkpoint in timeline.ancestry(head.id)]


def _is_variable(session: Session, name: str) -> bool:
    """True if a checkpoint of the line where the session stands has changed such a variable."""
    return any(name in checkpoint.changed for checkpoint in session.history())


_NAME = argument(
    "variable", metavar="VARIABLE", names=VARIABLE, question="which variable?", help="its name"
)


@declare(
    "history",
    "how a variable came to be what it is: each step that changed it",
    _NAME,
    argument("--at", metavar="REF", help="up to this checkpoint", names=CHECKPOINT),
    argument("-n", metavar="N", dest="limit", type=count, help="the newest N only"),
    *OF_NOTEBOOK,
    function=history,
    panel=READS,
)
def _history(call: Call) -> Answer:
    from nbckpt.reports.variable_history.history import MOST_POINTS, history_of

    asked = call.arguments
    start = None if asked.at is None else call.session.get(asked.at).id
    most = asked.limit or MOST_POINTS
    found = history_of(call.session, asked.variable, start=start, most=most)
    return Answer(lambda: found.text(width=call.width), found.as_record, shown=found)


def restore(variable: str, ref: str | Look) -> Look | None:
    """Bring one variable back as it was at `ref`; the rest of the notebook stays as it is.

    What is there now is checkpointed first, for ``rewind("-")``.

    Parameters
    ----------
    variable
        Its name. Variables that shared objects with it then, and hold what they held, share them
        with it again; where one holds something else by now, it comes back as a copy.

    Returns
    -------
    The checkpoint of what is there then; None where nothing was resumed yet.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    VariableNotFoundError
        If the checkpoint does not hold it.
    UsageError
        If it is of a class or function that is another by now: nothing was changed.

    Examples
    --------
    ``nbckpt.restore("df", "clean")``
    """
    from nbckpt.session.checkpoint_view import Look, ref_of
    from nbckpt.steps.restore.one_variable import restore_variable

    session = current_session.session()
    made = restore_variable(session, variable, ref_of(ref)).checkpoint
    return None if made is None else Look(session, made)


@declare(
    "restore",
    "bring one variable back as it was at a checkpoint; the rest stays as it is",
    _NAME,
    checkpoint_argument(question="from which checkpoint?"),
    doors=NOTEBOOK_ONLY,
    function=restore,
    panel=WRITES,
)
def _restore(call: Call) -> Answer:
    from nbckpt.steps.restore.one_variable import restore_variable
    from nbckpt.text.escape import on_a_line

    asked = call.arguments
    done = restore_variable(call.session, asked.variable, asked.ref)
    told = f"{done.names[0]} is as it was at {done.source.name!r} ({done.source.id[:8]})"
    if done.names[1:]:
        told += f"; with it, as they share objects: {', '.join(done.names[1:])}"
    if done.why_copy:
        told += f"; a copy of its own: {done.why_copy}"
    return Answer(
        lambda: on_a_line(told), checkpoint=done.checkpoint.id if done.checkpoint else None
    )
