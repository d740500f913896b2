"""The item of a step's loop or map that is in work: for calls that belong to it, and for views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbckpt.fingerprint.user_names import Own
from nbckpt.llm import scope
from nbckpt.llm.occurrence import EqualCalls
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
        self._mapped = EqualCalls()
        self._place: scope.Place | None = None

    def nth(self, mapped: str) -> int:
        """Number of equal items that a function was mapped over before, in this run."""
        return self._mapped.reserve(mapped)

    @property
    def mapped(self) -> Mapping[str, int]:
        """Counts that `nth` has made, for `map_again`."""
        return self._mapped.begun()

    def map_again(self, mapped: Mapping[str, int]) -> None:
        """Count on from there: the code after it runs again, and finds what it has mapped."""
        self._mapped = EqualCalls()
        self._mapped.go_on(mapped)

    def map_with(self, mapped: EqualCalls) -> None:
        """Count on where other runs of the step are, which may still be in work."""
        self._mapped = mapped

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
