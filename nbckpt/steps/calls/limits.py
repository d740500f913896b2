"""A limit to what one attempt of a function may take."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable
from types import FrameType
from typing import Any, TypeVar

from nbckpt.errors import UsageError
from nbckpt.steps.calls.plans import Plan

R = TypeVar("R")


def limited(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a plan's function; `TimeoutError` is raised in it when it has taken too long.

    The code is interrupted as by the user's interrupt: in the main thread, wherever it is, and by
    nothing in a call into C that lets no signal through. A thread cannot be stopped, and one that
    was left behind would go on and may do its work twice, so there it is refused.

    Raises
    ------
    UsageError
        Outside of the main thread, and where there are no such timers (Windows).
    """
    if plan.timeout_s is None:
        return plan.function(*args, **kwargs)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        message = (
            f"step {plan.name!r} has a timeout_s, and a thread cannot be stopped: make it an"
            " `async def`, or give what it calls a time limit"
        )
        raise UsageError(message)

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise _expired(plan)

    began = time.monotonic()
    handler = signal.getsignal(signal.SIGALRM)
    left_s, interval_s = signal.getitimer(signal.ITIMER_REAL)
    try:  # no context manager: an interrupt as one is entered or left leaves the timer running
        signal.signal(signal.SIGALRM, expire)
        signal.setitimer(signal.ITIMER_REAL, plan.timeout_s)
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
