"""Waits for the time between cells: what changes the namespace from outside a cell runs then.

A front end's messages may come on a thread of their own while a cell runs (JupyterLab from 4.4
on), or between two awaits of a cell. What they ask for is done on the kernel's own loop, so that
it has the thread to which connections and event loops are bound, and no cell beside it.
"""

from __future__ import annotations

import contextvars
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from IPython.core.interactiveshell import InteractiveShell

Job: TypeAlias = Callable[[], object]
WAITS = "waits until the cell that runs has ended"


class Turns:
    """Knows when a cell of one shell runs, and does jobs when none does.

    Begin it inside a cell: that cell counts as running.

    Parameters
    ----------
    is_wanted
        Asked at each cell; once it says no, the shell is left alone.
    changed
        Called when a cell has begun or ended.

    Attributes
    ----------
    began_at
        When the running cell began, in seconds since the epoch; None if none runs.
    """

    def __init__(
        self, shell: InteractiveShell, is_wanted: Callable[[], bool], changed: Callable[[], object]
    ) -> None:
        self._shell = shell
        self._is_wanted = is_wanted
        self._changed = changed
        self._running = 1
        self.began_at: float | None = time.time()
        self._counting = threading.Lock()
        self._waiting: deque[tuple[contextvars.Context, Job]] = deque()
        self._is_at_work = False
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    @property
    def is_taken(self) -> bool:
        """Whether a job that is given now has to wait: for a cell, or for another job."""
        return self.began_at is not None or self._is_at_work

    def take(self, job: Job) -> None:
        """Do `job` on the main thread when no cell runs.

        What it publishes belongs to the message that is being answered now.
        """
        loop = self._loop()
        if loop is None:  # no kernel: the caller's thread is the only one
            self._do(job)
            return
        self._waiting.append((contextvars.copy_context(), job))
        loop.add_callback(self._work)

    def _loop(self) -> Any:
        """The kernel's main loop (tornado's, whose `add_callback` any thread may call)."""
        return getattr(getattr(self._shell, "kernel", None), "io_loop", None)

    # -- IPython calls these

    def _begin(self, _: object = None) -> None:
        if not self._is_wanted():
            self._let_go()
            return
        with self._counting:
            self._running += 1
            self.began_at = self.began_at or time.time()
        self._changed()

    def _end(self, _: object = None) -> None:
        with self._counting:
            self._running = max(0, self._running - 1)
            if self._running:
                return
            self.began_at = None
        loop = self._loop()
        if self._waiting and loop is not None:
            loop.add_callback(self._work)
        self._changed()

    def _let_go(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._end)

    # -- on the loop

    def _work(self) -> None:
        """Do what waits; if a cell runs, its end comes back here."""
        while self._waiting and not self._running and not self._is_at_work:
            context, job = self._waiting.popleft()
            self._is_at_work = True
            try:
                context.run(self._do, job)
            finally:
                self._is_at_work = False

    def _do(self, job: Job) -> None:
        """One job, between the two events that IPython has for what is no cell."""
        interruptible = threading.current_thread() is threading.main_thread()
        # Between messages a kernel ignores SIGINT: a rerun could not be interrupted.
        before = signal.signal(signal.SIGINT, signal.default_int_handler) if interruptible else None
        self._shell.events.trigger("pre_execute")
        try:
            job()
        except KeyboardInterrupt:  # after the job's own answer: nothing is left to interrupt
            return
        finally:
            if interruptible:
                signal.signal(signal.SIGINT, before)
            self._shell.events.trigger("post_execute")
