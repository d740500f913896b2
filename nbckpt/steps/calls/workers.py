"""Workers for the items of a map: the caller, threads, or tasks of an event loop.

Notes
-----
The threads are daemons and not those of an executor, which the interpreter's exit would wait for:
an interrupt returns at once, and what a thread still does ends by itself or with the process.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from queue import SimpleQueue

from nbckpt.steps.calls.outcomes import Outcome, Task
from nbckpt.steps.loops.clock import Clock


def one_by_one(
    tasks: deque[Task], run: Callable[[Task], Outcome]
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each task, done right here."""
    while tasks:
        yield run(tasks.popleft())


def in_threads(
    tasks: deque[Task], run: Callable[[Task], Outcome], workers: int
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each task as it comes. When this is closed, no more are begun."""
    done: SimpleQueue[Outcome | None] = SimpleQueue()
    is_left = threading.Event()

    def work() -> None:
        try:
            while not is_left.is_set():
                try:
                    task = tasks.popleft()
                except IndexError:
                    return
                try:
                    done.put(run(task))
                except BaseException as error:  # `exit()`, say: whoever maps gets it
                    done.put(Outcome(task, error=error))
        finally:
            done.put(None)

    n_working = min(workers, len(tasks))
    for number in range(n_working):
        target, name = copy_context().run, f"map-{number}"
        threading.Thread(target=target, args=[work], name=name, daemon=True).start()
    try:
        while n_working:
            outcome = done.get()
            if outcome is None:
                n_working -= 1
            else:
                yield outcome
    finally:
        is_left.set()


async def awaited(
    tasks: deque[Task],
    run: Callable[[Task, Clock], Awaitable[None]],
    new_clock: Callable[[], Clock],
    workers: int,
) -> None:
    """Do all, so many at once. If this is cancelled, all in work are, and have ended then."""

    async def work() -> None:
        clock = new_clock()
        while tasks:
            await run(tasks.popleft(), clock)

    working = [asyncio.ensure_future(work()) for _ in range(min(workers, len(tasks)))]
    try:
        await asyncio.gather(*working)
    except BaseException:
        for one in working:
            one.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        raise
