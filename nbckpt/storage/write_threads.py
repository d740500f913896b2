"""Work of a store's threads: make records durable, and run the jobs that come after.

Somebody waits for each of these, so memory that runs out ends none of them: see `insist`.
"""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import NamedTuple, TypeAlias

from nbckpt.errors import StoreError
from nbckpt.runtime.interrupts import held
from nbckpt.storage.locks import Holds
from nbckpt.storage.workers import Worker
from nbckpt.storage.writer import Writer

Job: TypeAlias = Callable[[], None]
PAUSE_S = 0.01


class Commit(NamedTuple):
    """Records to make durable, and who waits for that.

    Attributes
    ----------
    holds
        To be let go of then.
    """

    bodies: list[str]
    durable: bool
    done: Future[None]
    holds: int


class Queued(NamedTuple):
    """A job, and the commits that it comes after."""

    job: Job
    after: list[Future[None]]
    done: Future[None]


def committing(writer: Writer, holds: Holds) -> Callable[[list[Commit]], None]:
    """Work that makes all commits that wait durable with one sync."""

    def commit_all(commits: list[Commit]) -> None:
        problem: Exception | None = None
        bodies: list[str] = []
        insist(lambda: bodies.extend([body for commit in commits for body in commit.bodies]))
        try:
            insist(lambda: writer.take(bodies))
            writer.commit([], durable=any(commit.durable for commit in commits))
        except MemoryError as error:
            problem = StoreError(f"memory ran out while {writer.journal.path} was written")
            problem.__cause__ = error
        except Exception as error:  # whoever holds the future gets it
            problem = error
        owes = problem is not None
        insist(lambda: holds.owe(owes=owes))
        for commit in commits:
            insist(lambda n=commit.holds: holds.exit(n))  # type: ignore[misc]
            insist(lambda done=commit.done: _end_promise(done, problem))  # type: ignore[misc]

    return commit_all


def _end_promise(done: Future[None], problem: Exception | None) -> None:
    if done.done():  # a try before had the memory for this, and not for what follows
        return
    if problem is None:
        done.set_result(None)
    else:
        done.set_exception(problem)


class Writing:
    """A block within which what is in the store may be relied upon, and no interrupt comes.

    A class, and no generator: a cell enters a dozen of them.

    Parameters
    ----------
    depths
        ``depth``: in how many such blocks this thread is.
    until_committed
        Unless it is in another one, hold on at the end, until the next durable commit.
    """

    __slots__ = ("_depth", "_depths", "_held", "_holds", "_until_committed")

    def __init__(self, holds: Holds, depths: threading.local, *, until_committed: bool) -> None:
        self._holds = holds
        self._depths = depths
        self._until_committed = until_committed
        self._held = held()

    def __enter__(self) -> None:
        self._held.__enter__()
        try:
            self._depth = getattr(self._depths, "depth", 0)
            self._holds.enter()
            self._depths.depth = self._depth + 1
        except BaseException as error:
            self._held.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._until_committed and self._depth == 0:
                self._holds.hold_on()
        finally:
            try:
                insist(self._holds.exit)
                self._depths.depth = self._depth
            finally:
                self._held.__exit__(kind, error, trace)


def insist(act: Callable[[], object]) -> None:
    """Do what somebody waits for, as soon as there is memory for it."""
    while True:
        try:
            act()
        except MemoryError:
            time.sleep(PAUSE_S)
        else:
            return


def run_jobs(queued: list[Queued]) -> None:
    """Run each job after what was queued before it; its error goes to who waits for it."""
    for job, after, done in queued:
        concurrent.futures.wait(after)
        problem: Exception | None = None
        try:
            job()
        except Exception as error:
            problem = error
        insist(lambda ended=done, why=problem: _end_promise(ended, why))  # type: ignore[misc]


def end(commits: Worker[Commit], jobs: Worker[Queued], writer: Writer, holds: Holds) -> None:
    """Finish the commits; also when the store is forgotten, or the interpreter exits."""
    for queued in jobs.drop():
        queued.done.set_exception(StoreError("the interpreter ended before this job began"))
    jobs.close()
    commits.close()
    writer.close()
    holds.close()
