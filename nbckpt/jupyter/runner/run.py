"""Run a notebook unattended; started again after any death, go on where it was.

The work is the kernel's: it restores each cell or runs it and keeps what it did. The runner sends
the cells, writes the executed notebook as they end, and tells what became of them from the events
in the store.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nbckpt.config.settings import Settings, variable_of
from nbckpt.config.settings_sources import STORE_VARIABLE, settings_from
from nbckpt.errors import UsageError
from nbckpt.jupyter.runner import ipynb, parameters
from nbckpt.jupyter.runner.execution import Execution, Watcher
from nbckpt.jupyter.runner.ipynb import Out
from nbckpt.jupyter.runner.kernel import Kernel
from nbckpt.jupyter.runner.progress import SILENT
from nbckpt.reports.status import strangers_text
from nbckpt.storage.store import Store
from nbckpt.timeline.cell_outcomes import Ending, Outcome


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a run.

    Attributes
    ----------
    out
        The executed notebook.
    store
        Folder of the store.
    cells
        Outcome of each cell that holds code.
    ending
        Ending of the run.
    problem
        Reason for an early end, one sentence; empty if it did not end early.
    unknown
        Parameters that the notebook has no default for.
    took_s
        Seconds, including the kernel's start and end.
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
        """Seconds more that it would have taken without checkpoints."""
        return sum(cell.saved_s for cell in self.cells)

    def as_json(self) -> dict[str, object]:
        """The result for programs."""
        return {
            **dataclasses.asdict(self),
            "saved_s": self.saved_s,
            **{name: str(getattr(self, name)) for name in ("notebook", "out", "store")},
        }


def run(
    notebook: Path,
    *,
    out: Path | None = None,
    values: Mapping[str, object] | None = None,
    fresh: bool = False,
    store: Path | None = None,
    approvals: str | None = None,
    watcher: Watcher = SILENT,
) -> Run:
    """Run `notebook` and return the result; cells that an earlier run finished are restored.

    Parameters
    ----------
    out
        Path of the executed notebook; by default beside `notebook`, as ``NAME.out.ipynb``.
        It is written as cells end, so that it is there after any death.
    values
        Parameters to set, by name.
    watcher
        Receives the progress of the run.
    fresh
        Run every cell, whatever was kept; their results are kept all the same.
    store
        By default ``NBCKPT_STORE``, or ``.nbckpt`` beside `notebook`.
    approvals
        Action of `nbckpt.approve` where nobody has answered yet: ``wait`` or ``fail``; by default
        as the settings say, which is to wait, and to tell the watcher.

    Raises
    ------
    UsageError
        If `notebook` is not a notebook, or `out` cannot be written.
    NotebookError
        If its kernel does not start, or has no nbckpt.
    StoreError, FormatError
        If no store can be opened.
    """
    notebook = Path(notebook).absolute()
    out = _out_of(notebook, out)
    document = ipynb.without_outputs(ipynb.read(notebook))
    unknown = parameters.inject(document, values) if values else ()
    if unknown:
        names = ", ".join(map(repr, unknown))
        watcher.warn(f"set, but without a default in a cell tagged 'parameters': {names}")
    place = _store_of(notebook, store)
    begun = Run(notebook, out, place, unknown=unknown)
    with _opened(place) as opened:
        if strangers := strangers_text(opened):
            watcher.warn(f"{strangers}; none of it stands for a cell of this run")
        kernel = Kernel(document, notebook.parent, _environment(notebook, place, approvals))
        execution = Execution(kernel, Out(document, out), opened, watcher)
        began = time.perf_counter()
        ending, problem = asyncio.run(execution.run(fresh=fresh))
        return replace(
            begun,
            cells=tuple(execution.outcomes),
            ending=ending,
            problem=problem,
            took_s=time.perf_counter() - began,
        )


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


def _environment(notebook: Path, store: Path, approvals: str | None) -> dict[str, str]:
    """Environment variables for the kernel, as a notebook server would set them."""
    asked = {} if approvals is None else {variable_of("approvals"): approvals}
    return {STORE_VARIABLE: str(store), "JPY_SESSION_NAME": str(notebook), **asked}


@contextmanager
def _opened(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    try:
        yield store
    finally:
        store.close()
