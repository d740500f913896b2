"""Run a notebook unattended; started again after any death, go on where it was.

The work is the kernel's: it restores each cell or runs it and keeps what it did. The runner sends
the cells, writes the executed notebook after each, and tells what became of them from the events
in the store.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from nbckpt import ipynb, parameters
from nbckpt.config import STORE_VARIABLE, Settings, settings_from
from nbckpt.errors import NotebookError, UsageError
from nbckpt.kernel import CellError, Kernel, KernelDiedError
from nbckpt.model import Record
from nbckpt.outcomes import Ending, Outcome, label_of, outcome_of
from nbckpt.storage.store import Store

LOAD = "__import__('nbckpt').load_ipython_extension(get_ipython())\n"
"""Not ``%load_ext``, after which the notebook's own would say that it was loaded already."""
SKIP = "get_ipython().run_line_magic('nbckpt', 'auto skip --sync')"
FRESH = "get_ipython().run_line_magic('nbckpt', 'auto on --sync')"
SESSION = "__import__('nbckpt.current', fromlist=['session']).session().id"
WAIT = "__import__('nbckpt').wait()"

LOOK_S = 0.5
PATIENCE_S = 0.05
WRITE_SHARE = 0.05
"""Of the time of a run, what writing the notebook after a cell may take."""


class Watcher(Protocol):
    """What is told of a run while it goes on."""

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


@dataclass(frozen=True, slots=True)
class Run:
    """What a run did.

    Attributes
    ----------
    out
        The executed notebook.
    store
        Folder of the store.
    cells
        Of those that hold code, what became of each.
    ending
        How the run ended.
    problem
        What ended it early, one sentence; empty if nothing did.
    unknown
        Parameters that the notebook has no default for.
    took_s
        Seconds from the first cell to the last.
    """

    notebook: Path
    out: Path
    store: Path
    cells: tuple[Outcome, ...] = ()
    ending: Ending = "done"
    problem: str = ""
    unknown: tuple[str, ...] = ()
    took_s: float = 0.0

    @property
    def saved_s(self) -> float:
        """What it would have taken longer without checkpoints."""
        return sum(cell.saved_s for cell in self.cells)


def run(
    notebook: Path,
    *,
    out: Path | None = None,
    values: Mapping[str, object] | None = None,
    fresh: bool = False,
    store: Path | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """What a run of `notebook` did; cells that an earlier one finished are restored.

    Parameters
    ----------
    out
        Where the executed notebook goes; by default beside `notebook`, as ``NAME.out.ipynb``.
        It is written after each cell, so that it is there after any death.
    values
        Parameters to set, by name.
    fresh
        Run every cell, whatever was kept; what they do is kept all the same.
    store
        By default ``NBCKPT_STORE``, or ``.nbckpt`` beside `notebook`.

    Raises
    ------
    UsageError
        If `notebook` is none, or `out` cannot be.
    NotebookError
        If its kernel does not start, or has no nbckpt.
    StoreError, FormatError
        If there is no store to be had.
    """
    notebook = Path(notebook).absolute()
    out = _out_of(notebook, out)
    document = ipynb.without_outputs(ipynb.read(notebook))
    unknown = parameters.inject(document, values) if values else ()
    if unknown and watcher:
        names = ", ".join(map(repr, unknown))
        watcher.warn(f"set, but without a default in a cell tagged 'parameters': {names}")
    place = _store_of(notebook, store)
    begun = Run(notebook, out, place, unknown=unknown)
    with _opened(place) as opened:
        runner = _Runner(begun, document, opened, watcher)
        return asyncio.run(runner.run(FRESH if fresh else SKIP))


def _out_of(notebook: Path, out: Path | None) -> Path:
    out = notebook.with_name(f"{notebook.stem}.out.ipynb") if out is None else Path(out).absolute()
    if out.is_dir():
        message = f"{out} is a folder: name the file that the executed notebook goes to"
        raise UsageError(message)
    if not out.parent.is_dir():
        message = f"there is no folder {out.parent}: make it, or name another place with -o"
        raise UsageError(message)
    return out


def _store_of(notebook: Path, store: Path | None) -> Path:
    if store is not None:
        return Path(store).absolute()
    chosen = settings_from().store
    return notebook.with_name(chosen.name) if chosen == Settings().store else chosen.absolute()


@contextmanager
def _opened(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    try:
        yield store
    finally:
        store.close()


@dataclass
class _Runner:
    """One run, from the kernel's start to its end."""

    run_: Run
    document: Any
    store: Store
    watcher: Watcher | None
    kernel: Kernel = field(init=False)
    session: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    interrupts: int = 0
    _written_at: float = 0.0
    _write_cost_s: float = 0.0

    def __post_init__(self) -> None:
        run = self.run_
        environment = {STORE_VARIABLE: str(run.store), "JPY_SESSION_NAME": str(run.notebook)}
        self.kernel = Kernel(self.document, run.notebook.parent, environment)
        cells = [c for c in self.document.cells if _has_code(c)]
        self.outcomes = [
            Outcome(i, label_of(cell.source, cell.id), cell.id) for i, cell in enumerate(cells, 1)
        ]

    async def run(self, mode: str) -> Run:
        began = time.perf_counter()
        self._listen_for_signals()
        try:
            await self._prepare(mode)
            ending, problem = await self._run_cells()
            if ending not in ("died", "interrupted"):
                problem = problem or await self._wait_for_store()
        finally:
            await self.kernel.stop(now=self.interrupts > 1)
        self._write()
        return replace(
            self.run_,
            cells=tuple(self.outcomes),
            ending=ending if ending != "done" or not problem else "failed",
            problem=problem,
            took_s=time.perf_counter() - began,
        )

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
        """What of the run could not be written; empty if all was."""
        try:
            await self.kernel.ask("", WAIT)
        except NotebookError as error:
            return f"not all could be kept: {error}"
        return ""

    # -- cells

    async def _run_cells(self) -> tuple[Ending, str]:
        if self.watcher:
            self.watcher.start(len(self.outcomes))
        code = (i for i, cell in enumerate(self.document.cells) if _has_code(cell))
        for number, index in enumerate(code):
            if self.interrupts:
                return "interrupted", self._sentence(number, "interrupted")
            ending, problem = await self._run_cell(number, index)
            self._write_if_due()
            if ending != "done":
                return ending, problem
        return "done", ""

    async def _run_cell(self, number: int, index: int) -> tuple[Ending, str]:
        waiting = self.outcomes[number]
        if self.watcher:
            self.watcher.begin(waiting)
        following = asyncio.ensure_future(self._follow_loops())
        began_at, began = time.time(), time.perf_counter()
        ending: Ending = "done"
        problem = ""
        try:
            await self.kernel.execute(self.document.cells[index], index)
        except CellError as error:
            ending = "interrupted" if self.interrupts else "failed"
            problem = str(error)
        except KernelDiedError as error:
            ending = "interrupted" if self.interrupts else "died"
            problem = str(error)
        took_s = time.perf_counter() - began
        following.cancel()
        outcome = outcome_of(waiting, await self._events(began_at), ending, took_s)
        self.outcomes[number] = outcome
        if self.watcher:
            self.watcher.end(outcome)
        return ending, self._sentence(number, ending, problem)

    def _sentence(self, number: int, ending: Ending, problem: str = "") -> str:
        cell = self.outcomes[number]
        where = f"cell {cell.number} of {len(self.outcomes)} ({cell.label!r})"
        again = "run the same command again, and it goes on there"
        match ending:
            case "failed":
                return f"{where} failed: {problem}"
            case "died":
                return f"the kernel {problem} in {where}; {again}"
            case "interrupted":
                return f"interrupted in {where}; {again}"
        return ""

    async def _events(self, since: float) -> list[Record]:
        """What the session noted since then; its last note may come a moment after its answer."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.store.refresh()
            found = [
                e
                for e in self.store.records("event")
                if e.get("session") == self.session and e["at"] >= since
            ]
            if any(e["event"] != "continued" for e in found) or time.monotonic() > deadline:
                return found
            await asyncio.sleep(PATIENCE_S / 10)

    async def _follow_loops(self) -> None:
        """Tell the watcher how far the loops of the running cell came."""
        while self.watcher:
            await asyncio.sleep(LOOK_S)
            for record in self.store.refresh():
                if record.get("session") == self.session and record.get("progress"):
                    _, done, total = record["progress"]
                    self.watcher.progress(done, total)

    # -- the executed notebook

    def _write_if_due(self) -> None:
        """Write it, unless that took long the last time and was not long ago."""
        since = time.monotonic() - self._written_at
        if self._write_cost_s <= WRITE_SHARE * since:
            self._write()

    def _write(self) -> None:
        began = time.monotonic()
        ipynb.write(self.document, self.run_.out)
        self._written_at = time.monotonic()
        self._write_cost_s = self._written_at - began

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


def _has_code(cell: Any) -> bool:
    return (
        cell.cell_type == "code"
        and bool(cell.source.strip())
        and "skip-execution" not in cell.metadata.get("tags", [])
    )
