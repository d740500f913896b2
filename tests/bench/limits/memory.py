"""How much memory a notebook takes at its peak with nbckpt, beside what its variables take.

The peak is that of the private pages (`RssAnon`, asked for every few milliseconds by the parent).
Pages of the store's files that are mapped after a restore are the page cache's: they are shared,
and given up when memory is short, so that they are told apart (`VmHWM` counts them in).
What the variables take is what the private pages grow by without nbckpt in the cells that make
them, or the bytes of the arrays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.rounds import ROOT
from tests.bench.shells import memory_mb

ASKED_EVERY_S = 0.003
GROWTH_AT_MOST, EXTRA_MB = 1.3, 256
CHILD = """
import json, sys
from pathlib import Path
from tests.bench.shells import Notebook, memory_mb, peak_mb
follows, cells = json.loads(sys.argv[1])
notebook = Notebook(Path.cwd(), follows=follows)
notebook.run(cells[0])
before = memory_mb("RssAnon")
notebook.run(cells[1])
made = memory_mb("RssAnon") - before
for cell in cells[2:]:
    notebook.run(cell)
if follows:
    notebook.wait()
    first = notebook.session.history()[-2].id
    notebook.shell.run_line_magic("rewind", first)
    notebook.run("k = 1")
    notebook.wait()
print("TOOK", json.dumps({"made": made, "peak": peak_mb()}))
"""


def of_arrays(folder: Path, quick: bool) -> list[Figure]:
    """1 GB of arrays: made, changed in one element, one of eight made anew, gone back."""
    mib = 128 if quick else 1024
    count = mib * (1 << 20) // 64
    one = f"np.random.default_rng(n).random({count})"
    cells = [
        "import numpy as np",
        f"arrays = [{one} for n in range(8)]",
        "arrays[3][5] = 1",
        f"arrays[4] = np.random.default_rng(99).random({count})",
        "arrays[5] *= 2",
    ]
    return _figures(f"{mib} MiB of arrays", folder, cells, 1 if quick else 3)


def of_objects(folder: Path, quick: bool) -> list[Figure]:
    """1,000,000 small objects: made, one appended, one changed, gone back."""
    count = 50_000 if quick else 1_000_000
    cells = [
        "k = 0",
        f"rows = [{{'id': i, 'tag': f't{{i % 97}}'}} for i in range({count})]",
        "rows.append({'id': -1, 'tag': 'new'})",
        "rows[17]['tag'] = 'edited'",
    ]
    return _figures(f"{count:,} small objects", folder, cells, 1 if quick else 3)


def _figures(name: str, folder: Path, cells: list[str], runs: int) -> list[Figure]:
    bare = [_watched(folder / f"bare-{n}", cells, follows=False) for n in range(runs)]
    ours = [_watched(folder / f"ours-{n}", cells, follows=True) for n in range(runs)]
    made = [found["made"] for found in bare]
    # The notebook itself replaces an array while the old one lives: that is not nbckpt's.
    allowed = GROWTH_AT_MOST * max(made) + EXTRA_MB
    return [
        Figure(f"{name}: what they take", "MB", made),
        Figure(f"{name}: private peak without nbckpt", "MB", [found["anon"] for found in bare]),
        Figure(f"{name}: private peak with nbckpt", "MB", [found["anon"] for found in ours]),
        Figure(
            f"{name}: VmHWM with nbckpt, mapped files included", "MB", [f["peak"] for f in ours]
        ),
        Figure(
            f"{name}: private peak / (1.3 of them + 256 MB)",
            "x",
            [found["anon"] / allowed for found in ours],
            1.0,
        ),
    ]


def _watched(folder: Path, cells: list[str], *, follows: bool) -> dict[str, float]:
    folder.mkdir()
    command = [sys.executable, "-c", CHILD, json.dumps([follows, cells])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        most = 0.0
        while child.poll() is None:
            most = max(most, memory_mb("RssAnon", child.pid) or 0.0)
            time.sleep(ASKED_EVERY_S)
        assert child.stdout is not None
        assert child.stderr is not None
        said, complained = child.stdout.read(), child.stderr.read()
    if child.returncode or "TOOK " not in said:
        raise AssertionError(complained or said)
    found: dict[str, float] = json.loads(said.rsplit("TOOK ", 1)[1])
    return {**found, "anon": most}
