"""The time that a trivial cell takes, of this nbckpt and of others, interleaved in one run.

``python -m tests.bench.cell_cost [--against SOURCE_FOLDER]… [--rounds 30]``: a row a source, for
each mode the median in milliseconds; the difference to the first row is what a change costs. The
first of each round is another one each time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OWN = str(Path(__file__).parents[2])
MODES = ("off", "on", "skip")
CELLS = 20


def worker(mode: str) -> None:
    """Run cells as they are asked for: a line with a number in, a line of seconds out."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    shell.run_cell("import numpy as np, pandas as pd, matplotlib, sklearn; y = list(range(50))")
    shell.run_line_magic("load_ext", "nbckpt")
    shell.run_cell(f"%nbckpt auto {mode}")
    count = 0
    for line in sys.stdin:
        took = []
        for _ in range(int(line)):
            count += 1
            began = time.perf_counter()
            shell.run_cell(f"x = {count}", store_history=True, cell_id=f"cell-{count}")
            took.append(time.perf_counter() - began)
        print("took", json.dumps(took), flush=True)
    os._exit(0)


class Worker:
    """A process that runs cells with the nbckpt of one source folder."""

    def __init__(self, source: str, mode: str) -> None:
        folder = tempfile.mkdtemp(prefix="cell-cost-")
        names = ("NBCKPT_STORE", "NBCKPT_HOME", "IPYTHONDIR")
        env = {**os.environ, **{name: f"{folder}/{name.lower()}" for name in names}}
        env["PYTHONPATH"] = source
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", mode],
            cwd=folder,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.took_s: list[float] = []

    def run(self, count: int) -> list[float]:
        """The seconds of so many cells."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{count}\n")
        stdin.flush()
        for line in stdout:
            if line.startswith("took "):
                took: list[float] = json.loads(line[5:])
                return took
        message = "the worker ended"
        raise RuntimeError(message)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--worker", choices=MODES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(args.worker)
    sources = [*map(os.path.abspath, args.against), OWN]
    medians: dict[str, list[float]] = {source: [] for source in sources}
    for mode in MODES:
        workers = {source: Worker(source, mode) for source in sources}
        for one in workers.values():
            one.run(CELLS)  # imports
        for round_number in range(args.rounds):
            turn = round_number % len(sources)
            for source in [*sources[turn:], *sources[:turn]]:
                workers[source].took_s += workers[source].run(CELLS)
        for source, one in workers.items():
            medians[source].append(statistics.median(one.took_s) * 1000)
            one.close()
    print("| source | " + " | ".join(f"{mode}, ms" for mode in MODES) + " |")
    print("| --- |" + " ---: |" * len(MODES))
    for i, source in enumerate(sources):
        print(
            f"| {i}: {Path(source).name} | "
            + " | ".join(f"{m:.2f}" for m in medians[source])
            + " |"
        )


if __name__ == "__main__":
    main()
