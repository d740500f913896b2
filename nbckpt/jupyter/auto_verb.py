"""`%nbckpt auto`: which policy cells follow that ask for nothing themselves, and the joining."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from nbckpt.config import auto_policy as policy
from nbckpt.config.auto_policy import Policy
from nbckpt.digests import Json
from nbckpt.jupyter.marking import default_name
from nbckpt.model import Cell, Checkpoint
from nbckpt.session.auto import decision
from nbckpt.session.session import Session

_SYNC, _RERUN = "--sync", "--rerun"


class Auto(NamedTuple):
    """Settings that `%nbckpt auto` was given.

    Attributes
    ----------
    policy
        When to checkpoint.
    sync
        The next cell waits until a checkpoint is durable.
    rerun
        No cell and no loop is restored instead of run.
    """

    policy: Policy = policy.OFF
    sync: bool = False
    rerun: bool = False


class Ended(NamedTuple):
    """A cell that ran without a step of its own.

    Attributes
    ----------
    shown
        Its outputs, if they were recorded.
    """

    cell: Cell
    run_s: float
    error: BaseException | None
    shown: Sequence[Json]


def parse_line(line: str) -> Auto:
    """Settings that the line of `%nbckpt auto` names.

    Raises
    ------
    UsageError
        If there is no such policy.
    """
    words = line.split()
    rest = " ".join(word for word in words if word not in (_SYNC, _RERUN))
    return Auto(policy.parse(rest), sync=_SYNC in words, rerun=_RERUN in words)


def join(session: Session, ended: Ended, tree: ast.Module, *, sync: bool) -> Checkpoint | None:
    """Join a cell to the next checkpoint, or make that now; the checkpoint, if it was made.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    joining = session.pending_cells
    joining.place_failed_blocks(ended.cell, ended.error)
    # Without a policy that keeps what is joined it needs no name.
    name = default_name(ended.cell.cell_id, tree) if session.policy.joins else ""
    if ended.error is not None:
        if session.policy.joins:
            joining.failed(name, ended.cell, ended.run_s, ended.error)
        return None
    joining.ran(name, ended.cell, ended.run_s, outputs=ended.shown)
    if session.policy.joins and joining.decide().keeps:
        return joining.keep(sync=sync)
    return None


def status_text(session: Session, auto: Auto) -> str:
    """Text about `auto`: its effect, its reasons, and the cells joined to the next checkpoint."""
    joining = session.pending_cells
    joined = joining.names if session.policy.joins else ()
    text = decision.status_text(session.policy, joining.spent(), joining.measured(), joined)
    first, *rest = text.splitlines()
    options = f"{' --sync' * auto.sync}{' --rerun' * auto.rerun}"
    mode = str(session.policy)
    return "\n".join([first.replace(mode, f"{mode}{options}", 1), *rest])
