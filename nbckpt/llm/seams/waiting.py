"""Waiting for the disk, in threads and in event loops."""

from __future__ import annotations

from concurrent.futures import Future

PATIENCE_S = 30.0
"""A disk that takes longer holds nobody; the next prompt tells what became of it."""


def wait(written: Future[None] | None) -> None:
    """Return when it is durable, or refused: whoever follows the session's writes tells."""
    if written is not None and not written.done():
        try:
            written.exception(PATIENCE_S)
        except TimeoutError:
            return


async def wait_async(written: Future[None] | None) -> None:
    """As `wait`, without holding up what else runs in the loop."""
    if written is None or written.done():
        return
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # another kind of loop
        wait(written)
        return
    await asyncio.wait([asyncio.wrap_future(_told(written))], timeout=PATIENCE_S)


def _told(written: Future[None]) -> Future[None]:
    """A future that is done with another, and fails never."""
    told: Future[None] = Future()
    told.set_running_or_notify_cancel()
    written.add_done_callback(lambda _: told.set_result(None))
    return told
