"""What users meet each minute: lists to which cells append, many names, long sessions, figures.

Each has a figure of cloudpickle, which would write all of the value at each cell, in the same run,
and the cell without nbckpt. Where the machine is slow all of them are: compare within a run.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import cloudpickle

from nbckpt.timeline.records import event_record
from tests.bench import floors
from tests.bench.figures import Figure, absences
from tests.bench.floors import PYTHON, PYTHON_CPU, pickle_of
from tests.bench.measures import _open, timed
from tests.bench.rounds import ROOT
from tests.bench.shells import Notebook, memory_mb

WARM_UP = 5
MESSAGES = "messages = [{{'role': 'user', 'content': str(i) * 200}} for i in range({count})]"


def messages_appended(folder: Path, quick: bool) -> list[Figure]:
    """A cell that appends one message to a list of them, and one that only asks how many."""
    goals = {400: 0.0015, 2_000: 0.0025, 20_000: 0.015}
    runs = 6 if quick else 30
    notebook = Notebook(folder, follows=False)
    bare = [notebook.run(f"k = {n}").around_s for n in range(runs)]
    notebook.follow()
    figures = [Figure("everyday: a cell without nbckpt", "s", bare)]
    change = pickle_of("one message", {"role": "user", "content": "y0" * 200})
    for count in [400] if quick else goals:
        notebook.run(MESSAGES.format(count=count))
        cell = "messages.append({{'role': 'user', 'content': 'y{n}' * 200}})"
        appended = around(notebook, cell, runs)
        read = around(notebook, "n = len(messages), {n}", runs)
        name = f"{count:,} messages"
        figures += [
            Figure(f"one appended to {name}", "s", appended, goals[count], change),
            Figure(f"a cell that reads {name}", "s", read, floor=PYTHON),
            Figure(f"cloudpickle of {name}", "s", pickled(notebook, "messages")),
        ]
    return figures


def names_around(folder: Path, quick: bool) -> list[Figure]:
    """A trivial cell beside many variables."""
    count, runs = (100, 6) if quick else (1_000, 60)
    notebook = Notebook(folder)
    alone = around(notebook, "x = {n}", runs)
    notebook.run(f"for i in range({count}): globals()[f'v{{i}}'] = [i]")
    beside = around(notebook, "x = {n}", runs)
    return [
        Figure("a trivial cell", "s", alone, 0.0008, PYTHON),
        Figure(f"a trivial cell beside {count:,} names", "s", beside, 0.0012, PYTHON),
        Figure("that cell / the one beside nothing", "x", [median(beside) / median(alone)], 1.5),
    ]


def long_session(folder: Path, quick: bool) -> list[Figure]:
    """A trivial cell after many checkpoints, and the memory that these take."""
    marks = (50, 100) if quick else (100, 1_000, 5_000, 10_000)
    notebook = Notebook(folder)
    took = [notebook.run(f"x = {n}").around_s for n in range(20)]
    gc.collect()
    first_mb = memory_mb("VmRSS")
    figures = []
    for mark in marks:
        took += [notebook.run(f"x = {n}").around_s for n in range(len(took), mark)]
        figures.append(
            Figure(f"a trivial cell after {mark:,} checkpoints", "s", took[-40:], 0.0008, PYTHON)
        )
    notebook.wait()
    gc.collect()
    last_mb = memory_mb("VmRSS")
    early, late = median(took[40:80] if quick else took[60:100]), median(took[-40:])
    figures.append(Figure("the last of these / the first", "x", [late / early], 1.2))
    if first_mb is not None and last_mb is not None:
        each = (last_mb - first_mb) * (1 << 20) / (len(took) - 20)
        figures.append(Figure("memory that a checkpoint takes of the process", "B", [each], 2e3))
    return figures


def figures_around(folder: Path, quick: bool) -> list[Figure]:
    """A cell that makes a figure beside one with axes, and a trivial one after it."""
    if absent := absences("plt.figure() beside a figure of four axes", ["matplotlib"]):
        return absent
    runs = 3 if quick else 12
    notebook = Notebook(folder)
    notebook.run("import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as plt")
    notebook.run("fig, axes = plt.subplots(2, 2); [a.plot(range(100)) for a in axes.flat]")
    made = around(notebook, "fig{n} = plt.figure()", runs)
    trivial = around(notebook, "x = {n}", runs)
    return [
        Figure("plt.figure() beside a figure of four axes", "s", made, 0.005, PYTHON),
        Figure("a trivial cell beside figures", "s", trivial, 0.001, PYTHON),
    ]


def commands(folder: Path, quick: bool) -> list[Figure]:
    """What commands take of the processor that only look at a long store."""
    n_checkpoints, runs = (100, 2) if quick else (2_000, 9)
    per_checkpoint = 10
    session = _open(folder / ".nbckpt", {})
    for n in range(n_checkpoints):
        session.namespace[f"v{n % 50}"] = [n]
        session.checkpoint(f"step-{n}")  # one event is its own
        told = {"name": f"step-{n}", "took_s": 0.1}
        session.writes.append(
            [event_record("ran", session.id, told) for _ in range(per_checkpoint - 1)]
        )
    session.wait()
    session.store.close()
    name = f"{n_checkpoints:,} checkpoints and {per_checkpoint * n_checkpoints:,} events"
    count = ("sql", "select count(*) from events")
    goals = {("log",): 0.15, ("status",): 0.15, count: 0.3}
    return [
        Figure(
            f"CPU of nbckpt {words[0]}, {name}",
            "s",
            [_cpu_of_command(folder, words) for _ in range(runs)],
            goal,
            PYTHON_CPU,
        )
        for words, goal in goals.items()
    ]


def _cpu_of_command(folder: Path, words: Sequence[str]) -> float:
    command = [sys.executable, "-m", "nbckpt", *words, "--store", str(folder / ".nbckpt")]
    floors.glance()
    before = os.times()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def around(notebook: Notebook, cell: str, runs: int) -> list[float]:
    """What stands around the code of a cell, each time that it runs, with another `n` in it."""
    took = [notebook.run(cell.format(n=n)).around_s for n in range(WARM_UP + runs)]
    return took[WARM_UP if runs > WARM_UP else 1 :]


def pickled(notebook: Notebook, name: str) -> list[float]:
    """Seconds of cloudpickle for a variable."""
    value = notebook.shell.user_ns[name]
    return [timed(lambda: cloudpickle.dumps(value)) for _ in range(3)]
