"""A session, and looks at its history."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.session.checkpoint_view import Look, ref_of
from nbckpt.session.session import Session, open_session
from nbckpt.steps import current_session

if TYPE_CHECKING:
    import duckdb

    from nbckpt.reports.diff import Difference


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
    return current_session.begin(open_session(path, namespace, notebook, branch=branch))


def history(
    branch: str | None = None,
    *,
    all: bool = False,  # noqa: A002  # the option's name everywhere else
) -> list[Look]:
    """The finished checkpoints of this branch, newest first.

    Parameters
    ----------
    branch
        Of this one instead.
    all
        Of every branch; those that failed or did not finish among them.

    Raises
    ------
    CheckpointNotFoundError
        If `branch` names none.
    """
    session = current_session.session()
    if all:
        session.refresh()
        timeline = session.timeline
        return [Look(session, timeline.checkpoints[i]) for i in timeline.log(None)]
    if branch is None:
        return [Look(session, checkpoint) for checkpoint in session.history()]
    head = session.get(ref_of(branch))
    return [Look(session, checkpoint) for checkpoint in session.timeline.ancestry(head.id)]


def get(ref: str | Look) -> Look:
    """The checkpoint that `ref` names; its `.values` are loaded when they are asked for.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    """
    session = current_session.session()
    return Look(session, session.get(ref_of(ref)))


def diff(a: str | Look, b: str | Look | None = None) -> Difference:
    """The differences between two checkpoints: variables, code, outputs, time and money.

    Parameters
    ----------
    b
        By default what is there now.

    Raises
    ------
    CheckpointNotFoundError
        If `a` or `b` names none.
    """
    from nbckpt.reports.diff import compare

    return compare(current_session.session(), ref_of(a), None if b is None else ref_of(b))


def sql(query: str) -> duckdb.DuckDBPyRelation:
    """DuckDB's answer to `query` over `checkpoints`, `variables`, `branches`, `events`, ….

    Raises
    ------
    UsageError
        If DuckDB refuses the query; the message is DuckDB's.
    """
    return current_session.session().sql(query)
