"""Values given by hand: update, and the reducers that join them to those that are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbckpt.config.validate import require_text
from nbckpt.errors import UsageError
from nbckpt.steps import current_session
from nbckpt.verbs.arguments import (
    OF_NOTEBOOK,
    STEP,
    VALUE,
    VALUES,
    Door,
    argument,
    checkpoint_argument,
)
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.moving import pointed
from nbckpt.verbs.registry import at, declare

if TYPE_CHECKING:
    from nbckpt.session.checkpoint_view import Look
    from nbckpt.session.reducers import Reducer


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
    from nbckpt.session.checkpoint_view import Look, ref_of

    session = current_session.session()
    return Look(session, session.update(ref_of(ref), values, as_step))


@declare(
    "update",
    "give variables values by hand, through their reducers, as if a step had made them",
    checkpoint_argument(question="which checkpoint?"),
    argument(
        "expressions",
        metavar="name=expression",
        nargs="+",
        names=VALUE,
        question="give the values:",
        help="a variable and its value",
    ),
    argument(
        "--as", metavar="STEP", dest="as_step", names=STEP, help="the step that they stand for"
    ),
    *OF_NOTEBOOK,
    function=update,
    writes=True,
    more=f"{VALUES}\nReducers are read from annotations: messages: Annotated[list, add].",
)
def _update(call: Call) -> Answer:
    from nbckpt.reports.moves import updated_text

    asked = call.arguments
    made = call.session.update(asked.ref, {}, asked.as_step, expressions=asked.expressions)
    branch = call.session.position.branch
    return Answer(lambda: updated_text(made, tuple(asked.expressions), branch))


@at(Door.TERMINAL, "update")
def _update_detached(call: Call) -> Answer:
    from nbckpt.session import detached

    asked = call.arguments
    return pointed(detached.update(call.session, asked.ref, asked.expressions, asked.as_step))


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
