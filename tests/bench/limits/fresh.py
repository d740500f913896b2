"""Fresh processes: a `%%checkpoint` cell among many names, and a star import of a large library.

joblib.Memory does the same work on the values that the cell reads. It gets them as arguments, and
nbckpt finds them among all names.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from tests.bench.figures import Figure, absences
from tests.bench.floors import DURABLE, PYTHON
from tests.bench.limits.beginning import in_fresh_process

N_READ = 10
READ = ", ".join(f"v{n}" for n in range(N_READ))
BODY = f"made = os.urandom(8).hex()\ntotal = sum(v[0] for v in ({READ}))"
BLOCK = """
import json
from pathlib import Path
from tests.bench.shells import Notebook
notebook = Notebook(Path.cwd())
notebook.run("import os\\nfor n in range(COUNT): globals()[f'v{n}'] = [n, str(n), {'n': n}]")
took = notebook.run("%%checkpoint block\\n" + BODY)
notebook.wait()
print("TOOK", json.dumps({"s": took.whole_s, "made": notebook.shell.user_ns["made"]}))
"""
MEMORY_JOB = f"import os\ndef block({READ}):\n    {{body}}\n    return made, total\n"
MEMORY = """
import json, sys, time
sys.path.insert(0, ".")
import joblib, job
memory = joblib.Memory("memory", verbose=0)
values = [[n, str(n), {"n": n}] for n in range(N_READ)]
began = time.perf_counter()
made, total = memory.cache(job.block)(*values)
print("TOOK", json.dumps({"s": time.perf_counter() - began, "made": made}))
"""
STAR = """
import json
from pathlib import Path
from tests.bench.shells import Notebook
notebook = Notebook(Path.cwd(), follows=FOLLOWS)
notebook.run("k = -1")
star = notebook.run("from sympy import *").whole_s
after = [notebook.run(f"k = {n}").whole_s for n in range(9)]
print("TOOK", json.dumps({"star": star, "first": after[0], "after": sorted(after)[4]}))
"""


def blocks(folder: Path, quick: bool) -> list[Figure]:
    """A `%%checkpoint` cell that runs, and the same cell brought back by another process."""
    counts, runs = ([100], 2) if quick else ([100, 300], 7)
    lacks = absences("joblib.Memory", ["joblib"])
    took: dict[str, list[float]] = {}
    for run in range(runs):
        for count in counts:
            code = BLOCK.replace("COUNT", str(count)).replace("BODY", json.dumps(BODY))
            _both(took, f"a %%checkpoint cell among {count} names", code, folder / f"{run}-{count}")
        if not lacks:
            code = MEMORY.replace("N_READ", str(N_READ))
            _both(took, "joblib.Memory on what it reads", code, folder / f"{run}-memory")
    return [
        *(
            Figure(name, "s", seconds, floor=_floor_of(name))
            for name, seconds in sorted(took.items())
        ),
        *lacks,
    ]


def _both(took: dict[str, list[float]], name: str, code: str, folder: Path) -> None:
    """Add the seconds of two processes: the second finds what the first kept."""
    folder.mkdir()
    (folder / "job.py").write_text(MEMORY_JOB.format(body=BODY.replace("\n", "\n    ")))
    missed, hit = in_fresh_process(code, folder), in_fresh_process(code, folder)
    if missed["made"] != hit["made"]:
        message = f"{name}: the second process ran it again"
        raise AssertionError(message)
    for how, found in (("missed", missed), ("hit", hit)):
        took.setdefault(f"{name}, fresh process: {how}", []).append(found["s"])


def _floor_of(name: str) -> str | None:
    """None for the peer."""
    if name.startswith("joblib"):
        return None
    return PYTHON if name.endswith("hit") else DURABLE


def star_import(folder: Path, quick: bool) -> list[Figure]:
    """`from sympy import *` in a fresh process with and without nbckpt, and cells after it."""
    name = "from sympy import *"
    if absent := absences(name, ["sympy"]):
        return absent
    plain, ours = [], []
    for run in range(2 if quick else 7):
        for found, follows in ((plain, False), (ours, True)):
            place = folder / f"{run}-{follows}"
            place.mkdir()
            found.append(in_fresh_process(STAR.replace("FOLLOWS", str(follows)), place))
    ratio = median(f["star"] for f in ours) / median(f["star"] for f in plain)
    return [
        Figure(f"{name}, without nbckpt", "s", [f["star"] for f in plain]),
        Figure(f"{name}, auto on", "s", [f["star"] for f in ours], floor=PYTHON),
        Figure(f"{name}, auto on / without", "x", [ratio]),
        Figure("the first cell after it", "s", [f["first"] for f in ours], floor=PYTHON),
        Figure("a trivial cell after it", "s", [f["after"] for f in ours], floor=PYTHON),
        Figure("that cell, without nbckpt", "s", [f["after"] for f in plain]),
    ]
