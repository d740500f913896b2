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
from functools import partial
from typing import Generic, TypeVar

from nbckpt.errors import UsageError
from nbckpt.runtime.collected import when_outside
from nbckpt.session.session import Session
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.loops.loop import Loop, LoopItems, PlainLoop, begun_loop
from nbckpt.steps.loops.loop_form import loop_name

Item = TypeVar("Item")


def _items_of(
    iterable: Iterable[Item] | AsyncIterable[Item],
    total: int | None,
    key: Callable[[Item], object] | None,
) -> LoopItems:
    if total is None:
        total = len(iterable) if isinstance(iterable, Sized) else -1
    return LoopItems(iterable, total, key)


def _require_items(name: str, given: object) -> None:
    if not hasattr(type(given), "__iter__") and not hasattr(type(given), "__getitem__"):
        kind = type(given).__name__
        message = f"checkpoint {name!r}: {kind} is not iterable: give track the items, in a list"
        raise UsageError(message)


class Tracked(Generic[Item]):
    """The items of a loop that are not finished yet, for a `for` or `async for` statement."""

    def __init__(
        self,
        iterable: Iterable[Item] | AsyncIterable[Item],
        name: str,
        begun: Callable[[], Loop],
    ) -> None:
        self._iterable = iterable
        self._name = name
        self._begun = begun

    def __iter__(self) -> Iterator[Item]:
        name, iterable = self._name, self._iterable
        if isinstance(iterable, AsyncIterable):
            kind = type(iterable).__name__
            message = f"checkpoint {name!r}: {kind} is asynchronous: write `async for`"
            raise UsageError(message)
        _require_items(name, iterable)
        loop = self._begun()
        try:
            for item in iterable:
                if not loop.has_finished(item):
                    yield loop.started(item)
                    loop.done()
            loop.ended()
        finally:
            loop.close()

    def __aiter__(self) -> AsyncIterator[Item]:
        ask = _asking(self._iterable)
        return _Awaited(ask, self._begun())


def tracked(
    step: Execution,
    iterable: Iterable[Item] | AsyncIterable[Item],
    total: int | None,
    key: Callable[[Item], object] | None,
) -> Tracked[Item]:
    """The items of a step's loop that are not finished yet."""
    items = _items_of(iterable, total, key)
    return Tracked(iterable, step.request.name, partial(begun_loop, step, step.loops, items))


def tracked_alone(
    session: Session,
    iterable: Iterable[Item] | AsyncIterable[Item],
    total: int | None,
    key: Callable[[Item], object] | None,
) -> Tracked[Item]:
    """All items of a loop that is in no step: of what its body does, calls are kept."""
    name, items = loop_name(session.workspace.running), _items_of(iterable, total, key)
    return Tracked(iterable, name, partial(PlainLoop, session, items, name))


class Untracked(Tracked[Item]):
    """All items of a loop, of which nothing is kept."""

    def __init__(self, iterable: Iterable[Item] | AsyncIterable[Item]) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Item]:
        return iter(self._iterable)  # type: ignore[arg-type]

    async def __aiter__(self) -> AsyncIterator[Item]:
        ask = _asking(self._iterable)
        while True:
            try:
                item = await ask()
            except StopAsyncIteration:
                return
            yield item


class _Awaited(AsyncIterator[Item]):
    """The same, awaited. No generator: one that is left by `break` is closed much later."""

    def __init__(self, ask: Callable[[], Awaitable[Item]], loop: Loop) -> None:
        self._next = ask
        self._loop = loop
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
            when_outside(loop.close, but=(__name__,))


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
