"""The step and the settings of recording that a call belongs to, by thread and task."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args
from weakref import WeakSet

from nbckpt.errors import UsageError
from nbckpt.llm import time_to_live
from nbckpt.llm.step_scope import Scope
from nbckpt.runtime.collected import do_waiting
from nbckpt.runtime.context import called_with
from nbckpt.runtime.interrupts import whole

_R = TypeVar("_R")
Mode: TypeAlias = Literal["replay", "record", "only", "off"]
MODES = get_args(Mode)


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

    def is_of(self, step: Scope) -> bool:
        """True if this was entered in a step, in an item of it, or in a call that these make."""
        if self.scope is not None and self.scope.step_scope is step:
            return True
        return self.outer is not None and self.outer.is_of(step)

    @property
    def is_beside(self) -> bool:
        """True if it is a plain loop's in another task of this thread, which is not within it.

        A task has the context in which it was created; a thread has none.
        """
        if self.scope is None or not self.scope.is_plain or self.thread != threading.get_ident():
            return False
        return not self.scope.step_scope.is_of_task


class Entered(NamedTuple):
    """Places entered and not left: the caller's own, and those of all threads and tasks."""

    here: Place | None
    places: tuple[Place, ...]


_NOWHERE = Place()
_here: ContextVar[Place | None] = ContextVar("nbckpt_calls", default=None)
_places: list[Place] = []
"""Entered and not left: threads do not inherit the context, and are in the latest."""
_calls: list[Place] = []
"""Of calls of functions in work outside of steps: a thread belongs to the only one, if it is."""
_left: WeakSet[Place] = WeakSet()
"""Places of steps and blocks that somebody may still name: a process that was started in one."""
_changing = threading.Lock()


def here() -> Place:
    """Settings for a call that is made now, in this thread or task."""
    if (own := _here.get()) is not None:
        return own
    if places := _places_around():
        return places[-1]
    calls = tuple(_calls)
    return calls[0] if len(calls) == 1 else _NOWHERE


def _places_around() -> list[Place]:
    """The places that a thread may be in, which does not know its own.

    Of several plain loops at once nobody can tell which has begun it.
    """
    places = [place for place in tuple(_places) if not place.is_beside]
    plain = {p.scope.step_scope for p in places if p.scope is not None and p.scope.is_plain}
    if len(plain) < 2:
        return places
    return [place for place in places if place.scope is None or not place.scope.is_plain]


def still_entered(place: Place) -> Place | None:
    """A place, or the nearest around it of which nothing was left; None if that is of no step."""
    live: Place | None = place
    around: Place | None = place
    while around is not None:
        if around in _left:
            live = around.outer
        around = around.outer
    return None if live is None or live.scope is None else live


def of_thread_begun_in(place: Place) -> Place | None:
    """Settings for calls that a thread makes now which began in `place` and is in no other.

    They are those of what was entered last in it; where it was left, of what is around it. None if
    all of that was left.
    """
    live = still_entered(place)
    return live and next((p for p in reversed(tuple(_places)) if p.is_within(live)), live)


def called_at(place: Place, function: Callable[..., _R], /, *args: Any, **options: Any) -> _R:
    """Call a function whose model calls are made with the settings of `place`."""
    return called_with(_here, place, function, *args, **options)


@whole
def enter(
    step: str, cell_id: str | None = None, *, is_fresh: bool = False, is_plain: bool = False
) -> Place:
    """Begin a run of a step: calls belong to it until it is left."""
    outer = here()
    scope = Scope(step, cell_id, is_fresh, is_plain=is_plain)
    return _enter(replace(outer, scope=scope, outer=outer))


@whole
def enter_item(step: Scope, item: str) -> Place:
    """Begin an item of a loop: calls belong to it, in threads too, until it is left."""
    outer = here()
    return _enter(replace(outer, scope=step.of_item(item), outer=outer))


@whole
def leave(place: Place) -> None:
    """End what was entered, and what was entered in it. A task that it began goes on in it."""
    do_waiting()
    with _changing:
        _places[:] = [other for other in _places if not other.is_within(place)]
        _left.add(place)
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
        kept = [p for p in _places if p.thread != own or p in before.places]
        _left.update(set(_places).difference(kept))
        _places[:] = kept
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


def within(step: str) -> Scope:
    """A step of its own, within the one that runs if one does."""
    outer = here().scope
    return Scope(step) if outer is None else Scope(step, outer.cell_id, outer.is_fresh)


def inside(inner: Scope, function: Callable[..., _R], /, *args: Any, **options: Any) -> _R:
    """Call a function whose model calls belong to `inner`, and are counted further out, too.

    Threads that it begins follow the step around it. Without one they are of this, as long as it is
    the only one in work: else nobody can tell which has begun them, and their calls are of no step.
    """
    outer = here()
    place = replace(outer, scope=inner, outer=outer)
    try:
        _begin(place)
        return called_with(_here, place, function, *args, **options)
    finally:
        _end(place)


async def inside_async(
    inner: Scope, function: Callable[..., Awaitable[_R]], /, *args: Any, **options: Any
) -> _R:
    """As `inside`, of one to wait for.

    Not through `awaited_with`: an interrupt would leave a coroutine between the two unawaited.
    """
    outer, before = here(), _here.get()
    place = replace(outer, scope=inner, outer=outer)
    try:
        _begin(place)
        _here.set(place)
        answer = await function(*args, **options)
    finally:
        _here.set(before)
        _end(place)
    return answer


def _begin(place: Place) -> None:
    if place.outer is None or place.outer.scope is None:
        with _changing:
            _calls.append(place)


@whole
def _end(place: Place) -> None:
    with _changing:
        _calls[:] = [other for other in _calls if other is not place]
        _left.add(place)
    inner, outer = place.scope, None if place.outer is None else place.outer.scope
    assert inner is not None
    inner.settle()
    if inner.around is None and outer is not None:  # an item counts where its step does
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
    outer, said = here(), time_to_live.tags_of(tags)
    is_plain = ttl is None and not said and coalesce is None
    mode = mode or ("replay" if is_plain else outer.mode)
    ttl_s = outer.ttl_s if ttl is None else time_to_live.ttl_of(ttl)
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
