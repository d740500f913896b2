"""`@nbckpt.step`: a function whose calls are kept."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, overload

from nbckpt.errors import UsageError
from nbckpt.fingerprint.user_names import DECORATED
from nbckpt.steps.calls.decorated_function import DecoratedFunction, decorated_function
from nbckpt.steps.calls.items import stream, stream_async
from nbckpt.steps.calls.plans import Plan
from nbckpt.steps.calls.running import call, call_async

P = ParamSpec("P")
R = TypeVar("R")


@overload
def step(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def step(
    *,
    retries: int = 0,
    backoff: float = 1.0,
    timeout_s: float | None = None,
    retry_on: type[BaseException] | tuple[type[BaseException], ...] = (Exception,),
    name: str | None = None,
    once: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def step(
    function: Callable[..., Any] | None = None,
    /,
    *,
    retries: int = 0,
    backoff: float = 1.0,
    timeout_s: float | None = None,
    retry_on: type[BaseException] | tuple[type[BaseException], ...] = (Exception,),
    name: str | None = None,
    once: bool = False,
) -> Any:
    """Keep what each call of a function returns: the same call again is answered without running.

    A call is the same if the function, all that it reaches of the user's code and values, the
    arguments and the files that it read are. Of equal calls in one step (a cell with
    ``%%checkpoint``, a `with` block) the second is another sample, with an answer of its own;
    elsewhere they are counted within the cell or, in a script, within the session. Answers are
    found from every branch.

    The answer is durable before the caller sees it, and each replay gives a new copy. What cannot
    be kept is returned, and said. So is that the function changed what it was given: a replay
    does not. Without an open session the function is as it was.

    Functions may be `async`, and generators: these yield what was kept again once they ended, and
    run from the beginning if they did not.

    Parameters
    ----------
    retries
        How often it runs again after an error. An interrupt by the user or a cancellation is none.
    backoff
        Seconds before the first further attempt, at most; each next wait is twice as long, up to a
        minute. What a response says in `Retry-After` counts instead.
    timeout_s
        What one attempt may take. A coroutine is cancelled. Another function is interrupted in the
        main thread, as by the user; elsewhere it runs in a thread of its own, which is left behind.
    retry_on
        The errors after which it runs again.
    name
        Under which calls are kept; by default the function's qualified name. With `once`, functions
        that one function makes need a name each.
    once
        Never run it twice for one call: its intent is durable before it runs, and where there is
        an intent and no result, the next run stops and asks for `nbckpt.resolve`. It is not run
        by ``--fresh`` either, nor by changed code.

    Raises
    ------
    UsageError
        If the options contradict each other.

    Examples
    --------
    ::

        @nbckpt.step(retries=3)
        def summarize(doc: str) -> str: ...
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not isinstance(function, FunctionType):
            message = (
                f"step {name or function!r} is no function: decorate the `def` itself,"
                " below @staticmethod and the like"
            )
            raise UsageError(message)
        plan = Plan(
            function,
            name or function.__qualname__,
            retries,
            backoff,
            timeout_s,
            retry_on if isinstance(retry_on, tuple) else (retry_on,),
            once,
        )
        return _decorated(plan)

    return decorate if function is None else decorate(function)


def again(function: FunctionType, options: dict[str, Any]) -> Callable[..., Any]:
    """A step that was taken apart by pickle."""
    return _decorated(Plan(function, **options))


def _decorated(plan: Plan) -> Callable[..., Any]:
    """The function of a plan, of the same kind: with `async`, with `yield`, or without."""
    function = plan.function
    known = decorated_function(plan)
    wrapper = _wrapper_of(known, function)
    functools.update_wrapper(wrapper, function)
    setattr(wrapper, DECORATED, (again, (function, plan.options())))
    return wrapper


def _wrapper_of(known: DecoratedFunction, function: FunctionType) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return stream_async(known)
    if inspect.iscoroutinefunction(function):

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await call_async(known, args, kwargs)

        return awaited
    if inspect.isgeneratorfunction(function):

        def generating(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from stream(known, args, kwargs))

        return generating

    def called(*args: Any, **kwargs: Any) -> Any:
        return call(known, args, kwargs)

    return called
