"""The step that a call belongs to, and its occurrence number among equal calls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import timedelta
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args
from weakref import WeakSet

from nbckpt.errors import UsageError
from nbckpt.llm import aging
from nbckpt.llm.flights import Flights
from nbckpt.llm.seams.waiting import wait
from nbckpt.runtime.context import called_with
from nbckpt.runtime.interrupts import whole

if TYPE_CHECKING:
    from nbckpt.llm.call import Call

_R = TypeVar("_R")
Mode: TypeAlias = Literal["replay", "record", "only", "off"]
MODES = get_args(Mode)
MOST_REPEATED = 200
MOST_LISTED = 500


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
    unanswered
        Questions to people that have no answer, each with the item that asked it; the step's own
        with an empty name.
    flights
        What is in flight, where equal calls may share an answer.
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
    unanswered: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        around = self.around
        self._lock: threading.Lock = around._lock if around else threading.Lock()  # noqa: SLF001
        self.said_all: WeakSet[Call] = WeakSet() if self.around is None else self.around.said_all
        self._next: Counter[str] = Counter()
        self._given_back: dict[str, list[int]] = {}
        self.flights = Flights()

    def of_item(self, item: str) -> Scope:
        """One item's scope within this one: equal calls of two items are told apart by it."""
        self.has_items = True
        within = f"{self.item}/{item}" if self.item else item
        around = self.around or self
        return replace(self, item=within, around=around, has_items=True)

    def next_pass(self) -> str:
        """Prefix that tells a loop's items from equal ones of other loops; empty for the first."""
        n = self.reserve("pass")
        return f"{n + 1}." if n else ""

    def reserve(self, request: str) -> int:
        """Number of equal requests that began before, of those that were or may be answered.

        Reserved when a call begins, so that equal requests in flight at once differ.
        """
        with self._lock:
            if free := self._given_back.get(request):
                return heappop(free)
            occurrence = self._next[request]
            self._next[request] += 1
            return occurrence

    def give_back(self, request: str, occurrence: int) -> None:
        """Note that a call was not answered: the next equal one, a retry, stands in its place."""
        with self._lock:
            heappush(self._given_back.setdefault(request, []), occurrence)

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
        with self._lock:
            return {request: n for request, n in self._next.most_common(MOST_REPEATED) if n > 1}

    def go_on(self, begun: Mapping[str, int]) -> None:
        """Count on where an earlier run was, whose first items are not run again."""
        with self._lock:
            self._next |= Counter(begun)

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
            if self.around is None or call.question.scope is self:
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


@dataclass(frozen=True, eq=False)
class Place:
    """Settings that hold for a call that is made here.

    Attributes
    ----------
    scope
        None outside of steps.
    mode
        None: the recorder's own.
    outer
        The place that held here before.
    before
        The place that this thread or task itself was in; None if it only followed another.
    ttl_s
        Maximum age in seconds of a recording that answers; None: the recorder's own.
    tags
        Of the recordings.
    coalesce
        True if equal calls in flight share an answer; None: as the recorder says.
    thread
        Id of the thread that has entered it.
    """

    scope: Scope | None = None
    mode: Mode | None = None
    outer: Place | None = None
    ttl_s: float | None = None
    tags: tuple[str, ...] = ()
    coalesce: bool | None = None
    before: Place | None = None
    thread: int = 0

    def is_within(self, other: Place) -> bool:
        """True if this was entered in `other`, or is it."""
        return self is other or (self.outer is not None and self.outer.is_within(other))


class Entered(NamedTuple):
    """Places entered and not left: the caller's own, and those of all threads and tasks."""

    here: Place | None
    places: tuple[Place, ...]


_NOWHERE = Place()
_here: ContextVar[Place | None] = ContextVar("nbckpt_calls", default=None)
_places: list[Place] = []
"""Entered and not left: threads do not inherit the context, and are in the latest."""
_changing = threading.Lock()


def here() -> Place:
    """Settings for a call that is made now, in this thread or task."""
    return _here.get() or (_places[-1] if _places else _NOWHERE)


@whole
def enter(step: str, cell_id: str | None = None, *, is_fresh: bool = False) -> Place:
    """Begin a run of a step: calls belong to it until it is left."""
    outer = here()
    return _enter(replace(outer, scope=Scope(step, cell_id, is_fresh), outer=outer))


@whole
def enter_item(step: Scope, item: str) -> Place:
    """Begin an item of a loop: calls belong to it, in threads too, until it is left."""
    outer = here()
    return _enter(replace(outer, scope=step.of_item(item), outer=outer))


@whole
def leave(place: Place) -> None:
    """End what was entered, and what was entered in it. A task that it began goes on in it."""
    with _changing:
        _places[:] = [other for other in _places if not other.is_within(place)]
    now = _here.get()
    if now is not None and now.is_within(place):
        # Not what was around it: of a thread in a pool, that may be another thread's block.
        _here.set(place.before)
    if place.scope is not None:
        place.scope.settle()
        outer = None if place.outer is None else place.outer.scope
        if outer is not None and outer.unanswered is not place.scope.unanswered:
            outer.take_unanswered(place.scope)


def entered_here() -> Entered:
    """The places that are entered and not left now, for `back_to`."""
    return Entered(_here.get(), tuple(_places))


@whole
def back_to(before: Entered) -> None:
    """End what this thread has entered since: an interrupt may have kept it from being left."""
    own = threading.get_ident()
    with _changing:
        _places[:] = [p for p in _places if p.thread != own or p in before.places]
    _here.set(before.here)


@contextmanager
def entered(step: str, cell_id: str | None = None) -> Iterator[Scope]:
    """A run of a step, for the block."""
    place = enter(step, cell_id)
    assert place.scope is not None
    try:
        yield place.scope
    finally:
        leave(place)


def within(step: str) -> Scope | None:
    """A step of its own within the one that runs; None outside of steps."""
    outer = here().scope
    return None if outer is None else Scope(step, outer.cell_id, outer.is_fresh)


def inside(inner: Scope | None, function: Callable[..., _R], /, *args: Any, **options: Any) -> _R:
    """Call a function whose model calls belong to `inner`, and are counted further out, too."""
    outer = here()
    if inner is None or outer.scope is None:
        return function(*args, **options)
    place = replace(outer, scope=inner, outer=outer)
    try:
        return called_with(_here, place, function, *args, **options)
    finally:
        _end(inner, outer.scope)


async def inside_async(
    inner: Scope | None, function: Callable[..., Awaitable[_R]], /, *args: Any, **options: Any
) -> _R:
    """As `inside`, of one to wait for.

    Not through `awaited_with`: an interrupt would leave a coroutine between the two unawaited.
    """
    outer, before = here(), _here.get()
    if inner is None or outer.scope is None:
        return await function(*args, **options)
    try:
        _here.set(replace(outer, scope=inner, outer=outer))
        answer = await function(*args, **options)
    finally:
        _here.set(before)
        _end(inner, outer.scope)
    return answer


@whole
def _end(inner: Scope, outer: Scope) -> None:
    inner.settle()
    if inner.around is None:  # an item counts where its step does
        outer.absorb(inner)


@contextmanager
def recording(
    mode: Mode | None = None,
    *,
    ttl: float | str | timedelta | None = None,
    tags: Iterable[str] = (),
    coalesce: bool | None = None,
) -> Iterator[None]:
    """Set the recording of model calls in the block, and in tasks and threads that it begins.

    In a thread that began in another block or in a step, it is for this thread alone.

    Parameters
    ----------
    mode
        ``replay``: answered from the store if they were recorded, else asked and recorded.
        ``record``: asked and recorded in any case; existing recordings stay. ``only``: answered
        from the store; a call without a recording raises `ReplayError`. ``off``: asked, and not
        recorded. None: the mode around the block if anything else is given, else ``replay``.
    ttl
        Maximum age of a recording that answers: seconds, or a text such as ``"7d"``. The request
        of an older one is asked again, and both are kept. None: the ttl around the block, else
        any age.
    tags
        Words by which to find these recordings in `nbckpt.sql`, and to prune them; those of blocks
        around it count too.
    coalesce
        True if a request that begins while an equal one of the same step, and of the same item, is
        in flight waits for that one's answer instead of being sent; a stream is handed on when the
        first has it all. If the first has no answer, one of those that wait is sent. They count as
        replayed, and a later run with `coalesce` gives them the same answer again; one without asks
        for a second. None: as around the block, else False: samples stay samples.

    Raises
    ------
    UsageError
        If the mode is unknown, or `ttl` or a tag is invalid.
    """
    if mode is not None and mode not in MODES:
        message = f"no mode {mode!r} of recording: it is one of {', '.join(MODES)}"
        raise UsageError(message)
    outer, said = here(), aging.tags_of(tags)
    is_plain = ttl is None and not said and coalesce is None
    mode = mode or ("replay" if is_plain else outer.mode)
    ttl_s = outer.ttl_s if ttl is None else aging.ttl_of(ttl)
    words = tuple(dict.fromkeys((*outer.tags, *said)))
    shares = outer.coalesce if coalesce is None else coalesce
    place = _enter(replace(outer, mode=mode, outer=outer, ttl_s=ttl_s, tags=words, coalesce=shares))
    try:
        yield
    finally:
        leave(place)


def _enter(place: Place) -> Place:
    place = replace(place, before=_here.get(), thread=threading.get_ident())
    with _changing:
        if not _is_for_one_thread(place):
            _places.append(place)
    _here.set(place)
    return place


def _is_for_one_thread(place: Place) -> bool:
    """True if a thread that only follows another enters a block of recording.

    Nobody can tell which threads it begins there; its mates in a pool are not in its block.
    """
    is_step = place.outer is None or place.scope is not place.outer.scope
    is_follower = place.before is None and bool(_places)
    return is_follower and not is_step and threading.current_thread() is not threading.main_thread()
