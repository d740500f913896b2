"""Cells that ran and are not kept yet: joined to the next checkpoint, and never lost.

A joined cell costs its session no more than a line in a list. Its variables are in `changed` of
the next checkpoint and its source in `joined`. Whatever ends or moves the session keeps what is
joined first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from nbckpt.capture.selection import Selection
from nbckpt.config.auto_policy import Policy
from nbckpt.digests import Json
from nbckpt.errors import line_of
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Cell, Checkpoint
from nbckpt.runtime.interrupts import whole
from nbckpt.session.auto import decision
from nbckpt.session.auto.decision import Decision, Measured, Spent
from nbckpt.session.auto.measurements import Costs, MeasuredSession
from nbckpt.session.shutdown import EndingSession, register_atexit
from nbckpt.text.secret_texts import redacted
from nbckpt.timeline.references import require_name

if TYPE_CHECKING:
    from nbckpt.session.branch_position import BranchPosition
    from nbckpt.session.checkpoint_writer import CheckpointWriter
    from nbckpt.timeline.timeline import Timeline


class JoiningSession(MeasuredSession, EndingSession, Protocol):
    """The parts of a session that cells are joined in, and kept."""

    timeline: Timeline
    position: BranchPosition
    checkpoints: CheckpointWriter


@dataclass
class _Ran:
    """A cell that ended well and is not kept; the last one's outputs are still there."""

    name: str
    cell: Cell
    run_s: float
    cost_usd: float
    outputs: Sequence[Json] = ()


class PendingCells(Own):
    """The cells joined to a session's next checkpoint, and the measures that decide when it comes.

    Attributes
    ----------
    failed_blocks
        Ids of checkpoints of `with` blocks that failed in the cell that runs.
    cells_of_failed
        Id of each such checkpoint → the cell that ended with it. Of this process only.
    """

    def __init__(self, session: JoiningSession) -> None:
        self._session = session
        self._ran: list[_Ran] = []
        self._lost_s = 0.0  # of cells that raised: they ran for as long
        self._kept_at = time.monotonic()
        self._costs = Costs()
        self.failed_blocks: list[str] = []
        self.cells_of_failed: dict[str, Cell] = {}

    # -- what ran

    @property
    def cells(self) -> list[Cell]:
        """The joined cells, oldest first."""
        return [ran.cell for ran in self._ran]

    def ran(
        self,
        name: str,
        cell: Cell,
        run_s: float,
        *,
        cost_usd: float = 0.0,
        outputs: Sequence[Json] = (),
    ) -> None:
        """Take in a cell that ended well; the next checkpoint names it.

        Parameters
        ----------
        name
            What its checkpoint is called, should it be the last of those that are joined.
        cost_usd
            What its model calls cost.
        outputs
            What it showed: kept if it is the last one, and only then.
        """
        if self._ran:
            self._ran[-1].outputs = ()
        self._ran.append(_Ran(name, cell, run_s, cost_usd, outputs))

    @whole
    def failed(self, name: str, cell: Cell, run_s: float, error: BaseException) -> None:
        """Note a cell that raised: no rerun repeats it, what it did is kept with the next ones."""
        from nbckpt.capture.capture import Captured

        self._lost_s += run_s
        session = self._session
        base = session.checkpoints.base()
        as_before = Captured(base, frozenset(), frozenset(), (), ())
        draft = session.checkpoints.draft(
            name, as_before, cell=cell, duration_s=run_s, state="failed"
        )
        why = redacted(line_of(error))
        session.checkpoints.commit(replace(draft, inherited={}, error=why[:500]), patience_s=0.0)

    def place_failed_blocks(self, cell: Cell, error: BaseException | None) -> None:
        """Take note of the cell that the blocks which just failed ended, if they did."""
        if error is not None:
            self.cells_of_failed.update(dict.fromkeys(self.failed_blocks, cell))
        self.failed_blocks.clear()

    @whole
    def kept(self, checkpoint: Checkpoint, written: Future[None]) -> None:
        """Take note of a finished checkpoint, and of how long it is written."""
        self._kept_at, self._lost_s = time.monotonic(), 0.0
        done = [*checkpoint.joined, checkpoint.cell]
        self._ran = [ran for ran in self._ran if not any(ran.cell is cell for cell in done)]
        self._costs.follow(written)

    def forget(self) -> None:
        """Join nothing any more: the namespace has become another one."""
        self._ran, self._lost_s = [], 0.0

    @property
    def names(self) -> list[str]:
        """The joined cells as their user knows them, oldest first."""
        counts = [(ran.cell.execution_count, ran.name) for ran in self._ran]
        return [name if count is None else f"In [{count}]" for count, name in counts]

    # -- to keep or not to keep

    @whole
    def follow(self, new: Policy) -> None:
        """Decide by another policy from now on; what was joined under the old one is kept."""
        session = self._session
        if session.policy.joins:
            self.keep()
        if new.joins:
            register_atexit(session)
        session.policy = new
        self._kept_at = time.monotonic()

    def decide(self) -> Decision:
        """Decision of the session's policy on keeping the joined cells now."""
        return decision.decide(self._session.policy, self.spent(), self.measured())

    def spent(self) -> Spent:
        """Work that would be lost if everything ended now."""
        return Spent(
            cells=len(self._ran),
            run_s=self._lost_s + sum(ran.run_s for ran in self._ran),
            cost_usd=sum(ran.cost_usd for ran in self._ran),
            since_s=time.monotonic() - self._kept_at,
        )

    def measured(self) -> Measured:
        """Measured cost of saving in this session, and of time between failures in its store."""
        return self._costs.measured(self._session)

    # -- keeping

    @whole
    def keep(self, *, sync: bool = False) -> Checkpoint | None:
        """Checkpoint what is joined, under the name of its last cell; None if nothing is.

        Raises
        ------
        StoreError
            If the disk refuses: as of any checkpoint, this is tried again with the next.
        """
        if not self._ran:
            return None
        began = time.perf_counter()
        with self._session.checkpoints.holding(self._ran[-1].name):
            draft = self._as_last(self._ran[-1])
            self._session.checkpoints.commit(draft, sync=sync, patience_s=0.0)
        if not sync:
            self._costs.held(time.perf_counter() - began)
        return draft

    def _as_last(self, last: _Ran) -> Checkpoint:
        """A checkpoint of the last joined cell, which names those before it."""
        session = self._session
        refused = {refusal.variable for refusal in session.workspace.capturer.refusals()}
        captured = session.checkpoints.capture(Selection())
        refused = {refusal.variable for refusal in captured.refused} - refused
        draft = session.checkpoints.draft(
            last.name, captured, cell=last.cell, duration_s=last.run_s
        )
        bound = tuple(sorted({*draft.changed, *draft.removed, *refused}))
        draft = replace(draft, bound=bound, joined=draft.joined[:-1])
        if not last.outputs:
            return draft
        return replace(draft, outputs=session.checkpoints.put_outputs(last.outputs))

    @whole
    def keep_aside(self) -> Checkpoint | None:
        """Keep what is joined before the session moves or ends.

        Who did not go on from the branch's head (a new kernel, in which nothing was resumed) does
        not take the branch from it: what is kept has a branch of its own then. Who went back on its
        line takes it along.
        """
        session = self._session
        if not session.policy.joins:
            return None  # moves keep what is there by themselves
        head = None if session.position.ahead else session.position.head
        draft = self.keep(sync=True)
        if draft is not None and head is not None and not _follows(session, head, draft):
            session.position.move_head(head)
        return draft

    @whole
    def rest(self) -> Checkpoint | None:
        """Keep what is joined while nothing runs: it holds up nobody then."""
        session = self._session
        if session.policy.kind != "cost" or (session.position.id is None and session.position.head):
            return None  # the user may be about to resume
        return self.keep()

    @whole
    def event(self, name: str) -> Checkpoint | None:
        """Checkpoint what is there under `name`, if the policy waits for this event.

        Raises
        ------
        UsageError
            If `name` is none that a reference can mean.
        StoreError
            If the disk refuses.
        """
        session = self._session
        name = require_name(name)
        session.writes.record_event("event", name=name)
        if session.policy.kind != "event" or session.policy.event not in ("", name):
            return None
        session.workspace.ran(session.workspace.running)
        began = time.perf_counter()
        with session.checkpoints.holding(name):
            captured = session.checkpoints.capture(Selection())
            took_s = time.perf_counter() - began
            draft = session.checkpoints.draft(name, captured, cell=Cell(""), duration_s=took_s)
            draft = replace(draft, bound=tuple(sorted({*draft.changed, *draft.removed})))
            session.checkpoints.commit(draft, patience_s=0.0)
        return draft


def _follows(session: JoiningSession, head: Checkpoint, draft: Checkpoint) -> bool:
    return session.timeline.is_ancestor(head.id, draft.id)
