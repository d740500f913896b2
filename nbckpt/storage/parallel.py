"""Do the same for many pieces of memory or disk in several threads, and say whose turn it is.

Hashing and disk calls let go of the interpreter, so two threads do nearly twice as much. Threads
live no longer than one call: nothing to share with forked children, or to end at the exit.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

MOST_THREADS = 4  # the disk cache and the memory are not faster with more


def processors() -> int:
    """How many this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Stopped(Exception):  # noqa: N818 - no error: another thread has the error
    """Another thread failed, so this one's turn will not come."""


class Turns:
    """Lets threads do a part of their work one by one, in the order of their pieces."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0
        self._stopped = False

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        """A block that runs when those of all smaller numbers have run.

        Raises
        ------
        Stopped
            If one of those will never run.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._next == number)
            if self._stopped:
                raise Stopped
        yield
        with self._changed:
            self._next += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def each(
    count: int,
    worker: Callable[[], Callable[[int], None]],
    *,
    turns: Turns | None = None,
    threads: int | None = None,
) -> None:
    """Return when all numbers below `count` have been worked on.

    Parameters
    ----------
    worker
        Makes what one thread does with a number; it may hold scratch memory of that thread's own.
    turns
        That the work takes; stopped when a thread fails.
    threads
        The caller's own among them; None: as many as pay.

    Raises
    ------
    BaseException
        The first error of a thread. No thread is left then.
    """
    wanted = threads or min(MOST_THREADS, processors())
    run = _Run(count, worker, turns or Turns())
    helpers = run.start(min(wanted, count) - 1)
    run.work()
    for helper in helpers:
        run.join(helper)
    if run.errors:
        raise run.errors[0]


class _Run:
    def __init__(
        self, count: int, worker: Callable[[], Callable[[int], None]], turns: Turns
    ) -> None:
        self.errors: list[BaseException] = []
        self._count = count
        self._worker = worker
        self._turns = turns
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def start(self, count: int) -> list[threading.Thread]:
        """Helpers that began; none where the interpreter is exiting and allows no new thread."""
        helpers: list[threading.Thread] = []
        with suppress(RuntimeError):
            for _ in range(count):
                helper = threading.Thread(target=self.work, name="nbckpt-chunks", daemon=True)
                helper.start()
                helpers.append(helper)
        return helpers

    def work(self) -> None:
        try:
            do = self._worker()
            while not self.errors:
                with self._lock:
                    number = next(self._numbers)
                if number >= self._count:
                    return
                do(number)
        except Stopped:
            pass  # whoever stopped the others has the error
        except BaseException as error:
            self._fail(error)

    def join(self, helper: threading.Thread) -> None:
        """Wait also through an interrupt: the helper uses memory of the caller's."""
        while helper.is_alive():
            try:
                helper.join()
            except BaseException as error:
                self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.errors.append(error)
        self._turns.stop()
