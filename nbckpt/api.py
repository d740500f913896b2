"""The calls of ``import nbckpt``, on the session that is open."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt import current
from nbckpt.looks import Look
from nbckpt.moves import Moved
from nbckpt.session import Session, open_session

if TYPE_CHECKING:
    import duckdb


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
    if namespace is None:
        namespace = sys._getframe(1).f_globals  # noqa: SLF001  # there is no other way to ask
    return current.begin(open_session(path, namespace, notebook, branch=branch))


def rewind(ref: str) -> Moved:
    """Make the namespace that of `ref`; what was there is checkpointed first, for ``rewind("-")``.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    """
    return current.session().rewind(ref)


def resume(branch: str | None = None) -> Moved:
    """Bring back the head of `branch`, by default of this one, as after a restart.

    Raises
    ------
    CheckpointNotFoundError
        If there is no such branch, or nothing on it.
    """
    return current.session().resume(branch)


def history() -> list[Look]:
    """The checkpoints of this branch, newest first."""
    session = current.session()
    return [Look(session, checkpoint) for checkpoint in session.history()]


def get(ref: str) -> Look:
    """The checkpoint that `ref` names; its `.values` are loaded when they are asked for.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    """
    session = current.session()
    return Look(session, session.get(ref))


def sql(query: str) -> duckdb.DuckDBPyRelation:
    """DuckDB's answer to `query` over `checkpoints`, `variables`, `branches`, `events`, ….

    Raises
    ------
    UsageError
        If DuckDB refuses the query; the message is DuckDB's.
    """
    return current.session().sql(query)


def wait(timeout_s: float | None = None) -> None:
    """Return when everything so far is durable.

    Raises
    ------
    StoreError
        If some of it could not be written.
    """
    current.session().wait(timeout_s)
