"""One run of a step, as far as its model calls go: their numbers, counts and savings."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from nbckpt.llm.askers import TaskNumbers, current_task
from nbckpt.llm.flights import Flights
from nbckpt.llm.occurrence import EqualCalls
from nbckpt.llm.predecessors import AskedCall, Askers
from nbckpt.llm.waiting import wait
from nbckpt.runtime import clock

if TYPE_CHECKING:
    from nbckpt.model import Record

MOST_REPEATED = 200
MOST_LISTED = 500


class StreamedCall(Protocol):
    """A call whose stream can have said everything before it is read to its end."""

    @property
    def scope(self) -> Scope:
        """The step or item to which it belongs."""

    def settle(self) -> Future[None] | None:
        """Keep what was said, if that is everything; what to wait for."""


@dataclass(eq=False)
class Scope:
    """One run of a step, as far as its model calls go.

    Attributes
    ----------
    step
        Its name.
    is_fresh
        Whether its calls are to be paid anew, though there are recordings.
    said_all
        Calls whose streams have said everything: not every client reads on to their end.
    counts
        How many were ``recorded``, ``replayed``, ``failed`` and ``partial``, per provider.
    saved
        Sums of what replays would have taken: ``duration_s``, ``tokens_in``, ``tokens_out``,
        ``cost_usd``.
    replays
        Ids of the recordings that answered.
    item
        Of the step's loop or map, to which the calls belong; empty outside of items.
    around
        The step's own scope, of an item.
    has_items
        Whether the step went through items in this run.
    is_plain
        Whether a loop or map is all of the step: others may run beside it, in other tasks.
    unanswered
        Questions to people that have no answer, each with the item that asked it; the step's own
        with an empty name.
    flights
        What is in flight, where equal calls may share an answer.
    began
        When, in seconds since 1970.
    askers
        Its tasks and threads that ask.
    """

    step: str
    cell_id: str | None = None
    is_fresh: bool = False
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    saved: Counter[str] = field(default_factory=Counter)
    replays: list[str] = field(default_factory=list)
    item: str = ""
    around: Scope | None = None
    has_items: bool = False
    is_plain: bool = False
    unanswered: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        around = self.around
        self._lock: threading.Lock = around._lock if around else threading.Lock()  # noqa: SLF001
        self.said_all: WeakSet[StreamedCall] = (
            WeakSet() if self.around is None else self.around.said_all
        )
        self._task = current_task()
        self._tasks = TaskNumbers()
        self._equals = EqualCalls()
        self.flights = Flights()
        self.began = clock.now()
        self.askers = Askers()

    def of_item(self, item: str) -> Scope:
        """One item's scope within this one: equal calls of two items are told apart by it."""
        self.has_items = True
        within = f"{self.item}/{item}" if self.item else item
        around = self.around or self
        return replace(self, item=within, around=around, has_items=True)

    @property
    def step_scope(self) -> Scope:
        """The scope of the step, of an item; else this one."""
        return self.around or self

    @property
    def is_of_task(self) -> bool:
        """True if it began in the task of asyncio that runs; or neither did in one."""
        return self._task is current_task()

    def task_number(self) -> int:
        """Number of the task of asyncio that asks, of those that ask; 0 for the one it began in.

        Tasks that run at once come in the order in which they asked first: their own order of
        asking does not depend on which is answered first.
        """
        task = current_task()
        if task is None or task is self._task:
            return 0
        return self._tasks.of(task)

    def next_pass(self) -> str:
        """Prefix that tells a loop's items from equal ones of other loops; empty for the first."""
        n = self.reserve("pass")
        return f"{n + 1}." if n else ""

    def reserve(self, request: str) -> int:
        """Number of equal requests that began before, of those that were or may be answered.

        Reserved when a call begins, so that equal requests in flight at once differ.
        """
        return self._equals.reserve(request)

    def number_among(
        self,
        request: str,
        recorded: Callable[[], Iterable[Record]],
        was_cut: Callable[[], bool],
    ) -> tuple[int, AskedCall]:
        """As `reserve`, of a call that is known by what its task or thread asked before."""
        return self.askers.number(request, self._equals, recorded, was_cut)

    def give_back(self, request: str, occurrence: int) -> None:
        """Note that a call was not answered: the next equal one, a retry, stands in its place."""
        self._equals.give_back(request, occurrence)

    def note_unanswered(self, question: str) -> None:
        """Note that code went on without an answer of a person: it is to run again."""
        with self._lock:
            self.unanswered.add((self.item, question))

    def take_unanswered(self, inner: Scope) -> None:
        """Note that code within it went on without answers, so that this runs again, too."""
        for _, question in list(inner.unanswered):
            self.note_unanswered(question)

    def note_answered(self, question: str) -> None:
        """Note that it asked again, and has an answer."""
        with self._lock:
            self.unanswered.discard((self.item, question))

    @property
    def is_unanswered(self) -> bool:
        """True if code of it, or of an item of it, went on without an answer of a person."""
        with self._lock:
            within = f"{self.item}/" if self.item else ""
            return any(f"{item}/".startswith(within) for item, _ in self.unanswered)

    def repeated(self) -> dict[str, int]:
        """Number of times begun, for the most frequent requests that began more than once."""
        return self._equals.repeated(MOST_REPEATED)

    def go_on(self, begun: Mapping[str, int]) -> None:
        """Count on where an earlier run was, whose first items are not run again."""
        self._equals.go_on(begun)

    def count_with(self, equals: EqualCalls) -> None:
        """Count on where other runs of the step are, which may still be in work."""
        self._equals = equals

    def count(self, what: str, provider: str) -> None:
        """Note what became of a call."""
        with self._lock:
            self.counts[what, provider] += 1

    def members(self) -> dict[str, Any]:
        """Counts of its calls by outcome, and sums that replays have saved, for an event."""
        with self._lock:
            told: Counter[str] = Counter()
            for (what, _), number in self.counts.items():
                told[what] += number
            saved = {f"saved_{name}": round(n, 9) for name, n in self.saved.items() if n}
            listed = {"replays": self.replays[:MOST_LISTED]} if self.replays else {}
            return {**told, **saved, **listed}

    def save(self, recording: str, figures: dict[str, float | None]) -> None:
        """Note which recording answered, and what that has saved."""
        with self._lock:
            self.replays.append(recording)
            for name, figure in figures.items():
                self.saved[name] += figure or 0  # type: ignore[assignment]

    def settle(self) -> None:
        """Keep what has been said in full, though nobody has read to its end."""
        for call in list(self.said_all):
            # What other items are still reading has its end to come.
            if self.around is None or call.scope is self:
                wait(call.settle())

    def absorb(self, inner: Scope) -> None:
        """Take over what a step within this one has counted."""
        with inner._lock:
            counts, inner.counts = inner.counts, Counter()
            saved, inner.saved = inner.saved, Counter()
            replays, inner.replays = inner.replays, []
        with self._lock:
            self.counts.update(counts)
            self.saved.update(saved)
            self.replays += replays
        self.take_unanswered(inner)
