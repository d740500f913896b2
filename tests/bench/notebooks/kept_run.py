"""One run by nbckpt's runner, with its variables looked at, and killed where that is asked for.

A process of its own, so that it can be killed: `python -m tests.bench.notebooks.kept_run …`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from nbckpt.jupyter.runner import run as runner
from nbckpt.errors import NotebookError
from nbckpt.jupyter.runner.execution import Execution
from nbckpt.timeline.cell_outcomes import Ending
from tests.bench.notebooks.plain_runs import ASK

WHY = (
    "(lambda found: found[0].steps.latest.why if found and found[0].steps.latest else ())("
    "[c.__self__ for c in get_ipython().events.callbacks['post_run_cell']"
    " if type(getattr(c, '__self__', None)).__module__ == 'nbckpt.jupyter.cells'])"
)
"""Why the latest step ran, as nbckpt has it."""


def cpu_s(pid: int) -> float:
    """The processor's time of a process so far. From outside: what asks a kernel runs code there."""
    numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, numbers[11:13])) / os.sysconf("SC_CLK_TCK")


class InspectedExecution(Execution):
    """A run whose kernel is asked for reasons and variables, and may be killed in a cell."""

    why: dict[int, list[str]]
    variables: dict[str, str]
    death: tuple[int, float, str] | None = None
    cpu_s: float = 0.0

    async def _run_cells(self) -> tuple[Ending, str]:
        self.why, self.variables = {}, {}
        self._kernel_pid: int = self.kernel._client.km.provisioner.pid  # noqa: SLF001
        self.cpu_s = -cpu_s(self._kernel_pid)
        return await super()._run_cells()

    async def _run_cell(self, number: int, index: int) -> tuple[Ending, str]:
        dying = None
        if self.death is not None and number == self.death[0]:
            dying = asyncio.ensure_future(self._die(*self.death[1:]))
        ended = await super()._run_cell(number, index)
        if dying is not None:
            await dying
        if ended[0] == "done" and self.outcomes[number].way != "restored":
            self.why[number] = list(await self.kernel.ask("", WHY))  # type: ignore[call-overload]
        return ended

    async def _die(self, after_s: float, who: str) -> None:
        await asyncio.sleep(after_s)
        os.kill(self._kernel_pid, signal.SIGKILL)
        if who == "both":
            os.kill(os.getpid(), signal.SIGKILL)

    async def _wait_for_store(self) -> str:
        problem = await super()._wait_for_store()
        try:
            self.cpu_s += cpu_s(self._kernel_pid)
            self.variables = await self.kernel.ask("", ASK)  # type: ignore[assignment]
        except NotebookError as error:
            self.variables = {"?": f"?no answer: {error}"}
        return problem


def main() -> None:
    """Run a notebook and write what came of it as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--answer", type=Path, required=True)
    parser.add_argument("--death", nargs=3, metavar=("CELL", "SECONDS", "kernel|both"))
    arguments = parser.parse_args()
    last: list[Any] = []

    class Chosen(InspectedExecution):
        def __post_init__(self) -> None:
            super().__post_init__()
            last.append(self)
            if arguments.death:
                cell, seconds, who = arguments.death
                self.death = (int(cell), float(seconds), who)

    runner.Execution = Chosen  # type: ignore[misc]
    began = time.perf_counter()
    run = runner.run(arguments.notebook)
    execution = last[-1]
    cells = [
        {
            "way": cell.way,
            "ending": cell.ending,
            "took_s": cell.took_s,
            "why": getattr(execution, "why", {}).get(number, []),
        }
        for number, cell in enumerate(run.cells)
    ]
    answer = {
        "ending": run.ending,
        "problem": run.problem,
        "cells": cells,
        "variables": getattr(execution, "variables", {}),
        "cpu_s": getattr(execution, "cpu_s", 0.0),
        "whole_s": time.perf_counter() - began,
    }
    arguments.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    sys.exit(main())
