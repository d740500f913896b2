"""`step.map`: a function's results for many items, each kept as soon as it is there."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Callable, Iterable
from contextlib import closing
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.errors import BudgetError, ReplayError, UsageError
from nbckpt.steps.calls.each import Each
from nbckpt.steps.calls.outcomes import Outcome, Task
from nbckpt.steps.calls.workers import awaited, in_threads, one_by_one
from nbckpt.steps.loops.clock import Clock

if TYPE_CHECKING:
    from nbckpt.steps.execution.execution_state import Execution

ERRORS = ("raise", "collect")


class Asked(NamedTuple):
    """Arguments of `map`."""

    function: Any
    items: Any
    workers: int
    key: Callable[[Any], object] | None
    errors: str


def mapped(step: Execution, asked: Asked) -> Any:
    """The results; of an asynchronous function something to await for them.

    Raises
    ------
    UsageError
        If an argument is none.
    """
    _require(step, asked)
    if is_async(asked.function):
        return _mapped_async(step, asked)
    each = Each(step, asked.function, list(_items(step, asked)), asked.key, asked.errors)
    run = _plain(each)
    with each:
        if asked.workers == 1:
            outcomes = one_by_one(each.tasks, run)
        else:
            outcomes = in_threads(each.tasks, run, asked.workers)
        with closing(outcomes):
            for outcome in outcomes:
                each.take(outcome)
        each.memory.written()
    return each.answer()


async def _mapped_async(step: Execution, asked: Asked) -> Any:
    items = asked.items
    if isinstance(items, AsyncIterable):
        listed = [item async for item in items]
    else:
        listed = list(_items(step, asked))
    each = Each(step, asked.function, listed, asked.key, asked.errors)

    async def run(task: Task, clock: Clock) -> None:
        try:
            outcome = Outcome(task, await each.done_async(task))
        except Exception as error:
            outcome = each.failed(task, error)
        except (BudgetError, ReplayError) as error:  # those in work end, and are kept
            outcome = Outcome(task, error=error)
        each.take(await each.kept_async(outcome, clock))

    with each:
        await awaited(each.tasks, run, each.memory.new_clock, asked.workers)
        await each.memory.written_async()
    return each.answer()


def _plain(each: Each) -> Callable[[Task], Outcome]:
    def run(task: Task) -> Outcome:
        try:
            value = each.done(task)
            if inspect.iscoroutine(value):
                value.close()
                raise each.awaits()
        except Exception as error:
            return each.failed(task, error)
        return each.kept(Outcome(task, value))

    return run


def is_async(function: object) -> bool:
    """True if a call of `function` gives something to await."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.iscoroutinefunction(function):
        return True
    call = getattr(type(function), "__call__", None)  # noqa: B004  # of an object of the user's
    return not isinstance(function, FunctionType) and inspect.iscoroutinefunction(call)


def _items(step: Execution, asked: Asked) -> Iterable[Any]:
    given: object = asked.items
    if isinstance(given, Iterable):
        return given
    kind = type(given).__name__
    is_awaited = isinstance(given, AsyncIterable)
    how = "give map an `async` function, too" if is_awaited else "give a list"
    message = f"checkpoint {step.request.name!r}: {kind} is not iterable: {how}"
    raise UsageError(message)


def _require(step: Execution, asked: Asked) -> None:
    name = step.request.name
    if not callable(asked.function):
        message = f"checkpoint {name!r}: map takes a function first, and then the items"
        raise UsageError(message)
    if type(asked.workers) is not int or asked.workers < 1:
        message = f"checkpoint {name!r}: workers is {asked.workers!r}; it is a number, 1 or more"
        raise UsageError(message)
    if asked.errors not in ERRORS:
        message = f"checkpoint {name!r}: errors is {asked.errors!r}; it is 'raise' or 'collect'"
        raise UsageError(message)
