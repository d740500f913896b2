"""A plain loop at cell level, with and without nbckpt, in turns."""

from __future__ import annotations

from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.floors import PYTHON
from tests.bench.shells import Notebook, Took

SLOWER_AT_MOST = 1.02


def plain_loop(folder: Path, quick: bool) -> list[Figure]:
    """3,000,000 turns, with and without in turns.

    The ratio is of the quickest runs: what else the machine does only ever adds, and it adds more
    than the two per cent that are asked for.
    """
    count, runs = (300_000, 4) if quick else (3_000_000, 15)
    cell = f"s = 0\nfor i in range({count}):\n    s += i"
    notebook = Notebook(folder, follows=False)
    notebook.run(cell)
    without: list[Took] = []
    with_it: list[Took] = []
    for _ in range(runs):
        without.append(notebook.run(cell))
        notebook.follow()
        notebook.run("pass")  # attached: what comes with the first cell is not of the loop
        with_it.append(notebook.run(cell))
        notebook.leave()
    code, whole = [t.code_s for t in without], [t.whole_s for t in without]
    its_code, its_whole = [t.code_s for t in with_it], [t.whole_s for t in with_it]
    name = f"a loop of {count:,} turns"
    return [
        Figure(f"{name}, without nbckpt", "s", code),
        Figure(f"{name}, auto on", "s", its_code, floor=PYTHON),
        Figure("the loop with / without", "x", [min(its_code) / min(code)], SLOWER_AT_MOST),
        Figure("the whole cell with / without", "x", [min(its_whole) / min(whole)]),
    ]
