"""Waiting for the disk, in threads and in event loops."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from nbckpt.runtime.interrupts import error_of

PATIENCE_S = 30.0
"""A disk that takes longer holds nobody; the next prompt tells what became of it."""


def wait(written: Future[Any] | None, patience_s: float = PATIENCE_S) -> None:
    """Return when it is durable, or refused: whoever follows the session's writes tells."""
    if written is not None and not written.done():
        try:
            error_of(written, patience_s)
        except TimeoutError:
            return


async def wait_async(written: Future[Any] | None, patience_s: float = PATIENCE_S) -> None:
    """As `wait`, without holding up what else runs in the loop."""
    if written is None or written.done():
        return
    if not is_asyncio():  # another kind of loop
        wait(written, patience_s)
        return
    import asyncio

    told = asyncio.wrap_future(_told(written))
    try:
        await asyncio.wait([told], timeout=patience_s)
    finally:
        told.cancel()  # what comes later is not told to a loop that may be closed by then


def is_asyncio() -> bool:
    """True if a loop of asyncio runs here."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _told(written: Future[Any]) -> Future[None]:
    """A future that is done with another, and fails never."""
    told: Future[None] = Future()
    told.set_running_or_notify_cancel()
    written.add_done_callback(lambda _: told.set_result(None))
    return told
