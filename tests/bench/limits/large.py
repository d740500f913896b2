"""Large arrays: their first save beside a plain copy, one element changed, cells beside them."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.figures import Figure
from tests.bench.floors import COPY, PYTHON
from tests.bench.measures import timed
from tests.bench.shells import Notebook

MIB = 1 << 20
FLOAT_BYTES = 8
HELD_AT_MOST = 1.5
"""Times a plain copy that a cell may be held for what it made."""


def first_saves(folder: Path, quick: bool) -> list[Figure]:
    """How long a cell that made an array is held, and a copy of the array into fresh memory."""
    import numpy as np

    notebook = Notebook(folder)
    notebook.run("import numpy as np\nx = 1")
    figures = []
    for mib, runs in ((8, 3), (64, 2)) if quick else ((8, 9), (128, 7), (1024, 5)):
        count = mib * MIB // FLOAT_BYTES
        source = np.random.default_rng(mib).random(count)
        copied, held = [], []
        for run in range(runs):
            copied.append(_copied_s(source))
            cell = f"big = np.random.default_rng({mib * 100 + run}).random({count})"
            held.append(notebook.run(cell).around_s)
            notebook.wait()
        ratios = [one / median(copied) for one in held]
        figures += [
            Figure(f"{mib} MiB copied into fresh memory", "s", copied),
            Figure(f"cell held for the first save of {mib} MiB", "s", held, floor=COPY),
            Figure(f"held for {mib} MiB / its copy", "x", ratios, HELD_AT_MOST),
        ]
    return figures


def _copied_s(source: Any) -> float:
    """Seconds of a copy into pages that this process has not had, huge ones as NumPy asks for.

    `source.copy()` would get pages that the allocator kept, if it is small; and the memory of
    copies that are all held is new to a virtual machine too, which takes ten times as long.
    """
    import numpy as np

    fresh = mmap.mmap(-1, source.nbytes)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        fresh.madvise(mmap.MADV_HUGEPAGE)
    return timed(lambda: np.copyto(np.frombuffer(fresh, dtype=source.dtype), source))


def one_element(folder: Path, quick: bool) -> list[Figure]:
    """One element of 1 GB changed in place, and cells that do not touch it."""
    return _one_element(folder, quick, "")


def one_element_without_pages(folder: Path, quick: bool) -> list[Figure]:
    """The same where the kernel does not say which pages were written."""
    os.environ["NBCKPT_PAGES"] = "off"
    return _one_element(folder, quick, ", pages off")


def _one_element(folder: Path, quick: bool, how: str) -> list[Figure]:
    mib, runs = (128, 3) if quick else (1024, 9)
    count = mib * MIB // FLOAT_BYTES
    notebook = Notebook(folder, follows=False)
    notebook.run(f"import numpy as np\nbig = np.random.default_rng(0).random({count})")
    bare = [notebook.run(f"big[{n}] = {n}.25").whole_s for n in range(runs)]
    notebook.follow()
    notebook.run("k = -1")
    before = notebook.stored_bytes()
    changed, stored, untouched, read = [], [], [], []
    for n in range(runs):
        changed.append(notebook.run(f"big[{1 + n * count // (runs + 1)}] = {n}.5").whole_s)
        after = notebook.stored_bytes()
        stored.append(float(after - before))
        untouched.append(notebook.run(f"k = {n}").whole_s)
        read.append(notebook.run(f"first = big[{n}]").whole_s)
        before = notebook.stored_bytes()
    assert min(stored) > 0, "nothing was stored of what was changed"
    is_goal = not how
    name = f"{mib} MiB"
    floor = PYTHON if is_goal else COPY  # without pages all bytes are read
    return [
        Figure(f"one element of {name} changed, without nbckpt{how}", "s", bare),
        Figure(
            f"one element of {name} changed{how}", "s", changed, 0.025 if is_goal else None, floor
        ),
        Figure(f"bytes stored for the element{how}", "B", stored, 2e6),
        Figure(f"a cell that does not touch {name}{how}", "s", untouched, 0.005, PYTHON),
        Figure(f"a cell that reads one element of {name}{how}", "s", read, floor=floor),
        Figure(
            f"slowest / median of the cells that change one{how}",
            "x",
            [max(changed) / median(changed)],
        ),
    ]
