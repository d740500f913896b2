"""Calls of functions that return: answered from the store, or run, tried again, and kept."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Any

from nbckpt.errors import StoreError
from nbckpt.steps.calls.attempts import Attempts
from nbckpt.steps.calls.beginning import begin
from nbckpt.steps.calls.decorated_function import DecoratedFunction
from nbckpt.steps.calls.limits import awaited_within, limited
from nbckpt.steps.calls.step_call import StepCall


def call(known: DecoratedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Result of a function, from the store or from a run."""
    begun = begin(known, args, kwargs)
    if begun is None:
        return _run(known, Attempts(known.plan), args, kwargs)
    try:
        if (answer := begun.answer()) is not None:
            return answer.value
        begun.intend()
    except BaseException:
        begun.place.give_back(begun.id.key)
        raise
    try:
        value = begun.inside(_run, known, begun.attempts, args, kwargs)
    except BaseException as error:
        begun.failed(error)
        raise
    begun.wait(begun.keep(value))
    return value


def _run(
    known: DecoratedFunction, attempts: Attempts, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    while True:
        try:
            return limited(known.plan, args, kwargs)
        except Exception as error:
            wait_s = attempts.wait_after(error)
            if wait_s is None:
                raise
        time.sleep(wait_s)


async def call_async(
    known: DecoratedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Result of a coroutine function, as in `call`; the loop goes on while the disk writes."""
    begun = begin(known, args, kwargs)
    if begun is None:
        return await _run_async(known, Attempts(known.plan), args, kwargs)
    try:
        if (answer := begun.answer()) is not None:
            return answer.value
        if (intention := begun.intention()) is not None:
            await durable(intention)
    except BaseException:
        begun.place.give_back(begun.id.key)
        raise
    try:
        value = await begun.inside_async(_run_async, known, begun.attempts, args, kwargs)
    except BaseException as error:
        begun.failed(error)
        raise
    await kept(begun, begun.keep(value))
    return value


async def _run_async(
    known: DecoratedFunction, attempts: Attempts, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    plan = known.plan
    while True:
        try:
            return await awaited_within(plan, plan.function(*args, **kwargs))
        except Exception as error:
            wait_s = attempts.wait_after(error)
            if wait_s is None:
                raise
        await asyncio.sleep(wait_s)


async def durable(written: Future[None]) -> None:
    """Return when something is durable. Who cancels this does not take it back.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    await asyncio.shield(asyncio.wrap_future(written))


async def kept(begun: StepCall, written: Future[None] | None) -> None:
    """Return when an answer is durable; if the disk refuses, that is told."""
    if written is not None:
        try:
            await durable(written)
        except StoreError:
            begun.wait(written)
