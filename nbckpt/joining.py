"""Cells that ran and are not kept yet: joined to the next checkpoint, and never lost.

A joined cell costs its session no more than a line in a list. Its variables are in `changed` of
the next checkpoint and its source in `joined`. Whatever ends or moves the session keeps what is
joined first.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nbckpt import lives, policy
from nbckpt.digests import Json
from nbckpt.errors import NbckptError, UsageError
from nbckpt.model import Cell, Checkpoint
from nbckpt.policy import Decision, Measured, Spent
from nbckpt.selection import Selection

if TYPE_CHECKING:
    from nbckpt.session import Session

WEIGHT = 0.3
"""Of the newest measure, in the average of what saving costs."""

BEHIND_SHARE = 0.1
"""Of the time that bytes are written behind a cell, what the next cells feel."""

LOOK_AGAIN_S = 600.0
"""So long the mean time between failures holds."""

_SIZED = ("numpy", "pandas", "polars", "pyarrow", "torch")


@dataclass
class _Ran:
    """A cell that ended well and is not kept; the last one's outputs are still there."""

    name: str
    cell: Cell
    run_s: float
    cost_usd: float
    outputs: Sequence[Json] = ()


class Joining:
    """What of one session is joined to its next checkpoint, and what decides that."""

    is_nbckpts_own = True

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ran: list[_Ran] = []
        self._lost_s = 0.0  # of cells that raised: they ran for as long
        self._kept_at = time.monotonic()
        self._save_s: float | None = None
        self._behind_s = 0.0
        self._saves = 0
        self._failure_s = 0.0
        self._failure_at = -LOOK_AGAIN_S

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

    def failed(self, run_s: float) -> None:
        """Count the time of a cell that raised: what it did is not kept either."""
        self._lost_s += run_s

    def kept(self, checkpoint: Checkpoint, written: Future[None]) -> None:
        """Take note of a finished checkpoint, and of how long it is written."""
        self._kept_at, self._lost_s = time.monotonic(), 0.0
        done = [*checkpoint.joined, checkpoint.cell]
        self._ran = [ran for ran in self._ran if not any(ran.cell is cell for cell in done)]
        began = time.monotonic()
        written.add_done_callback(lambda _: self._written(time.monotonic() - began))

    def forget(self) -> None:
        """Join nothing any more: the namespace has become another one."""
        self._ran, self._lost_s = [], 0.0

    # -- to keep or not to keep

    def decide(self) -> Decision:
        """Whether what is joined is to be kept now, by the session's policy."""
        return policy.decide(self._session.policy, self.spent(), self.measured())

    def spent(self) -> Spent:
        """What would be lost if all ended now."""
        return Spent(
            cells=len(self._ran),
            run_s=self._lost_s + sum(ran.run_s for ran in self._ran),
            cost_usd=sum(ran.cost_usd for ran in self._ran),
            since_s=time.monotonic() - self._kept_at,
        )

    def measured(self) -> Measured:
        """What saving costs in this session, and how often those of its store fail."""
        if self._session.policy.kind != "cost":
            return Measured(self._cost_s(), policy.WORKING_DAY_S)
        now = time.monotonic()
        if now - self._failure_at >= LOOK_AGAIN_S:
            self._failure_at, self._failure_s = now, self._time_between_failures()
        return Measured(self._cost_s(), self._failure_s)

    def _cost_s(self) -> float:
        if self._save_s is not None:
            return self._save_s + BEHIND_SHARE * self._behind_s
        return policy.estimated_save_s(_size_of(self._session))

    def _time_between_failures(self) -> float:
        store = self._session.store
        others = [*store.records("checkpoint"), *store.records("event")]
        found = lives.lives_of(
            store.records("session"), others, now=time.time(), is_alive=lives.is_alive
        )
        return policy.time_between_failures(found)

    def _measure(self, took_s: float) -> None:
        """Take in what a checkpoint cost; the first one loads code that the others find there."""
        self._saves += 1
        if self._saves > 1:
            self._save_s = _averaged(self._save_s, took_s)

    def _written(self, took_s: float) -> None:
        self._behind_s = _averaged(self._behind_s, took_s)

    # -- keeping

    def keep(self, *, sync: bool = False) -> Checkpoint | None:
        """Checkpoint what is joined, under the name of its last cell; None if nothing is.

        Raises
        ------
        StoreError
            If the disk refuses: as of any checkpoint, this is tried again with the next.
        """
        if not self._ran:
            return None
        session, last = self._session, self._ran[-1]
        began = time.perf_counter()
        captured = session.capture(Selection())
        draft = session.draft(last.name, captured, cell=last.cell, duration_s=last.run_s)
        bound = tuple(sorted({*draft.changed, *draft.removed}))
        draft = replace(draft, bound=bound, joined=draft.joined[:-1])
        if last.outputs:
            import json

            outputs = session.store.put_blob([json.dumps(last.outputs).encode()])
            draft = replace(draft, outputs=outputs)
        session.commit(draft, sync=sync, patience_s=0.0)
        if not sync:
            self._measure(time.perf_counter() - began)
        return draft

    def keep_aside(self) -> Checkpoint | None:
        """Keep what is joined before the session moves or ends.

        Who did not go on from the branch's head (a new kernel, in which nothing was resumed) does
        not take the branch from it: what is kept has a branch of its own then.
        """
        session = self._session
        if not session.policy.joins:
            return None  # moves keep what is there by themselves
        head = session.head
        draft = self.keep(sync=True)
        if draft is not None and head is not None and not _follows(session, head, draft):
            session.move_head(head)
        return draft

    def rest(self) -> Checkpoint | None:
        """Keep what is joined while nothing runs: it holds up nobody then."""
        session = self._session
        if session.policy.kind != "cost" or (session.position is None and session.head):
            return None  # the user may be about to resume
        return self.keep()

    def event(self, name: str) -> Checkpoint | None:
        """Checkpoint what is there under `name`, if the policy waits for this event.

        Raises
        ------
        UsageError
            If `name` is empty.
        StoreError
            If the disk refuses.
        """
        session = self._session
        if not name:
            message = "an event needs a name: session.event('epoch')"
            raise UsageError(message)
        session.record_event("event", name=name)
        if session.policy.kind != "event" or session.policy.event not in ("", name):
            return None
        session.ran(session.running)
        began = time.perf_counter()
        captured = session.capture(Selection())
        took_s = time.perf_counter() - began
        draft = session.draft(name, captured, cell=Cell(""), duration_s=took_s)
        draft = replace(draft, bound=tuple(sorted({*draft.changed, *draft.removed})))
        session.commit(draft, patience_s=0.0)
        return draft


def _averaged(before: float | None, value: float) -> float:
    return value if before is None else (1 - WEIGHT) * before + WEIGHT * value


def _follows(session: Session, head: Checkpoint, draft: Checkpoint) -> bool:
    return session.timeline.is_ancestor(head.id, draft.id)


def _size_of(session: Session) -> int:
    """Bytes of the namespace, as far as that is told without a look into it."""
    size = 0
    for name in session.capturer.user_names():
        if (kept := session.capturer.kept_as(name)) is not None:
            size += kept.size_bytes
            continue
        value = session.namespace.get(name)
        if type(value).__module__.partition(".")[0] in _SIZED:
            count = getattr(value, "nbytes", 0)
            size += count if isinstance(count, int) else 0
        elif type(value).__module__ == "builtins":
            size += sys.getsizeof(value)
    return size


# -- the end of a session -------------------------------------------------------------------


def end(session: Session) -> None:
    """Keep what is joined and note that the session ends as it should; once."""
    if session.ended:
        return
    session.ended = True
    try:
        session.joining.keep_aside()
    finally:
        if session.begun:
            with suppress(NbckptError):  # the store was closed: nobody is the wiser
                session.record_event(lives.ENDED)


def end_at_exit(session: Session) -> None:
    """Have the session ended when the interpreter exits, if it is still there."""
    reference, pid = weakref.ref(session), os.getpid()

    def last() -> None:
        if (ending := reference()) is None or os.getpid() != pid:
            return  # a forked child is a session of its own
        try:
            end(ending)
        except NbckptError as problem:
            with suppress(Exception):  # there may be no stderr any more
                sys.stderr.write(f"nbckpt: what ran last was NOT kept: {problem}\n")

    atexit.register(last)
    weakref.finalize(session, atexit.unregister, last).atexit = False
