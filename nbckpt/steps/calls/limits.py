"""A limit to what one attempt of a function may take."""

from __future__ import annotations

import asyncio
import ctypes
import signal
import threading
import time
from collections.abc import Awaitable
from concurrent.futures import Future
from contextvars import copy_context
from types import FrameType
from typing import Any, TypeVar

from nbckpt.runtime.interrupts import wait_for
from nbckpt.steps.calls.plans import Plan

R = TypeVar("R")


class _LeftBehindError(SystemExit):
    """Ends a thread for which nobody waits any more, as `exit()` in it does: in silence."""


def limited(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a plan's function; `TimeoutError` is raised when it has taken too long.

    In the main thread it is raised in the function, as the user's interrupt is, wherever it is; by
    nothing in a call into C that lets no signal through. Elsewhere, and where there are no such
    timers (Windows), the function runs in a thread of its own, which is left behind: it ends as
    soon as it runs Python code again. What it waits for in C then, an answer of a server, say, may
    still come, and is lost.
    """
    if plan.timeout_s is None:
        return plan.function(*args, **kwargs)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and hasattr(signal, "setitimer"):
        return _interrupted(plan, plan.timeout_s, args, kwargs)
    return _left_behind(plan, plan.timeout_s, args, kwargs)


def _interrupted(
    plan: Plan, timeout_s: float, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise _expired(plan)

    began = time.monotonic()
    handler = signal.getsignal(signal.SIGALRM)
    left_s, interval_s = signal.getitimer(signal.ITIMER_REAL)
    try:  # no context manager: an interrupt as one is entered or left leaves the timer running
        signal.signal(signal.SIGALRM, expire)
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        answer = plan.function(*args, **kwargs)
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
            if left_s:  # somebody else's timer goes on
                rest_s = max(left_s - (time.monotonic() - began), 0.001)
                signal.setitimer(signal.ITIMER_REAL, rest_s, interval_s)
    return answer


def _left_behind(
    plan: Plan, timeout_s: float, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    outcome: Future[Any] = Future()

    def work() -> None:
        try:
            outcome.set_result(context.run(plan.function, *args, **kwargs))
        except _LeftBehindError:
            pass
        except BaseException as error:  # `exit()`, say: whoever called gets it
            outcome.set_exception(error)

    context, name = copy_context(), f"limited-{plan.name}"
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        if not wait_for(outcome, timeout_s):
            raise _expired(plan)
    finally:  # an interrupt of whoever waits ends it as well
        if not outcome.done():
            _end(thread)
    return outcome.result()


def _end(thread: threading.Thread) -> None:
    """Have a thread's code end where it next runs a line of Python."""
    if thread.ident is not None and thread.is_alive():
        error = ctypes.py_object(_LeftBehindError)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), error)


async def awaited_within(plan: Plan, attempt: Awaitable[R]) -> R:
    """Result of an attempt, which is cancelled when it exceeds its time limit.

    Raises
    ------
    TimeoutError
        If it exceeds the limit.
    """
    if plan.timeout_s is None:
        return await attempt
    limit = asyncio.timeout(plan.timeout_s)
    try:
        async with limit:
            return await attempt
    except TimeoutError as error:
        if limit.expired():
            raise _expired(plan) from error
        raise


def _expired(plan: Plan) -> TimeoutError:
    return TimeoutError(f"step {plan.name!r} took longer than {plan.timeout_s} s")
