"""A fresh process that brings 1 GB back: `import`, `%load_ext`, `%resume`, then every byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench import floors
from tests.bench.figures import Figure
from tests.bench.floors import COPY, PYTHON, PYTHON_CPU
from tests.bench.measures import timed
from tests.bench.rounds import ROOT
from tests.bench.shells import Notebook

ARRAYS = 8
FLOAT_BYTES = 8
CHILD = """
import json, sys, time
from pathlib import Path
from tests.bench.shells import make_shell
shell = make_shell(Path.cwd())
took, began = {}, time.perf_counter()
def lap(name):
    global began
    now = time.perf_counter()
    took[name] = now - began
    began = time.perf_counter()
shell.run_line_magic("load_ext", "nbckpt")
lap("load")
shell.run_line_magic("resume", "")
lap("resume")
shell.user_ns["total"] = sum(float(a.sum()) for a in shell.user_ns["arrays"])
lap("touch")
print("TOOK", json.dumps({**took, "total": shell.user_ns["total"]}))
"""


def cold_restore(folder: Path, quick: bool) -> list[Figure]:
    """1 GB of arrays, resumed by a process that had nothing."""
    mib, runs = (128, 2) if quick else (1024, 7)
    count = mib * (1 << 20) // FLOAT_BYTES // ARRAYS
    notebook = Notebook(folder)
    one = f"np.random.default_rng(n).random({count})"
    notebook.run(f"import numpy as np\narrays = [{one} for n in range({ARRAYS})]")
    total = sum(float(a.sum()) for a in notebook.shell.user_ns["arrays"])
    notebook.wait()
    notebook.leave()
    packs = [f for f in notebook.store.rglob("*") if f.is_file()]
    laps: list[dict[str, float]] = []
    copied = []
    for _ in range(runs):
        laps.append(in_fresh_process(CHILD, folder))
        copied.append(timed(lambda: [f.read_bytes() for f in packs]))
    wrong = [lap["total"] for lap in laps if lap["total"] != total]
    if wrong:
        message = f"the arrays came back as others: {wrong} for {total}"
        raise AssertionError(message)
    name = f"{mib} MiB of arrays"
    both = [lap["load"] + lap["resume"] for lap in laps]
    return [
        Figure(f"fresh process: {name}, load_ext and resume", "s", both, 0.5, PYTHON),
        Figure(
            "of it %load_ext with all imports", "s", [lap["load"] for lap in laps], floor=PYTHON
        ),
        Figure("every byte touched afterwards", "s", [lap["touch"] for lap in laps], floor=COPY),
        Figure("the store's files read into memory", "s", copied),
        Figure(
            "load_ext, resume and touch / that reading",
            "x",
            [(b + lap["touch"]) / c for b, lap, c in zip(both, laps, copied, strict=True)],
        ),
    ]


FIRST_CELLS = """
import json, sys, time
from pathlib import Path
from tests.bench.shells import make_shell
shell = make_shell(Path.cwd())
shell.run_cell("x = 0")
took = {}
def lap(name, cell):
    began = time.process_time()
    shell.run_cell(cell).raise_error()
    took[name] = time.process_time() - began
lap("load", "%load_ext nbckpt")
took["modules"] = sum(name.partition(".")[0] == "nbckpt" for name in sys.modules)
lap("cell", "y = [1]")
lap("checkpoint", "%checkpoint first")
print("TOOK", json.dumps(took))
"""


def first_cells(folder: Path, quick: bool) -> list[Figure]:
    """What the first cells of a new process take of the processor, imports and all."""
    laps = [in_fresh_process(FIRST_CELLS, folder) for _ in range(2 if quick else 9)]
    return [
        Figure(
            "CPU of %load_ext nbckpt, new process",
            "s",
            [lap["load"] for lap in laps],
            0.04,
            PYTHON_CPU,
        ),
        Figure("modules of nbckpt that it loads", "", [lap["modules"] for lap in laps]),
        Figure(
            "CPU of the first cell after it", "s", [lap["cell"] for lap in laps], floor=PYTHON_CPU
        ),
        Figure(
            "CPU of the first checkpoint",
            "s",
            [lap["checkpoint"] for lap in laps],
            floor=PYTHON_CPU,
        ),
    ]


def in_fresh_process(code: str, folder: Path) -> dict[str, Any]:
    """What a fresh interpreter says after the word TOOK."""
    import os

    floors.glance()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NBCKPT_STORE": str(folder / ".nbckpt"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode or "TOOK " not in done.stdout:
        raise AssertionError(done.stderr or done.stdout)
    found: dict[str, Any] = json.loads(done.stdout.rsplit("TOOK ", 1)[1])
    return found
