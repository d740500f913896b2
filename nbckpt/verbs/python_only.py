"""The calls of ``import nbckpt`` that no other door has: open, event, wait."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.steps import current_session

if TYPE_CHECKING:
    from nbckpt.session.checkpoint_view import Look
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
