"""Calls of generators: what they yield is captured as it comes, and yielded again.

Notes
-----
Each item is taken as it was when it was yielded, whatever its caller makes of it afterwards. All
are kept when the generator has ended; one that was left early, or died, runs again from the
beginning. It runs again after an error only if it had not yielded anything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.errors import CaptureError
from nbckpt.steps.calls.attempts import Attempts
from nbckpt.steps.calls.beginning import begin
from nbckpt.steps.calls.decorated_function import DecoratedFunction
from nbckpt.steps.calls.results import decoded, encoded
from nbckpt.steps.calls.running import kept
from nbckpt.steps.calls.step_call import StepCall

if TYPE_CHECKING:
    from concurrent.futures import Future


class Tape:
    """Items that a generator yields, as bytes."""

    def __init__(self, known: DecoratedFunction, begun: StepCall | None) -> None:
        self.attempts = begun.attempts if begun else Attempts(known.plan)
        self._begun = begun
        self._namespace = known.plan.namespace
        self._items: list[list[bytes | bytearray]] = []
        self._why_not = "" if begun else "it is a plain function's"
        self._has_yielded = False

    def inside(self, go_on: Callable[[Any], Any], given: object) -> Any:
        """Have the generator go on; what it calls belongs to its call."""
        return go_on(given) if self._begun is None else self._begun.inside(go_on, given)

    async def inside_async(self, go_on: Callable[[Any], Awaitable[Any]], given: object) -> Any:
        """As `inside`, of one to wait for."""
        begun = self._begun
        return await (go_on(given) if begun is None else begun.inside_async(go_on, given))

    def take(self, item: object) -> None:
        """Capture what is about to be yielded."""
        self._has_yielded = True
        if not self._why_not:
            try:
                self._items.append(self._captured(item))
            except CaptureError as problem:
                self._spoil(f"item {len(self._items)}: {problem}")

    def answered(self, sent: object, thrown: BaseException | None) -> None:
        """Take note of what the caller gave back for an item."""
        if sent is not None or thrown is not None:
            self._spoil("its caller sends it values, on which what it yields depends")

    def _spoil(self, why: str) -> None:
        self._why_not = self._why_not or why
        self._items = []

    def wait_after(self, error: BaseException) -> float | None:
        """Seconds until it runs again after an error; None if it does not."""
        return None if self._has_yielded else self.attempts.wait_after(error)

    def failed(self, error: BaseException) -> None:
        """Note that it did not end well, or was left."""
        if self._begun is not None:
            self._begun.failed(error)

    def ended(self, returned: object) -> Future[None] | None:
        """Keep all of it; the future is done when it is durable."""
        if self._begun is None:
            return None
        try:
            if self._why_not:
                raise CaptureError(self._why_not)
            pieces = [*self._items, self._captured(returned)]
        except CaptureError as problem:
            return self._begun.keep_nothing(str(problem))
        return self._begun.keep(pieces, items=len(self._items))

    def _captured(self, value: object) -> list[bytes | bytearray]:
        parts = [memoryview(part) for part in encoded(value, self._namespace)]
        return [bytes(part) if part.readonly else bytearray(part) for part in parts]


def stream(
    known: DecoratedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Generator[Any, Any, Any]:
    """Yield a generator's items and return its result, from the store or from a run."""
    begun = begin(known, args, kwargs)
    if begun is not None and (answer := begun.answer()) is not None:
        *items, returned = _pieces(answer.value)
        for item in items:
            yield _decoded(item, known)
        return _decoded(returned, known)
    tape = Tape(known, begun)
    while True:
        try:
            value = yield from _taped(known.plan.function(*args, **kwargs), tape)
        except BaseException as error:
            wait_s = tape.wait_after(error) if isinstance(error, Exception) else None
            if wait_s is None:
                tape.failed(error)
                raise
        else:
            if begun is not None:
                begun.wait(tape.ended(value))
            return value
        time.sleep(wait_s)


def _taped(inner: Generator[Any, Any, Any], tape: Tape) -> Generator[Any, Any, Any]:
    """`yield from inner`, with what comes captured."""
    sent: Any = None
    thrown: BaseException | None = None
    while True:
        try:
            go_on, given = (inner.send, sent) if thrown is None else (inner.throw, thrown)
            item = tape.inside(go_on, given)
        except StopIteration as end:
            return end.value
        tape.take(item)
        sent = thrown = None
        try:
            sent = yield item
        except GeneratorExit:
            inner.close()
            raise
        except BaseException as error:  # the caller throws it in, for `inner` to see
            thrown = error
        tape.answered(sent, thrown)


def stream_async(known: DecoratedFunction) -> Callable[..., AsyncGenerator[Any, Any]]:
    """A function like the one that is known, of what its generators yield, or did."""

    async def yielding(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        begun = begin(known, args, kwargs)
        if begun is not None and (answer := begun.answer()) is not None:
            for item in _pieces(answer.value)[:-1]:
                yield _decoded(item, known)
            return
        tape = Tape(known, begun)
        while True:
            inner = known.plan.function(*args, **kwargs)
            try:
                sent: Any = None
                thrown: BaseException | None = None
                while (came := await _next(inner, tape, sent, thrown)) is not None:
                    sent = thrown = None
                    try:
                        sent = yield came.item
                    except GeneratorExit:
                        await inner.aclose()
                        raise
                    except BaseException as error:  # the caller throws it in, for `inner` to see
                        thrown = error
                    tape.answered(sent, thrown)
            except BaseException as error:
                wait_s = tape.wait_after(error) if isinstance(error, Exception) else None
                if wait_s is None:
                    tape.failed(error)
                    raise
            else:
                if begun is not None:
                    await kept(begun, tape.ended(None))
                return
            await asyncio.sleep(wait_s)

    return yielding


class _Came(NamedTuple):
    """An item that an asynchronous generator has yielded."""

    item: Any


async def _next(
    inner: AsyncGenerator[Any, Any], tape: Tape, sent: object, thrown: BaseException | None
) -> _Came | None:
    """The next item, captured; None at the end."""
    try:
        go_on, given = (inner.asend, sent) if thrown is None else (inner.athrow, thrown)
        item = await tape.inside_async(go_on, given)
    except StopAsyncIteration:
        return None
    tape.take(item)
    return _Came(item)


def _decoded(piece: list[memoryview], known: DecoratedFunction) -> Any:
    # The answer that it is a part of has come back, so its record is trusted.
    return decoded(piece, known.plan.namespace, trusted=True)


def _pieces(kept_pieces: object) -> list[list[memoryview]]:
    """The bytes of each item, and of what was returned."""
    assert isinstance(kept_pieces, list)
    return [[memoryview(part) for part in piece] for piece in kept_pieces]
