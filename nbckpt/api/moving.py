"""Moves in the history, on the session that is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbckpt.config.validate import require_text
from nbckpt.errors import UsageError
from nbckpt.session.checkpoint_view import Look, ref_of
from nbckpt.session.moves.move_result import MoveResult
from nbckpt.session.reducers import Reducer
from nbckpt.steps import current_session

if TYPE_CHECKING:
    from nbckpt.steps.rerun.rerun import Rerun


def rewind(ref: str | Look) -> MoveResult:
    """Make the namespace that of `ref`; what was there is checkpointed first, for ``rewind("-")``.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    """
    return current_session.session().rewind(ref_of(ref))


def fork(ref: str | Look, branch: str | None = None, /, **values: object) -> MoveResult:
    """Branch off at `ref`, with other values if some are given; the session is on the new branch.

    What was there is checkpointed first, for ``rewind("-")``.

    Parameters
    ----------
    branch
        By default this branch's name with a number: ``main-2``.
    values
        Variables that are to be other than at `ref`.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    BranchExistsError
        If the name is taken.

    Examples
    --------
    ``nbckpt.fork("embed", "try-2", k=5)``
    """
    return current_session.session().fork(ref_of(ref), branch, values=values)


def switch(branch: str) -> MoveResult:
    """Go to the head of `branch`; what was there is checkpointed first, for ``rewind("-")``.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    """
    return current_session.session().switch(branch)


def rerun(
    ref: str | Look | None = None,
    *,
    fresh: bool = False,
    all: bool = False,  # noqa: A002  # the option's name everywhere else
) -> Rerun:
    """Run the recorded cells after `ref` again, up to the first error, which is told.

    What the change cannot have reached is restored. If anything is made, it is on a new branch.

    Parameters
    ----------
    ref
        By default where the session is.
    fresh
        Ask models anew, too.
    all
        Restore nothing.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    UsageError
        If nothing was recorded after it.
    """
    from nbckpt.steps.rerun import rerun as reruns

    at = None if ref is None else ref_of(ref)
    return reruns.rerun(current_session.session(), at, fresh=fresh, everything=all)


def resume(branch: str | None = None, *, fallback: bool = False) -> MoveResult:
    """Bring back the head of `branch`, by default of this one, as after a restart.

    Parameters
    ----------
    fallback
        Take the newest checkpoint that is whole, if the head is damaged.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    CheckpointNotFoundError
        If there is nothing on it.
    FormatError
        If the head is damaged: nothing was changed.
    """
    return current_session.session().resume(branch, fallback=fallback)


def update(ref: str | Look, values: Mapping[str, object], as_step: str | None = None) -> Look:
    """The checkpoint after `ref` in which variables have values that were given by hand.

    Each value goes through the reducer of its variable (`reducer`); what follows, and ``.next``,
    is what follows the step that the values are attributed to. Where `ref` is the head of this
    branch, the branch goes on; else it is a new branch. The session is there.

    Parameters
    ----------
    as_step
        By default the step of `ref`.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    UsageError
        If there is no such step, or a reducer fails: nothing was changed.

    Examples
    --------
    ``nbckpt.update("search", {"sources": ["a.pdf"]}, as_step="search")``
    """
    session = current_session.session()
    return Look(session, session.update(ref_of(ref), values, as_step))


def reducer(name: str, function: Reducer | None) -> None:
    """Have `update` join a value to the one that is there: ``function(old, new)``.

    Without one, the reducer of an annotation counts, ``messages: Annotated[list, add]``; else the
    new value replaces the old one.

    Parameters
    ----------
    name
        Of the variable.
    function
        None takes the reducer away.

    Raises
    ------
    UsageError
        If `name` is no text, or `function` cannot be called.

    Examples
    --------
    ``nbckpt.reducer("messages", operator.add)``
    """
    session = current_session.session()
    require_text(name, "the name of a variable")
    if function is None:
        session.reducers.pop(name, None)
        return
    _require_function(name, function)
    session.reducers[name] = function


def _require_function(name: str, function: object) -> None:
    if not callable(function):
        message = f"the reducer of {name!r} is {function!r}: give a function of old and new"
        raise UsageError(message)
