"""Beginning of a seam's call, which first waits for an equal one in flight that it may share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.llm import current
from nbckpt.llm.waiting import is_asyncio, wait, wait_async

if TYPE_CHECKING:
    from nbckpt.llm.call_protocols import SeamCall
    from nbckpt.llm.http_request import HttpRequest


def begin(asked: HttpRequest) -> SeamCall | None:
    """The call of a request; None if it is to be left alone."""
    recorder = current.asked()
    call = None if recorder is None else recorder.begin(asked)
    while recorder is not None and call is not None and (flight := call.awaited) is not None:
        try:
            while not flight.landed.done() and (left := flight.patience_s) > 0:
                wait(flight.landed, left)
        except BaseException:
            flight.leave()
            raise
        call = recorder.go_on(call)
    return call


async def begin_async(asked: HttpRequest) -> SeamCall | None:
    """As `begin`, without holding up what else runs in the loop."""
    recorder = current.asked()
    call = None if recorder is None else recorder.begin(asked, blocks=not is_asyncio())
    while recorder is not None and call is not None and (flight := call.awaited) is not None:
        try:
            while not flight.landed.done() and (left := flight.patience_s) > 0:
                await wait_async(flight.landed, left)
        except BaseException:
            flight.leave()
            raise
        call = recorder.go_on(call, blocks=not is_asyncio())
    return call
