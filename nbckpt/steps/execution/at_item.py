"""The item of a step's loop or map that is in work: for calls that belong to it, and for views."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from nbckpt.fingerprint.user_names import Own
from nbckpt.llm import scope
from nbckpt.llm.step_scope import Scope

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class AtItem(Own):
    """Where one execution of a step is.

    Attributes
    ----------
    scope
        The step's own; None before it runs.
    counted
        How many items of the loop or map are done, and of how many (-1: unknown); None if it goes
        through none.
    failures
        Items that failed, and that the next run is to try again.
    """

    def __init__(self, session: Session) -> None:
        self.scope: Scope | None = None
        self.counted: tuple[int, int] | None = None
        self.failures = 0
        self._session = session
        self._mapped: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._place: scope.Place | None = None

    def nth(self, mapped: str) -> int:
        """Number of equal items that a function was mapped over before, in this run."""
        with self._lock:
            self._mapped[mapped] += 1
            return self._mapped[mapped] - 1

    @property
    def mapped(self) -> Counter[str]:
        """Counts that `nth` has made, for `map_again`."""
        with self._lock:
            return Counter(self._mapped)

    def map_again(self, mapped: Counter[str]) -> None:
        """Count on from there: the code after it runs again, and finds what it has mapped."""
        with self._lock:
            self._mapped = Counter(mapped)

    def next_pass(self) -> str:
        """Prefix that tells the items of a loop that begins now from those of others."""
        return "" if self.scope is None else self.scope.next_pass()

    def begin(self, item: str) -> None:
        """Have calls belong to an item, until it ends."""
        self.end()
        if self.scope is not None:
            self._place = scope.enter_item(self.scope, item)

    def end(self) -> None:
        """Have calls belong to the step alone."""
        if self._place is not None:
            place, self._place = self._place, None
            scope.leave(place)

    def count(self, done: int, total: int) -> None:
        """Have views know how far it came."""
        self.counted = (done, total)
        self._session.emit("progress")

    def uncount(self) -> None:
        """Have views know that no items are being done."""
        self.counted = None
