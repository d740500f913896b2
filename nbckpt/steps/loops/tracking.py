"""The items of a step's loops that are not finished yet, one by one."""

from __future__ import annotations

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sized,
)
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nbckpt.errors import UsageError
from nbckpt.fingerprint.names import Own
from nbckpt.model import Checkpoint
from nbckpt.steps.loops.followed import Followed, Loop

if TYPE_CHECKING:
    from nbckpt.steps.step import Step

Item = TypeVar("Item")


class Loops(Own):
    """The tracked loops of one execution of a step, in the order in which they begin.

    Attributes
    ----------
    begun
        How many have begun.
    """

    def __init__(self, step: Step, unfinished: Checkpoint | None, begun: int = 0) -> None:
        self.step = step
        self.unfinished = unfinished
        self.begun = begun
        self.inside: Loop | None = None

    def begin(self, tracked: Tracked[Any]) -> Loop:
        """The next loop, which may go on where it was."""
        if self.inside is not None or not self.step.is_kept:
            return Loop(self, tracked)
        self.begun += 1
        self.inside = loop = Followed(self, tracked)
        try:
            loop.go_on()
        except BaseException:
            loop.close()
            raise
        return loop

    def partial(self) -> Checkpoint | None:
        """Checkpoint of the latest loop from the run that did not finish; None if it has none."""
        last = self.unfinished
        if last is None or last.progress is None or last.progress[0] < self.begun:
            return None
        if last.progress[0] == self.begun:
            return last
        found = (c for c in self.step.session.timeline.named(last.name) if _is_of_run(c, last))
        same = (c for c in found if c.progress is not None and c.progress[0] == self.begun)
        partial = next(same, None)
        if partial is None:
            self.unfinished = None
        return partial


def _require_items(name: str, given: object) -> None:
    if not hasattr(type(given), "__iter__") and not hasattr(type(given), "__getitem__"):
        kind = type(given).__name__
        message = f"checkpoint {name!r}: {kind} is not iterable: give track the items, in a list"
        raise UsageError(message)


class Tracked(Generic[Item]):
    """The items of a loop that are not finished yet, for a `for` or `async for` statement."""

    def __init__(
        self,
        loops: Loops,
        iterable: Iterable[Item] | AsyncIterable[Item],
        total: int | None,
        key: Callable[[Item], object] | None,
    ) -> None:
        self.iterable = iterable
        self.key = key
        self.count = total if total is not None else -1
        if total is None and isinstance(iterable, Sized):
            self.count = len(iterable)
        self._loops = loops

    def __iter__(self) -> Iterator[Item]:
        if isinstance(self.iterable, AsyncIterable):
            name, kind = self._loops.step.request.name, type(self.iterable).__name__
            message = f"checkpoint {name!r}: {kind} is asynchronous: write `async for`"
            raise UsageError(message)
        _require_items(self._loops.step.request.name, self.iterable)
        loop = self._loops.begin(self)
        try:
            for item in self.iterable:
                if not loop.has_finished(item):
                    yield loop.started(item)
                    loop.done()
            loop.ended()
        finally:
            loop.close()

    def __aiter__(self) -> AsyncIterator[Item]:
        return _Awaited(self._loops, self)


class _Awaited(AsyncIterator[Item]):
    """The same, awaited. No generator: one that is left by `break` is closed much later."""

    def __init__(self, loops: Loops, tracked: Tracked[Item]) -> None:
        self._next = _asking(tracked.iterable)
        self._loop = loops.begin(tracked)
        self._is_open = False

    async def __anext__(self) -> Item:
        loop = self._loop
        if self._is_open:
            self._is_open = False
            loop.done()
        try:
            while True:
                item = await self._next()
                if not loop.has_finished(item):
                    self._is_open = True
                    return loop.started(item)
        except StopAsyncIteration:
            loop.ended()
            loop.close()
            raise

    def __del__(self) -> None:
        if (loop := getattr(self, "_loop", None)) is not None:
            loop.close()


def _asking(iterable: Iterable[Item] | AsyncIterable[Item]) -> Callable[[], Awaitable[Item]]:
    """Asynchronous function that gives the next item of either kind of collection."""
    if isinstance(iterable, AsyncIterable):
        return aiter(iterable).__anext__
    items = iter(iterable)

    async def following() -> Item:
        for item in items:
            return item
        raise StopAsyncIteration

    return following


def _is_of_run(checkpoint: Checkpoint, last: Checkpoint) -> bool:
    """True if a partial checkpoint came before `last`, of a step with the same key."""
    return (
        checkpoint.state == "partial"
        and checkpoint.trusted
        and checkpoint.key == last.key
        and checkpoint.created_at <= last.created_at
    )
