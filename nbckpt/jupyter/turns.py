"""Waits for the time between cells: what changes the namespace from outside a cell runs then.

A front end's messages may come on a thread of their own while a cell runs (JupyterLab from 4.4
on), or between two awaits of a cell. What they ask for is done on the kernel's own loop, so that
it has the thread to which connections and event loops are bound, and no cell beside it.
"""

from __future__ import annotations

import contextvars
import signal
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.jupyter.cell_interrupts import callback
from nbckpt.runtime import clock

Job: TypeAlias = Callable[[], object]
WAITS = "waits until the cell that runs has ended"
MOST_OF_LINE = 60
"""Characters of a cell's first line."""


class Doing(NamedTuple):
    """Something that has the namespace.

    Attributes
    ----------
    what
        The first line of a cell, or what a job does.
    began_at
        Seconds since the epoch.
    cell_id
        The front end's id of a cell; None if it tells none.
    """

    what: str
    began_at: float
    cell_id: str | None = None


class _Waiting(NamedTuple):
    what: str
    job: Job
    context: contextvars.Context


class Turns:
    """Knows when a cell of one shell runs, and does jobs when none does.

    Parameters
    ----------
    is_wanted
        Asked at each cell; once it says no, the shell is left alone.
    changed
        Called when a cell or a job has begun or ended.
    running
        Tells IPython's word of the cell that runs; asked for the one that runs already, whose end
        may be missed: it can come while this is being made, on another thread.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        is_wanted: Callable[[], bool],
        changed: Callable[[], object],
        running: Callable[[], Any] = lambda: None,
    ) -> None:
        self._shell = shell
        self._is_wanted = is_wanted
        self._changed = changed
        self._running = 0  # cells, each within the one before
        self._count = 0
        self._cell: Doing | None = None
        self._job: Doing | None = None
        self._counting = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        self._running_now = running
        self._first = running()
        self._since = clock.now()

    @property
    def doing(self) -> Doing | None:
        """Job or cell that a job given now has to wait for; None if there is none."""
        return self._job or self._already() or self._cell

    def _already(self) -> Doing | None:
        """The cell that ran when this was made, as long as it does."""
        first = self._first
        if first is None or self._running_now() is not first:
            self._first = None
            return None
        return Doing(_first_line(first), self._since, getattr(first, "cell_id", None))

    @property
    def moment(self) -> int | None:
        """Number of cells and jobs that there were; None while there is one."""
        return None if self.doing is not None else self._count

    def take(self, what: str, job: Job) -> None:
        """Do `job` on the main thread when no cell runs.

        What it publishes belongs to the message that is being answered now.
        """
        waiting = _Waiting(what, job, contextvars.copy_context())
        loop = self._loop()
        if loop is None:  # no kernel: the caller's thread is the only one
            self._do(waiting)
            return
        self._waiting.append(waiting)
        loop.add_callback(self._work)

    def do(self, what: str, job: Job) -> None:
        """Do `job` at once, for a caller that has its turn: a message on the main thread."""
        self._do(_Waiting(what, job, contextvars.copy_context()))

    def _loop(self) -> Any:
        """The kernel's main loop (tornado's, whose `add_callback` any thread may call)."""
        return getattr(getattr(self._shell, "kernel", None), "io_loop", None)

    # -- IPython calls these

    @callback
    def _begin(self, info: Any = None) -> None:
        if not self._is_wanted():
            self._let_go()
            return
        with self._counting:
            self._running += 1
            self._count += 1
            cell_id = getattr(info, "cell_id", None)
            self._cell = self._cell or Doing(_first_line(info), clock.now(), cell_id)
        self._changed()

    @callback
    def _end(self, _: object = None) -> None:
        with self._counting:
            self._running = max(0, self._running - 1)
            if self._running:
                return
            self._cell = None
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
        while self._waiting and self.doing is None:
            waiting = self._waiting.popleft()
            waiting.context.run(self._do, waiting)

    def _do(self, waiting: _Waiting) -> None:
        """One job, between the two events that IPython has for what is no cell."""
        self._count += 1
        self._job = Doing(waiting.what, clock.now())
        self._changed()
        is_main = threading.current_thread() is threading.main_thread()
        # Between messages a kernel ignores SIGINT: a rerun could not be interrupted.
        before = signal.getsignal(signal.SIGINT)
        try:
            try:
                if is_main:
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                self._shell.events.trigger("pre_execute")
                waiting.job()
            finally:
                if is_main:
                    signal.signal(signal.SIGINT, before)
        except KeyboardInterrupt:  # after the job's own answer: nothing is left to interrupt
            return
        finally:
            if is_main:  # once more: an interrupt may have come just before it
                signal.signal(signal.SIGINT, before)
            self._shell.events.trigger("post_execute")
            self._job = None
            self._changed()


def _first_line(info: Any) -> str:
    """The first line of a cell that says something; `info` is IPython's."""
    lines = (line.strip() for line in str(getattr(info, "raw_cell", "")).splitlines())
    line = next((line for line in lines if line), "cell")
    return line if len(line) <= MOST_OF_LINE else line[: MOST_OF_LINE - 1] + "…"
