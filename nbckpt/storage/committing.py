"""What a store's threads do: make records durable, and run the jobs that come after.

Somebody waits for each of these, so memory that runs out ends none of them: see `insist`.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, TypeAlias

from nbckpt.errors import StoreError
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
