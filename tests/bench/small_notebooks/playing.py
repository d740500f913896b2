"""Plays small notebooks in forks of a process that has imported what they need.

Each is played plainly and with nbckpt. In each way, one fork runs the first version and, live, the
second; another fork runs the second version on what was on disk after the first: a restart.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbckpt.capture.observation.libraries import Libraries
from tests.bench.small_notebooks.kernels import InProcessKernel, load
from tests.bench.small_notebooks.notebook import SmallNotebook

Answer = dict[str, Any]

TIMEOUT_S = 30.0
PHASES = ("live", "restart")
WARM = (
    "numpy", "pandas", "matplotlib.pyplot", "scipy.stats",
    "sklearn.linear_model", "sklearn.pipeline", "sklearn.preprocessing", "sklearn.cluster",
    "sympy", "networkx", "polars", "pyarrow.parquet", "pyarrow.csv", "pyarrow.dataset", "duckdb",
    "sqlite3", "patsy", "statsmodels.formula.api", "ipywidgets", "PIL.Image", "tqdm.auto", "torch",
    "pydantic", "joblib", "yaml",
)  # fmt: skip
"""Imported before the forks; what is not installed is left out."""


def warm() -> None:
    """Import what many notebooks need."""
    warnings.filterwarnings("ignore")
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    for name in WARM:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _modules_of_a_kernel():
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    Libraries({"__name__": "__main__"}).look()  # a session in a fork need not meet them all
    gc.freeze()


def _modules_of_a_kernel() -> list[str]:
    """What a kernel with nbckpt imports until its first cell has run, as a fork finds out."""
    folder = Path(tempfile.mkdtemp(prefix="nbckpt-small-"))
    notebook = SmallNotebook("", "", ("import numpy\nx = [1]\nx",), ("y = x",))
    before = set(sys.modules)
    pid = os.fork()
    if pid == 0:
        (folder / "work").mkdir()
        found = folder / "modules"
        try:
            _played(notebook, "skip", folder, "live")
            found.write_text("\n".join(sorted(set(sys.modules) - before)))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    names = (folder / "modules").read_text().split()
    shutil.rmtree(folder)
    return names


def play(
    notebook: SmallNotebook, modes: Sequence[str], scratch: Path
) -> dict[tuple[str, str], Answer]:
    """The answers by way (plain, or a mode of nbckpt) and phase: live, and after a restart."""
    answers: dict[tuple[str, str], Answer] = {}
    for way in ("plain", *modes):
        home = scratch / way
        (home / "work").mkdir(parents=True)
        _write_files(notebook, home / "work")
        answers[way, "live"] = _forked(notebook, way, home, "live")
        if (home / "after").exists():
            for name in ("work", "store"):
                shutil.rmtree(home / name, ignore_errors=True)
                with contextlib.suppress(FileNotFoundError):
                    (home / "after" / name).rename(home / name)
        answers[way, "restart"] = _forked(notebook, way, home, "restart")
    return answers


def play_plainly(notebook: SmallNotebook, scratch: Path) -> Answer:
    """The answer of a plain kernel that runs both versions."""
    (scratch / "work").mkdir(parents=True)
    _write_files(notebook, scratch / "work")
    return _forked(notebook, "plain", scratch, "live")


def _write_files(notebook: SmallNotebook, work: Path) -> None:
    for name, text in notebook.files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _forked(notebook: SmallNotebook, way: str, home: Path, phase: str) -> Answer:
    answer = home / f"{phase}.json"
    sys.stdout.flush()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(notebook, way, home, phase, answer)
    for _ in _ticks(TIMEOUT_S):
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return {"crash": "hangs"}
    if not answer.exists():
        return {"crash": "died"}
    found: Answer = json.loads(answer.read_text())
    return found | {"took_s": round(time.monotonic() - began, 2)}


def _ticks(limit_s: float) -> Iterator[None]:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        yield
        time.sleep(0.005)


def _child(notebook: SmallNotebook, way: str, home: Path, phase: str, answer: Path) -> None:
    """Never returns: a fork must not go on in its parent's frames."""
    try:
        os.setpgrp()
        found: Answer
        try:
            found = _played(notebook, way, home, phase)
        except BaseException:
            found = {"crash": traceback.format_exc()[-1500:]}
        beside = answer.with_suffix(".tmp")
        beside.write_text(json.dumps(found))
        beside.rename(answer)
    finally:
        os._exit(0)


def _played(notebook: SmallNotebook, way: str, home: Path, phase: str) -> Answer:
    os.chdir(home / "work")
    sys.path.insert(0, "")
    os.environ.update(
        NBCKPT_STORE=str(home / "store"),
        NBCKPT_HOME=str(home / "home"),
        IPYTHONDIR=str(home / "ipython"),
    )
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    if not os.environ.get("SMALL_NOTEBOOKS_STDERR"):
        os.dup2(null, 2)
    kernel = InProcessKernel()
    if way != "plain":
        load(kernel, way, home / "store")
    if phase == "live":
        _run(kernel, notebook, notebook.cells, way)
        if way != "plain":
            import nbckpt

            nbckpt.wait()
        first, first_probe = kernel.document(), kernel.probe(notebook.probe)
        _copy(home)
        kernel.records = []
    else:
        first, first_probe = [], ""
    if notebook.outside:
        exec(notebook.outside, {"__name__": "outside"})
    _run(kernel, notebook, notebook.edited, way)
    return {
        "first": first,
        "first_probe": first_probe,
        "cells": kernel.document(),
        "probe": kernel.probe(notebook.probe),
    }


def _run(
    kernel: InProcessKernel, notebook: SmallNotebook, cells: tuple[str, ...], way: str
) -> None:
    for number, source in enumerate(cells):
        first_line = ""
        if is_marked(notebook, number):
            if way == "ckpt":
                first_line = f"%%checkpoint c{number}\n"
            elif not source.startswith("%%"):  # errors tell of the same lines
                first_line = f"# c{number}\n"
        kernel.run(first_line + source, f"cell-{number}")


def is_marked(notebook: SmallNotebook, number: int) -> bool:
    """Whether a cell has a `%%checkpoint` line: all of an unchanged notebook, else the last."""
    return notebook.is_unchanged or number == len(notebook.cells) - 1


def _copy(home: Path) -> None:
    """Keep what is on disk after the first version, for the restart."""
    (home / "after").mkdir()
    for name in ("work", "store"):
        if (home / name).exists():
            shutil.copytree(home / name, home / "after" / name, symlinks=True)
