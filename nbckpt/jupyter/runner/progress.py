"""Display of a run while it goes on: a bar on a terminal, else a line for each cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from nbckpt.text.escape import on_a_line
from nbckpt.text.units import duration_text
from nbckpt.timeline.cell_outcomes import WORTH_TELLING_S, Outcome

if TYPE_CHECKING:
    from rich.progress import Progress

LABEL_WIDTH = 24


@contextmanager
def watching(stream: TextIO) -> Iterator[Lines | Bar]:
    """A watcher that writes to `stream`."""
    if not stream.isatty():
        yield Lines(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loop]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=Console(file=stream, highlight=False),
        transient=True,
    ) as progress:
        yield Bar(progress)


class Silent:
    """Nothing is shown."""

    def warn(self, text: str) -> None:
        """Say nothing."""

    def start(self, n_cells: int) -> None:
        """Say nothing."""

    def begin(self, outcome: Outcome) -> None:
        """Say nothing."""

    def progress(self, done: int, total: int) -> None:
        """Say nothing."""

    def end(self, outcome: Outcome) -> None:
        """Say nothing."""


SILENT = Silent()


class Lines:
    """A line for each cell when it has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._n_cells = 0

    def warn(self, text: str) -> None:
        """Write the warning."""
        print(f"nbckpt: {on_a_line(text)}", file=self._stream, flush=True)

    def start(self, n_cells: int) -> None:
        """Remember how many there are."""
        self._n_cells = n_cells

    def begin(self, outcome: Outcome) -> None:
        """Nothing: a line is written when the cell ends."""

    def progress(self, done: int, total: int) -> None:
        """Nothing: a log is no place for what is over a moment later."""

    def end(self, outcome: Outcome) -> None:
        """Write the line."""
        print(_line(outcome, self._n_cells), file=self._stream, flush=True)


class Bar:
    """Progress bar of a run; the table at its end tells the rest."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = progress.add_task("starting the kernel", total=None, loop="")

    def warn(self, text: str) -> None:
        """Write the warning above the bar."""
        text = f"nbckpt: {on_a_line(text)}"
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def start(self, n_cells: int) -> None:
        """Know the bar's length."""
        self._progress.update(self._task, total=n_cells, completed=0)

    def begin(self, outcome: Outcome) -> None:
        """Name the cell that runs."""
        self._progress.update(self._task, description=on_a_line(outcome.label), loop="")

    def progress(self, done: int, total: int) -> None:
        """Tell how far its loop is."""
        loop = f"item {done} of {total}" if total >= 0 else f"item {done}"
        self._progress.update(self._task, loop=loop)

    def end(self, outcome: Outcome) -> None:
        """Count the cell."""
        self._progress.update(self._task, completed=outcome.number, loop="")


def _line(outcome: Outcome, n_cells: int) -> str:
    width = len(str(n_cells))
    worth = outcome.saved_s >= WORTH_TELLING_S
    saved = f", saved {duration_text(outcome.saved_s)}" if worth else ""
    label = f"{on_a_line(outcome.label):{LABEL_WIDTH}}"
    took = duration_text(outcome.took_s)
    return f"[{outcome.number:{width}}/{n_cells}] {label} {outcome.text}, {took}{saved}"
