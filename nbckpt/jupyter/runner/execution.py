"""One run of a notebook: its cells go to a kernel that restores or keeps each of them."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from nbckpt.errors import NotebookError, UnansweredError
from nbckpt.jupyter.runner.ipynb import Out
from nbckpt.jupyter.runner.kernel import CellError, Kernel, KernelDiedError
from nbckpt.model import Record
from nbckpt.reports.questions import told_by
from nbckpt.runtime import clock
from nbckpt.storage.store import Store
from nbckpt.timeline.cell_outcomes import (
    FINAL,
    Ending,
    Outcome,
    label_of,
    told,
)

LOAD = "__import__('nbckpt').load_ipython_extension(get_ipython())\n"
"""Not ``%load_ext``, after which the notebook's own would say that it was loaded already."""
SKIP = "get_ipython().run_line_magic('nbckpt', 'auto skip --sync')"
FRESH = "get_ipython().run_line_magic('nbckpt', 'auto on --sync --rerun')"
SESSION = "__import__('nbckpt.steps.current_session', fromlist=['session']).session().id"
WAIT = "__import__('nbckpt').wait()"

LOOK_S = 0.5
PATIENCE_S = 0.05


class Watcher(Protocol):
    """Receiver of a run's progress while it goes on."""

    def warn(self, text: str) -> None:
        """Something may not be as it was meant."""

    def start(self, n_cells: int) -> None:
        """The kernel is there, and the first cell is about to run."""

    def begin(self, outcome: Outcome) -> None:
        """A cell begins."""

    def progress(self, done: int, total: int) -> None:
        """A loop of the cell has finished some of its items; `total` is -1 if it is unknown."""

    def end(self, outcome: Outcome) -> None:
        """The cell ended."""


@dataclass
class Execution:
    """One run of a notebook, from its kernel's start to its end.

    Attributes
    ----------
    out
        The executed notebook, whose cells get their outputs.
    outcomes
        Of the cells that hold code; those that were not reached are ``waiting``.
    """

    kernel: Kernel
    out: Out
    store: Store
    watcher: Watcher
    session: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    interrupts: int = 0

    def __post_init__(self) -> None:
        cells = [c for c in self.out.document.cells if _has_code(c)]
        self.outcomes = [
            Outcome(i, label_of(cell.source, cell.id), cell.id) for i, cell in enumerate(cells, 1)
        ]

    async def run(self, *, fresh: bool) -> tuple[Ending, str]:
        """Run the cells; return the ending, and the reason for an early end in one sentence.

        Raises
        ------
        NotebookError
            If the kernel does not start, or has no nbckpt.
        """
        self._listen_for_signals()
        try:
            await self._prepare(FRESH if fresh else SKIP)
            ending, problem = await self._run_cells()
            if ending not in ("died", "interrupted"):
                problem = problem or await self._wait_for_store()
        finally:
            await self.kernel.stop(now=self.interrupts > 1)
        self.out.write()
        self.store.refresh()
        self.outcomes = [self._outcome_by_events(number) for number in range(len(self.outcomes))]
        return ("failed" if ending == "done" and problem else ending), problem

    async def _prepare(self, mode: str) -> None:
        await self.kernel.start()
        self.store.refresh()
        try:
            self.session = str(await self.kernel.ask(LOAD + mode, SESSION))
        except NotebookError as error:
            message = (
                f"nbckpt cannot be loaded in the notebook's kernel: {error}; "
                "is it installed in the environment of that kernel?"
            )
            raise NotebookError(message) from error

    async def _wait_for_store(self) -> str:
        """Wait for the disk; return one clause on a failure to write, empty if all is written."""
        try:
            await self.kernel.ask("", WAIT)
        except NotebookError as error:
            return f"not all could be kept: {error}"
        return ""

    # -- cells

    async def _run_cells(self) -> tuple[Ending, str]:
        self.watcher.start(len(self.outcomes))
        code = (i for i, cell in enumerate(self.out.document.cells) if _has_code(cell))
        for number, index in enumerate(code):
            if self.interrupts:
                return "interrupted", self._sentence(number, "interrupted")
            ending, problem = await self._run_cell(number, index)
            self.out.changed()
            if ending != "done":
                return ending, problem
        return "done", ""

    async def _run_cell(self, number: int, index: int) -> tuple[Ending, str]:
        waiting = self.outcomes[number]
        self.watcher.begin(waiting)
        meanwhile = asyncio.ensure_future(self._meanwhile())
        began_at, began = clock.now(), time.perf_counter()
        ending: Ending = "done"
        problem = ""
        try:
            await self.kernel.execute(self.out.document.cells[index], index)
        except CellError as error:
            ending = "interrupted" if self.interrupts else _ending_of(error)
            problem = str(error)
        except KernelDiedError as error:
            ending = "interrupted" if self.interrupts else "died"
            problem = str(error)
        took_s = time.perf_counter() - began
        meanwhile.cancel()
        self.outcomes[number] = replace(waiting, ending=ending, began_at=began_at, took_s=took_s)
        await self._wait_for_events(number)
        self.outcomes[number] = self._outcome_by_events(number)
        self.watcher.end(self.outcomes[number])
        return ending, self._sentence(number, ending, problem)

    def _sentence(self, number: int, ending: Ending, problem: str = "") -> str:
        cell = self.outcomes[number]
        where = f"cell {cell.number} of {len(self.outcomes)} ({cell.label!r})"
        again = "run the same command again, and it goes on there"
        match ending:
            case "unanswered":
                return f"{where} stopped: {problem.partition(': ')[2]}"
            case "failed":
                return f"{where} failed: {problem}"
            case "died":
                return f"the kernel {problem} in {where}; {again}"
            case "interrupted":
                return f"interrupted in {where}; {again}"
        return ""

    def _outcome_by_events(self, number: int) -> Outcome:
        """The outcome of a cell, with what the events of its time tell."""
        outcome = self.outcomes[number]
        return told(outcome, self._events(number)) if outcome.began_at else outcome

    def _events(self, number: int) -> list[Record]:
        began_at = self.outcomes[number].began_at
        later = (o.began_at for o in self.outcomes[number + 1 :] if o.began_at)
        until = next(later, math.inf)
        return [
            e
            for e in self.store.events.chosen(since=began_at)
            if e["at"] < until and e.get("session") == self.session
        ]

    async def _wait_for_events(self, number: int) -> None:
        """Return when the cell's last event is there: it may come a moment after the answer."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self.store.refresh()
            if any(e["event"] in FINAL for e in self._events(number)):
                return
            await asyncio.sleep(PATIENCE_S / 10)

    async def _meanwhile(self) -> None:
        """While a cell runs, tell how far its loops came, and write what is not written yet."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.out.write_if_due()
            for record in self.store.refresh():
                if text := told_by(record, self.store, self.session):
                    self.watcher.warn(text)
                if record.get("session") == self.session and "progress" in record:
                    _, done, total = record["progress"]
                    self.watcher.progress(done, total)

    # -- signals

    def _listen_for_signals(self) -> None:
        """Let Ctrl-C, and what ends a batch job, interrupt the cell instead of the runner."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            # Not there on Windows, nor outside of the main thread.
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(name, self._interrupted)

    def _interrupted(self) -> None:
        self.interrupts += 1
        stopping = self.kernel.interrupt() if self.interrupts == 1 else self.kernel.kill()
        self._stopping = asyncio.ensure_future(stopping)


def _ending_of(error: CellError) -> Ending:
    return "unanswered" if str(error).startswith(f"{UnansweredError.__name__}:") else "failed"


def _has_code(cell: Any) -> bool:
    return (
        cell.cell_type == "code"
        and bool(cell.source.strip())
        and "skip-execution" not in cell.metadata.get("tags", [])
    )
