"""The calls of ``import nbckpt`` that no other door has: open, event, reducer, wait."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.config.validate import require_text
from nbckpt.errors import UsageError
from nbckpt.steps import current_session

if TYPE_CHECKING:
    from nbckpt.session.checkpoint_view import Look
    from nbckpt.session.reducers import Reducer
    from nbckpt.session.session import Session


def open(  # noqa: A001  # nbckpt.open, as gzip.open
    path: str | Path | None = None,
    namespace: dict[str, object] | None = None,
    notebook: str = "",
    *,
    branch: str | None = None,
) -> Session:
    """A session on the store at `path`; the other calls of this module are about it.

    Parameters
    ----------
    path
        Folder of the store, made if it is not there; by default ``NBCKPT_STORE``, or `.nbckpt`
        in the working directory.
    namespace
        The variables to keep; by default the caller's globals.
    notebook
        Its name in the history.
    branch
        By default the one that this notebook was on last; at first `main`.

    Raises
    ------
    StoreError, FormatError
        If there is no store to be had at `path`.
    """
    from nbckpt.session.session import open_session

    if namespace is None:
        namespace = sys._getframe(1).f_globals  # noqa: SLF001  # there is no other way to ask
    return current_session.begin(open_session(path, namespace, notebook, branch=branch))


def event(name: object) -> Look | None:
    """The checkpoint that this event made; None unless ``%nbckpt auto event`` waits for it.

    Parameters
    ----------
    name
        What happened, as text or what has one, as a number of an epoch; the checkpoint's name.

    Raises
    ------
    UsageError
        If no reference can mean it: it has a space in it, say.
    """
    from nbckpt.session.checkpoint_view import Look

    session = current_session.session()
    made = session.event(str(name))
    return None if made is None else Look(session, made)


def wait(timeout_s: float | None = None) -> None:
    """Return when everything so far is durable.

    Raises
    ------
    StoreError
        If some of it could not be written.
    """
    current_session.session().wait(timeout_s)


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
