"""Queue of a store's writes: commits in the order they were given, and jobs that come after."""

from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.runtime.interrupts import error_of, result_of, whole
from nbckpt.storage.folder import ROOMS
from nbckpt.storage.journal import Entry
from nbckpt.storage.locks import Holds
from nbckpt.storage.private_folder import keep_private
from nbckpt.storage.signers import Signers
from nbckpt.storage.workers import Worker
from nbckpt.storage.write_threads import Commit, Job, Queued, committing, end, insist, run_jobs
from nbckpt.storage.writer import Writer

BACKGROUND_NICENESS = 10


class WriteQueue:
    """Commits and jobs of one session, and the threads that do them.

    The threads end when nobody holds the queue any more; what is queued holds it.

    Parameters
    ----------
    path
        Folder of the store.
    keeps
        The store: a fork finds it, and lets go of its files, as long as something is queued.

    Attributes
    ----------
    is_closed
        Whether nothing is taken any more.
    """

    def __init__(
        self, path: Path, writer: Writer, holds: Holds, signers: Signers, *, keeps: object
    ) -> None:
        self.is_closed = False
        self._keeps = keeps
        self._path = path
        self._writer = writer
        self._holds = holds
        self._signers = signers
        self._has_prepared = False
        self._open: dict[Future[None], None] = {}  # not done, or failed and not yet raised
        self._commits: Worker[Commit] = Worker("nbckpt-commit", committing(writer, holds))
        self._jobs: Worker[Queued] = Worker(
            "nbckpt-background", run_jobs, at_most=1, niceness=BACKGROUND_NICENESS
        )
        self._ended = weakref.finalize(self, end, self._commits, self._jobs, writer, holds)

    def prepare(self) -> None:
        """Have a key to sign with and a private folder, before the first write.

        Raises
        ------
        StoreError
            If the queue is closed.
        """
        self._refuse_if_closed()
        if not self._has_prepared:
            self._has_prepared = True
            self._signers.prepare()
            with suppress(OSError):  # the write itself says what the disk has against it
                keep_private(self._path, ROOMS)

    def append(self, bodies: list[str], *, durable: bool = True) -> Future[None]:
        """A future that is done when these encoded records, and all before them, are durable."""
        self.prepare()
        holds = self._holds
        done: Future[None] = Future()
        let_go = holds.exit
        holds.enter()
        try:
            self._promise(done)
            count = 1 + (holds.take_over() if durable else 0)
            self._commits.submit(Commit(bodies, durable, done, count))
        except BaseException:
            insist(let_go)
            self._open.pop(done, None)
            raise
        return done

    @whole
    def in_background(self, job: Job) -> Future[None]:
        """A future of `job`, which runs in a slow thread after what was queued before it.

        Commits do not wait for jobs. At the interpreter's exit, jobs that did not begin are
        dropped.
        """
        self._refuse_if_closed()
        after, done = list(self._open), Future[None]()
        try:
            self._promise(done)
            self._jobs.submit(Queued(job, after, done))
        except BaseException:
            self._open.pop(done, None)
            raise
        return done

    @whole
    def wait(self, timeout_s: float | None = None) -> None:
        """Return when all that is queued is done and durable: see `Store.wait`."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._wait_for(list(self._open), timeout_s, deadline)
        if self._writer.journal.waiting_bytes and not self.is_closed:  # written, and not synced
            self._wait_for([self.append([])], timeout_s, deadline)

    def _wait_for(
        self, queued: list[Future[None]], timeout_s: float | None, deadline: float | None
    ) -> None:
        for done in queued:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                error_of(done, left_s)
            except TimeoutError as error:
                unfinished = sum(not one.done() for one in queued)
                message = (
                    f"still writing to {self._path} after {timeout_s} s: {unfinished} to go;"
                    " wait again"
                )
                raise StoreError(message) from error
        self._raise_failure(queued)

    @whole
    def settle(self) -> None:
        """Try to write what waits: it would keep a prune away."""
        if self._has_prepared and not self.is_closed:
            with suppress(StoreError):
                result_of(self.append([]))

    @whole
    def unwritten(self) -> list[Entry]:
        """Records of this session that the disk refuses, and that are tried again."""
        records = enumerate(self._writer.unwritten)
        return [Entry(0.0, self._writer.name, n, record) for n, record in records]

    @whole
    def close(self) -> None:
        """Finish what is queued and end the threads.

        Raises
        ------
        NbckptError
            The first failure that `wait` did not raise.
        """
        if self.is_closed:
            return
        self._jobs.close()  # their records are still taken
        self.is_closed = True
        self._ended()
        self._raise_failure(list(self._open))

    def abandon(self) -> None:
        """Leave what is queued to the parent process, in a forked child."""
        self._ended.detach()
        self._writer.close()
        self._holds.close()

    def _promise(self, done: Future[None]) -> None:
        # Running from the start: what is queued cannot be taken back.
        done.set_running_or_notify_cancel()
        self._open[done] = None
        done.add_done_callback(self._kept)

    def _kept(self, done: Future[None]) -> None:
        if done.exception() is None:
            self._open.pop(done, None)

    def _raise_failure(self, done: Sequence[Future[None]]) -> None:
        errors = [error for future in done if (error := future.exception())]
        for future in done:
            self._open.pop(future, None)
        if errors:
            raise errors[0]

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            message = f"the store {self._path} is closed; open it again"
            raise StoreError(message)
