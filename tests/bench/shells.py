"""A plain IPython shell to run cells in, and a notebook on it whose cells are timed apart."""

from __future__ import annotations

import contextlib
import io
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import floors


def make_shell(folder: Path) -> Any:
    """The process's shell, with nothing of its user's: no history, no start-up files."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ["IPYTHONDIR"] = str(folder / "ipython")
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=config)


def memory_mb(field: str, pid: int | str = "self") -> float | None:
    """A line of the kernel's account of a process's memory, as `VmHWM`; None where there is none."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else None


def peak_mb() -> float:
    """The most memory that this process has had, pages of mapped files included."""
    found = memory_mb("VmHWM")
    if found is not None:
        return found
    import resource

    # Not inherited by exec as Linux's is; in bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds from giving a cell until the next may be given, and of its own code alone."""

    whole_s: float
    code_s: float

    @property
    def around_s(self) -> float:
        """What stands before and after the cell's code."""
        return self.whole_s - self.code_s


COMPLAINTS = ("Error in callback", "defect in nbckpt")
"""What a shell and nbckpt say when nbckpt failed."""


class CellError(Exception):
    """A cell of a measure raised."""


class Notebook:
    """A shell in a folder of its own, with or without nbckpt in it.

    The time of the cell's own code is taken around the shell's `run_code`, so that it needs
    no name in the namespace and no statement in the cell.
    """

    def __init__(self, folder: Path, *, follows: bool = True) -> None:
        self.folder = folder
        self.store = folder / ".nbckpt"
        os.environ["NBCKPT_STORE"] = str(self.store)
        self.shell = make_shell(folder)
        self._code_s = 0.0
        self._time_code()
        if follows:
            self.follow()

    def follow(self) -> None:
        """`%load_ext nbckpt`, `%nbckpt auto on`."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.shell.run_line_magic("load_ext", "nbckpt")
            self.shell.run_line_magic("nbckpt", "auto on")

    def leave(self) -> None:
        """`%unload_ext nbckpt`."""
        self.shell.run_line_magic("unload_ext", "nbckpt")

    def run(self, source: str) -> Took:
        """Run one cell.

        Raises
        ------
        CellError
            If the cell did, or what follows the cells failed: a quick failure is no good figure.
        """
        floors.glance()
        self._code_s = 0.0
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            began = time.perf_counter()
            result = self.shell.run_cell(source, store_history=True)
            whole_s = time.perf_counter() - began
        error = result.error_before_exec or result.error_in_exec
        if error is not None or any(text in shown.getvalue() for text in COMPLAINTS):
            message = f"{source!r}: {error!r}\n{shown.getvalue()}"
            raise CellError(message)
        return Took(whole_s, self._code_s)

    @property
    def session(self) -> Any:
        """nbckpt's."""
        from nbckpt.steps import current_session

        return current_session.session()

    def wait(self) -> None:
        """Until all is written."""
        self.session.wait()

    def stored_bytes(self) -> int:
        """On disk, when all is written."""
        self.wait()
        return sum(f.stat().st_size for f in self.store.rglob("*") if f.is_file())

    def _time_code(self) -> None:
        run_code = self.shell.run_code

        async def timed(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return await run_code(*arguments, **options)
            finally:
                self._code_s += time.perf_counter() - began

        self.shell.run_code = timed
