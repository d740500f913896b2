"""The measures: each gives seconds by label, of several runs, in a folder that is removed.

Each runs in a process of its own, so that none pays for the imports or the memory of another.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import floors

Times = dict[str, list[float]]
Measure = Callable[[Path, bool], Times]

MIB = 1 << 20


def timed(job: Callable[[], object]) -> float:
    """Seconds that `job` takes."""
    floors.glance()
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def overhead(folder: Path, quick: bool) -> Times:
    """A cell that touches nothing large, in a namespace of 1 GB."""
    shell = _shell(folder)
    blocks, count = (2, 40) if quick else (8, 150)
    shell.run_cell(
        f"import numpy as np\nbig = [np.random.default_rng(i).random(16_777_216) "
        f"for i in range({blocks})]\nkept = {{'a': [1, 2]}}"
    )
    cell = "kept['a'].append(len(kept['a']))\nk = sum(kept['a'])"
    for _ in range(5):
        shell.run_cell(cell, store_history=True)
    without = [timed(lambda: shell.run_cell(cell, store_history=True)) for _ in range(count)]
    shell.run_line_magic("load_ext", "nbckpt")
    shell.run_cell("%nbckpt auto on", store_history=True)
    shell.run_cell("first = 1", store_history=True)  # the large arrays are written here
    _session().wait()
    for _ in range(5):
        shell.run_cell(cell, store_history=True)
    with_it = [timed(lambda: shell.run_cell(cell, store_history=True)) for _ in range(count)]
    shell.run_line_magic("unload_ext", "nbckpt")
    size = f"{blocks * 128} MiB in the namespace"
    return {f"a small cell, {size}, without nbckpt": without, "the same, auto on": with_it}


def first_checkpoint(folder: Path, quick: bool) -> Times:
    """The first checkpoint of 1 GB, beside a copy of it in memory."""
    import numpy as np

    mib, runs = (256, 2) if quick else (1024, 3)
    big = np.random.default_rng(0).random(mib * MIB // 8)
    there = np.zeros_like(big)
    there[:] = 1
    copied, copied_anew, durable = [], [], []
    for run in range(runs):
        copied.append(timed(lambda: np.copyto(there, big)))
        copied_anew.append(timed(big.copy))
        session = _open(folder / f"store-{run}", {"big": big})
        durable.append(timed(lambda s=session: s.checkpoint("first", sync=True)))  # type: ignore[misc]
        session.store.close()
        shutil.rmtree(folder / f"store-{run}")
    return {
        f"{mib} MiB copied into memory that is there": copied,
        f"{mib} MiB copied into new memory": copied_anew,
        f"first checkpoint of {mib} MiB, durable": durable,
    }


def one_element(folder: Path, quick: bool) -> Times:
    """One element changed of an array of 128 MB."""
    import numpy as np

    big = np.random.default_rng(0).random(16_777_216)
    session = _open(folder / "store", {"big": big})
    session.checkpoint("first", sync=True)
    before = _size_of(folder)
    times = []
    for n in range(3 if quick else 7):
        big[1_000_000 * (n + 1)] = n
        session.workspace.ran(None)
        times.append(timed(lambda: session.checkpoint("next", sync=True)))
    added = (_size_of(folder) - before) / len(times) / MIB
    rewound = [timed(lambda r=r: session.rewind(r)) for r in ("first", "-", "first", "-")]  # type: ignore[misc]
    session.store.close()
    return {
        f"one element of 128 MiB changed ({added:.2f} MiB written)": times,
        "rewind of those 128 MiB": rewound,
    }


def run_all(folder: Path, quick: bool) -> Times:
    """A notebook of 60 s, restarted and run again."""
    from tests.kernels import Kernel

    sleep_s = 1 if quick else 10
    cells = {
        f"step{n}": f"%%checkpoint step{n}\nimport time, numpy as np\n"
        f"part{n} = np.full(100_000, {n}.)\nprint('step', {n})\ntime.sleep({sleep_s})"
        for n in range(6)
    }

    def play() -> float:
        with Kernel(folder) as kernel:

            def cells_of_it() -> None:
                kernel.run("%load_ext nbckpt")
                for name, source in cells.items():
                    ran = kernel.run(source, name)
                    assert ran.ok, ran.error

            return timed(cells_of_it)

    first = play()
    again = [play() for _ in range(2 if quick else 5)]
    return {f"a notebook of {6 * sleep_s} s, the first time": [first], "restart and Run All": again}


def start(folder: Path, quick: bool) -> Times:
    """What it takes to begin: alone, and on a store of 1,000 checkpoints."""
    checkpoints = 200 if quick else 1000
    session = _open(folder / ".nbckpt", {})
    for n in range(checkpoints):
        session.namespace[f"v{n % 50}"] = [n]
        session.checkpoint(f"step-{n % 100}")
    session.wait()
    session.store.close()
    runs = range(3 if quick else 9)
    load = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance()\n"
        "import time; began = time.perf_counter()\ns.run_line_magic('load_ext', 'nbckpt')"
    )
    return {
        "import nbckpt": [_inside("import time; began = time.perf_counter()\nimport nbckpt", folder)
                          for _ in runs],
        f"%load_ext nbckpt, {checkpoints} checkpoints": [_inside(load, folder) for _ in runs],
        f"`nbckpt log` of {checkpoints}, the whole process": [
            timed(lambda: _run([sys.executable, "-m", "nbckpt", "log"], folder)) for _ in runs
        ],
        "python -c pass, the whole process": [
            timed(lambda: _run([sys.executable, "-c", "pass"], folder)) for _ in runs
        ],
    }  # fmt: skip


MEASURES: dict[str, Measure] = {
    f.__name__: f for f in (overhead, first_checkpoint, one_element, run_all, start)
}


def _run(command: list[str], folder: Path) -> str:
    env = {
        **os.environ,
        "PYTHONPATH": str(Path.cwd()),
        "NBCKPT_STORE": str(folder / ".nbckpt"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def _inside(code: str, folder: Path) -> float:
    """Seconds that a new interpreter counts from `began` to the end of `code`."""
    code += "\nprint('TOOK', time.perf_counter() - began)"
    out = _run([sys.executable, "-c", code], folder)
    return float(out.rsplit("TOOK", 1)[1])


def _shell(folder: Path) -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ["NBCKPT_STORE"] = str(folder / ".nbckpt")
    os.environ["IPYTHONDIR"] = str(folder / "ipython")
    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell.instance(config=config)


def _session() -> Any:
    from nbckpt.steps import current_session

    return current_session.session()


def _open(path: Path, values: dict[str, object]) -> Any:
    from nbckpt.session.session import open_session

    return open_session(path, {"__name__": "__main__", **values})


def _size_of(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
