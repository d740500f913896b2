"""A list of 1,000,000 small objects: one appended in each cell, and cells that leave it alone."""

from __future__ import annotations

import pickle
from pathlib import Path
from statistics import median

from tests.bench.figures import Figure
from tests.bench.floors import PYTHON, pickle_of
from tests.bench.measures import timed
from tests.bench.shells import Notebook

PAYS_NOTHING = 1.25
"""What still counts as the same: medians of a few runs of milliseconds differ by as much."""


def one_appended(folder: Path, quick: bool) -> list[Figure]:
    """Stored bytes and time, beside one plain pickle of the list."""
    count, runs = (50_000, 3) if quick else (1_000_000, 7)
    notebook = Notebook(folder, follows=False)
    change = pickle_of("one small object", {"id": 0, "tag": "new 0"})
    bare = [notebook.run(f"k = {n}").whole_s for n in range(runs)]
    notebook.follow()
    notebook.run("k = -1")
    empty = [notebook.run(f"k = {n}").whole_s for n in range(runs)]
    first = notebook.run(f"rows = [{{'id': i, 'tag': f't{{i % 97}}'}} for i in range({count})]")
    pickled = [timed(lambda: pickle.dumps(notebook.shell.user_ns["rows"], 5)) for _ in range(3)]
    before = notebook.stored_bytes()
    appended, stored, untouched = [], [], []
    for n in range(runs):
        appended.append(notebook.run(f"rows.append({{'id': {n}, 'tag': 'new {n}'}})").whole_s)
        after = notebook.stored_bytes()
        stored.append(float(after - before))
        untouched.append(notebook.run(f"k = {n}").whole_s)
        before = notebook.stored_bytes()
    assert min(stored) > 0, "nothing was stored of what was appended"
    name = f"{count:,} small objects"
    return [
        Figure(f"one plain pickle of {name}", "s", pickled),
        Figure(f"first save of {name}", "s", [first.around_s], floor=change),
        Figure(f"one appended to {name}", "s", appended, floor=change),
        Figure("bytes stored for the one appended", "B", stored, 200e3),
        Figure("a cell without nbckpt", "s", bare),
        Figure("a cell with nbckpt and no such list", "s", empty, floor=PYTHON),
        Figure(f"a cell that does not touch {name}", "s", untouched, 0.005, PYTHON),
        Figure(
            "that cell / the one with no such list",
            "x",
            [median(untouched) / median(empty)],
            PAYS_NOTHING,
        ),
    ]
