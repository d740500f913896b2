"""The history that other sessions write, taken in by this one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.interrupts import whole
from nbckpt.session.branch_position import BranchPosition
from nbckpt.session.pending_writes import PendingWrites
from nbckpt.storage.store import Store
from nbckpt.timeline.timeline import Timeline

SOON_S = 0.02
"""Seconds after a refresh in which writes of others are not looked for."""


class HistoryFollower(Own):
    """Takes what the journals of a store say into a timeline.

    Parameters
    ----------
    emit
        Called with ``refreshed``, or with ``pruned``, where others have changed the history.
    """

    def __init__(
        self,
        store: Store,
        timeline: Timeline,
        writes: PendingWrites,
        position: BranchPosition,
        emit: Callable[[str], None],
    ) -> None:
        self._store = store
        self._timeline = timeline
        self._writes = writes
        self._position = position
        self._emit = emit
        self._generation = store.generation
        self._refreshed_at = 0.0
        self._refreshing = threading.RLock()  # a view asks from a thread of its own

    @whole
    def refresh(self) -> None:
        """Take in what other sessions have written, and what became of this one's own writes."""
        with self._refreshing:
            news = self._take_in()
            self._refreshed_at = time.perf_counter()
        if news:
            self._emit(news)

    def catch_up(self) -> None:
        """Take in what others have written, unless that was done a moment ago.

        Of cells that follow one another, each would read the session's own journal again, which
        took a tenth of a trivial one.
        """
        if time.perf_counter() - self._refreshed_at < SOON_S:
            self._writes.settle()
        else:
            self.refresh()

    def take_in_prune(self) -> None:
        """Take in what others have written, if the store was pruned since the last time."""
        if self._generation != self._store.generation:
            self.refresh()

    def choose_branch(self) -> None:
        """Before the first checkpoint: another notebook may have taken the branch meanwhile."""
        if self._position.may_choose_branch:
            self.refresh()
            self._position.choose_usual_branch()

    def _take_in(self) -> str:
        revision, records = self._timeline.revision, self._store.refresh()
        is_pruned = self._generation != self._store.generation
        if is_pruned:
            self._generation = self._store.generation
            self._fold_again()
        else:
            self._timeline.apply_all(records)
        self._writes.settle()
        if is_pruned:
            return "pruned"
        return "refreshed" if self._timeline.revision != revision else ""

    def _fold_again(self) -> None:
        """Fold what a prune has left; who stood on something that went stands before it."""
        lines = self._position.lines()
        self._timeline.clear(but=self._writes.unfinished)
        self._timeline.apply_all(self._store.all_records())
        self._position.stand_before(lines)
