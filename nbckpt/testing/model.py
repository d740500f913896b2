"""Answers of the provider: finds a request's format, makes the reply, and chooses its faults."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from nbckpt.testing.bodies import body_of
from nbckpt.testing.counts import Counts, Received
from nbckpt.testing.errors import broken_off, error_answer
from nbckpt.testing.faults import Fault, Faults
from nbckpt.testing.replies import (
    BadRequestError,
    Cache,
    Call,
    ToolCall,
    lengthened,
    reply_to,
)
from nbckpt.testing.routes import Route, provider_of, route_of
from nbckpt.testing.wire import Answer, Json, Request

Says: TypeAlias = Callable[[Json], str | ToolCall | None]
"""Function from a request's body to the model's reply; None stands for the default reply."""


class SayingError(Exception):
    """The user's own function did not answer; the client is told."""


class Model:
    """Everything that is behind the wire: serial numbers, the cache, the faults.

    Parameters
    ----------
    says
        The user's function; it runs on threads, several at once.
    counts
        Told of each request that is understood.
    """

    def __init__(self, says: Says | None, counts: Counts) -> None:
        self._says = says
        self._counts = counts
        self._cache = Cache()
        self._serial = itertools.count(1)
        self._lock = threading.Lock()
        self._faults = Faults()

    def fault(self, rule: Fault) -> None:
        """Add a rule."""
        with self._lock:
            self._faults.rules.append(rule)

    def mend(self) -> None:
        """Take all rules away, and forget which prompts with markers came."""
        with self._lock:
            self._faults = Faults()

    async def answer(self, request: Request) -> tuple[Answer, Fault]:
        """The answer to a request, and what is wrong with it."""
        route = route_of(request.path)
        provider = provider_of(request, route)
        asked = f"{request.method} {request.path}"
        if route is None:
            return error_answer(provider, 404, f"Unknown request URL: {asked}."), Fault()
        if request.method != "POST":
            return error_answer(provider, 405, f"Not allowed: {asked}."), Fault()
        try:
            return await self._answer(request, route, provider)
        except BadRequestError as error:
            return error_answer(provider, error.status, error.message, error.param), Fault()
        except SayingError as error:
            return error_answer(provider, 500, str(error)), Fault()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"Your request could not be understood: {error}."
            return error_answer(provider, 400, message), Fault()

    async def _answer(self, request: Request, route: Route, provider: str) -> tuple[Answer, Fault]:
        body = body_of(request)
        call = Call(provider, request.path, request.query, body)
        ask = route.ask(call)
        self._counts.came(Received(request.path, body))
        with self._lock:
            fault = self._faults.of(request.path, request.body.decode(errors="replace"))
        if fault.status:
            return failure(provider, fault), Fault(first_s=fault.first_s)
        said = await self._said(body)
        n = next(self._serial)
        reply = reply_to(ask, n, said, self._cache)
        if fault.size_bytes:
            reply = lengthened(reply, fault.size_bytes)
        answer = route.answer(ask, reply)
        if fault.error_after is not None and answer.streamed:
            answer = broken_off(call, answer, fault.error_after)
        return replace(answer, headers={**answer.headers, "x-request-id": f"req_{n:06d}"}), fault

    async def _said(self, body: Json) -> str | ToolCall | None:
        """Reply of the user's function, if any; on a thread, since it may take its time."""
        if self._says is None:
            return None
        try:
            said: object = await asyncio.to_thread(self._says, body)
        except Exception as error:
            message = f"answer= raised {type(error).__name__}: {error}"
            raise SayingError(message) from error
        if said is None or isinstance(said, str | ToolCall):
            return said
        message = f"answer= gave a {type(said).__name__}; it gives a str, a ToolCall or None"
        raise SayingError(message)


def failure(provider: str, fault: Fault) -> Answer:
    """The error that `fault` asks for."""
    error = error_answer(provider, fault.status, f"Failed on request ({fault.status}).")
    if fault.retry_after is None:
        return error
    return replace(error, headers={"retry-after": f"{fault.retry_after:g}"})
