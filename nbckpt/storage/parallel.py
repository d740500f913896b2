"""Do the same for many pieces of memory or disk in several threads.

Hashing and disk calls let go of the interpreter, so two threads do nearly twice as much. Threads
live no longer than one call: nothing to share with forked children, or to end at the exit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

MOST_THREADS = 4  # the disk cache and the memory are not faster with more


def threads_for(count: int, *, enough: int) -> int:
    """Number of threads worth using for `count` pieces: one for fewer than `enough`."""
    if count < enough:
        return 1
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(MOST_THREADS, processors, count)


class Pieces:
    """The numbers of the pieces, each given to one thread; and what became of the threads."""

    def __init__(self, count: int, when_failed: Callable[[], None]) -> None:
        self.errors: list[BaseException] = []
        self._count = count
        self._when_failed = when_failed
        self._next = 0
        self._lock = threading.Lock()

    def take(self) -> int | None:
        """The next number; None if none is left, or a thread failed."""
        with self._lock:
            if self.errors or self._next == self._count:
                return None
            self._next += 1
            return self._next - 1

    def fail(self, error: BaseException) -> None:
        """Give out no more numbers."""
        self.errors.append(error)
        self._when_failed()


def each(
    count: int,
    work: Callable[[Pieces], None],
    *,
    threads: int,
    when_failed: Callable[[], None] = lambda: None,
) -> None:
    """Return when all pieces have been worked on.

    Parameters
    ----------
    work
        Takes pieces until none is left; called once in each thread, the caller's own among them.
    when_failed
        Wakes threads that wait for another one, when that failed.

    Raises
    ------
    BaseException
        The first error of a thread. No thread is left then.
    """
    pieces = Pieces(count, when_failed)

    def run() -> None:
        try:
            work(pieces)
        except BaseException as error:  # raised again below
            pieces.fail(error)

    helpers = _start(run, threads - 1)
    run()
    for helper in helpers:
        # Also through an interrupt: the helper uses memory of the caller's.
        while helper.is_alive():
            try:
                helper.join()
            except BaseException as error:
                pieces.fail(error)
    if pieces.errors:
        raise pieces.errors[0]


def _start(run: Callable[[], None], count: int) -> list[threading.Thread]:
    """Helpers that began; none where the interpreter is exiting and allows no new thread."""
    helpers: list[threading.Thread] = []
    with suppress(RuntimeError):
        for _ in range(count):
            helper = threading.Thread(target=run, name="nbckpt-chunks", daemon=True)
            helper.start()
            helpers.append(helper)
    return helpers
