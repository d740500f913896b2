"""A notebook whose cells run in a shell of a process of its own, as after a restart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import nbckpt


class Ran(NamedTuple):
    """What became of one cell.

    Attributes
    ----------
    restored
        Whether it was restored instead of run.
    why
        Why it ran.
    value
        What the variable `y` is after it, as text.
    """

    restored: bool
    why: str
    value: str


def run(folder: Path, cells: list[str]) -> list[Ran]:
    """Run cells under `%nbckpt auto skip` in a new process, beside the store of earlier runs."""
    done = subprocess.run(
        [sys.executable, __file__],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(nbckpt.__file__).parent.parent)},
        input=json.dumps([str(folder.with_name(f"{folder.name}-store")), cells]),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    return [Ran(*row) for row in json.loads(lines[-1])]


def _main() -> None:
    store, cells = json.loads(sys.stdin.read())
    sys.path.insert(0, "")
    os.environ.update(NBCKPT_STORE=store, IPYTHONDIR=f"{store}-ipython", MPLBACKEND="agg")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    shell: Any = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "nbckpt")
    shell.run_cell("%nbckpt auto skip", store_history=True)
    rows = [_row(shell, number, cell) for number, cell in enumerate(cells)]
    nbckpt.wait()
    print(f"\n{json.dumps(rows)}", flush=True)
    os._exit(0)


def _row(shell: Any, number: int, cell: str) -> Ran:
    shell.user_ns.pop("y", None)
    followed = shell._nbckpt_extension.cells.steps
    followed.latest = None
    done = shell.run_cell(cell, store_history=True, cell_id=f"cell-{number}")
    error = done.error_before_exec or done.error_in_exec
    value = repr(error) if error else repr(shell.user_ns.get("y"))
    step = followed.latest
    if step is None:
        return Ran(False, "no step", value)
    return Ran(step.restored is not None, "; ".join(step.why), value)


if __name__ == "__main__":
    _main()
