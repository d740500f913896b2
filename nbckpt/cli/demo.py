"""`nbckpt demo`: a real notebook, a real kernel, a real `kill -9`, and the same command again."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.errors import NotebookError, StoreError, UsageError
from nbckpt.storage.store import Store
from nbckpt.text.units import count_text, duration_text
from nbckpt.timeline.cell_outcomes import Outcome
from nbckpt.version import PACKAGE

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NOTEBOOK = "quickstart.ipynb"
NEEDED = ("pandas", "sklearn", "matplotlib")
LOOK_S = 0.05
KILL_AT = 0.5
"""Of its loop's items, the share that is done when the kernel is killed."""

Say = Callable[["RenderableType"], None]


@dataclass(frozen=True, slots=True)
class Death:
    """Where the kernel was killed: its process, and the items that its loop had done."""

    pid: int
    done: int
    total: int


def demo(keep: Path | None, say: Say) -> None:
    """Run the quickstart notebook, kill its kernel in the middle of a loop, run it again.

    Parameters
    ----------
    keep
        A new or empty folder to leave notebook and store in; None leaves nothing.
    say
        Is given what there is to tell, piece by piece.

    Raises
    ------
    UsageError
        If a package that the notebook needs is missing, or `keep` holds something.
    NotebookError
        If the notebook does not do what it does for everybody else.
    """
    require_packages(NEEDED)
    with _folder(keep) as folder:
        shutil.copy(notebook_path(), folder / NOTEBOOK)
        say(f"$ nbckpt run {NOTEBOOK}")
        with _start(folder) as running:
            death = _kill_in_loop(running, folder / ".nbckpt")
            read = f"{death.done} of {death.total} documents read"
            say(f"$ kill -9 {death.pid}          # its kernel, with {read}")
            first = _end(running, expected=1)
        say("")
        say(f"$ nbckpt run {NOTEBOOK}     # the same again")
        with _start(folder) as running:
            second = _end(running, expected=0)
        say("")
        say(comparison(first, second))
        say("")
        say(conclusion(death, second))
        say(_next_move(keep))


def notebook_path() -> Path:
    """The quickstart notebook: in the package, or beside it where that is its source."""
    inside = PACKAGE / NOTEBOOK
    return inside if inside.exists() else PACKAGE.parent / "notebooks" / NOTEBOOK


def comparison(first: Sequence[Outcome], second: Sequence[Outcome]) -> Table:
    """Both runs, cell by cell."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
    saved_s = sum(o.saved_s for o in second)
    whole = duration_text(saved_s + sum(o.took_s for o in second))
    table.add_column("cell", "all")
    table.add_column("first run", f"killed at {_total(first)}", justify="right")
    table.add_column("second run", _total(second), justify="right")
    table.add_column("in the second run it", f"would have taken {whole}")
    table.add_column("saved", duration_text(saved_s), justify="right")
    for before, after in zip(first, second, strict=True):
        saved = duration_text(after.saved_s) if after.saved_s else ""
        table.add_row(
            after.label, _took(before), _took(after), _told(after), saved, style=_style(after)
        )
    return table


def conclusion(death: Death, second: Sequence[Outcome]) -> str:
    """One sentence on the cells, documents and work that survived."""
    restored = sum(o.way == "restored" for o in second)
    saved = duration_text(sum(o.saved_s for o in second))
    return (
        f"{count_text(restored, 'finished cell')} and {death.done} of {death.total} documents "
        f"survived the kernel: {saved} of work was not done twice."
    )


def _next_move(keep: Path | None) -> str:
    if keep is None:
        return (
            "Next: `nbckpt demo --keep DIR` leaves notebook and store in DIR to look at; "
            "in a notebook of yours, %load_ext nbckpt."
        )
    store = shlex.quote(str(keep / ".nbckpt"))
    return f"The store is {store}. Next: nbckpt log --store {store}"


def _total(outcomes: Sequence[Outcome]) -> str:
    return duration_text(sum(o.took_s for o in outcomes))


def _took(outcome: Outcome) -> str:
    took = duration_text(outcome.took_s)
    return {"waiting": "not reached", "died": f"killed at {took}"}.get(outcome.ending, took)


def _told(outcome: Outcome) -> str:
    return "was restored" if outcome.way == "restored" else outcome.text


def _style(outcome: Outcome) -> str:
    return {"restored": "green", "continued": "bold green"}.get(outcome.way, "")


# -- the parts of it


def require_packages(names: Sequence[str]) -> None:
    """Return if all these packages are installed.

    Raises
    ------
    UsageError
        If some are not; the message says how to have them.
    """
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    if absent:
        message = f'the demo needs {", ".join(absent)}: pip install "nbckpt[demo]"'
        raise UsageError(message)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="nbckpt-demo-") as folder:
            yield Path(folder)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        message = f"{keep} holds something already: name a new or empty folder"
        raise UsageError(message)
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nbckpt", "run", NOTEBOOK, "--json", "--store", ".nbckpt"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)


def _kill_in_loop(running: subprocess.Popen[bytes], path: Path) -> Death:
    """Kill the kernel when the store says that its loop is half done."""
    store: Store | None = None
    try:
        while running.poll() is None:
            time.sleep(LOOK_S)
            store = store or _opened(path)
            if store and (death := _half_done(store)):
                os.kill(death.pid, signal.SIGKILL)
                return death
    finally:
        if store is not None:
            store.close()
    message = "the demo's notebook ended before its kernel could be killed; see above"
    raise NotebookError(message)


def _opened(path: Path) -> Store | None:
    try:
        return Store.open(path, create=False)
    except StoreError:  # not made yet
        return None


def _half_done(store: Store) -> Death | None:
    store.refresh()
    for record in reversed(store.records("checkpoint")):
        _, done, total = record.get("progress") or (0, 0, 1)
        if done >= KILL_AT * total:
            pids = {s["session"]: s["pid"] for s in store.records("session")}
            return Death(pids[record["session"]], done, total)
    return None


def _end(running: subprocess.Popen[bytes], *, expected: int) -> list[Outcome]:
    """Outcomes of the cells of a run, once it has ended."""
    told, _ = running.communicate()
    if running.returncode != expected:
        message = f"the demo's run ended with exit status {running.returncode}; see above"
        raise NotebookError(message)
    return [Outcome(**cell) for cell in json.loads(told)["cells"]]
