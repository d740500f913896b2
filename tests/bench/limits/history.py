"""Moving in the history: rewinds of a large notebook, many forks, a long list."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.floors import COPY, PYTHON
from tests.bench.limits.beginning import in_fresh_process
from tests.bench.measures import _open, timed

REWIND_AT_MOST_S = 0.15
FORK_AT_MOST_S = 0.02
LIST_AT_MOST_S = 0.01
MEMORY_AT_MOST = 1.3
"""Times the bytes of the state, which stay when everything has been gone through and read."""
RECORDS_AT_MOST_B = 400 * 1_000
REWINDS = """
import json, random, time
from pathlib import Path
from tests.bench.shells import Notebook, memory_mb
MIB, MOVES = PARAMETERS
notebook = Notebook(Path.cwd())
notebook.run("import numpy as np, pandas as pd")
before = memory_mb("VmRSS")
count = MIB * (1 << 20) // 8 // 10
for n in range(8):
    notebook.run(f"a{n} = np.random.default_rng({n}).random({count})")
notebook.run(f"df = pd.DataFrame(np.random.default_rng(8).random(({count} // 5, 10)))")
for n in range(9, 50):
    notebook.run(
        f"a{n % 8} = np.random.default_rng({n}).random({count})" if n % 3
        else f"a{n % 8}[:{count // 20}] += 1; df[{n % 10}] = df[{n % 10}] * 2; k = {n}"
    )
notebook.wait()
ids = [c.id for c in notebook.session.history()]
sums = "sum(float(v.sum()) for n, v in globals().items() if n in {'a%d' % i for i in range(8)})"
drawn, took, touched, wrong = random.Random(0), [], [], 0
expected = {}
for _ in range(MOVES):
    target = drawn.choice(ids[:42])
    began = time.perf_counter()
    moved = notebook.session.rewind(target)
    took.append(time.perf_counter() - began)
    total = eval(sums, notebook.shell.user_ns) + float(notebook.shell.user_ns["df"].to_numpy().sum())
    touched.append(time.perf_counter() - began)
    wrong += expected.setdefault(target, total) != total
    del moved
import gc
gc.collect()
after = memory_mb("VmRSS")
ns = notebook.shell.user_ns
state = sum(ns[f"a{n}"].nbytes for n in range(8)) + int(ns["df"].memory_usage().sum())
assert not wrong, f"{wrong} of {MOVES} states were others"
print("TOOK", json.dumps({"took": took, "touched": touched, "grown": (after - before) * (1 << 20) / state}))
"""


def rewinds(folder: Path, quick: bool) -> list[Figure]:
    """Random rewinds among the checkpoints of a large notebook, and what memory they leave taken."""
    mib, moves = (50, 10) if quick else (500, 100)
    found = in_fresh_process(REWINDS.replace("PARAMETERS", json.dumps([mib, moves])), folder)
    name = f"rewinds among 50 checkpoints of {mib} MiB"
    return [
        Figure(name, "s", found["took"], REWIND_AT_MOST_S, PYTHON),
        Figure(f"{name}, and every byte read", "s", found["touched"], floor=COPY),
        Figure(f"{name}: memory at the end / the state", "x", [found["grown"]], MEMORY_AT_MOST),
    ]


def forks(folder: Path, quick: bool) -> list[Figure]:
    """Forks of one checkpoint: what each costs beside the same restore, and what all of them store."""
    count = 10 if quick else 100
    store = folder / ".nbckpt"
    session = _open(store, {"values": list(range(1000)), "k": 1})
    session.checkpoint("start")
    session.namespace["k"] = 2
    session.checkpoint("end")
    session.wait()
    before = _size(store)
    switched, forked = [], []
    for n in range(count):
        session.fork("start", f"try-{n}")
        switched.append(timed(lambda: session.switch("main")))
        forked.append(timed(lambda n=n: session.fork("start", f"again-{n}")))
        session.switch("main")
    session.wait()
    stored = _size(store) - before
    beside = [fork - switch for fork, switch in zip(forked, switched, strict=True)]
    return [
        Figure("a fork of one checkpoint", "s", forked, floor=PYTHON),
        Figure("a switch back", "s", switched, floor=PYTHON),
        Figure("a fork, beside a switch that restores as much", "s", beside, FORK_AT_MOST_S),
        Figure(
            f"bytes stored by {2 * count} forks and as many switches",
            "B",
            [float(stored)],
            float(RECORDS_AT_MOST_B),
        ),
    ]


def listing(folder: Path, quick: bool) -> list[Figure]:
    """A timeline of 1,000 checkpoints as a list, from records alone."""
    from nbckpt.reports.log import log_text
    from nbckpt.reports.timeline_rows import Listing

    count, runs = (100, 3) if quick else (1_000, 15)
    session = _open(folder / ".nbckpt", {})
    for n in range(count):
        session.namespace[f"v{n % 50}"] = [n]
        session.checkpoint(f"step-{n}")
    session.wait()
    session.store.close()
    again = _open(folder / ".nbckpt", {})
    first = timed(lambda: Listing(again).list())
    cold = [timed(lambda: Listing(again).list()) for _ in range(runs)]
    known = Listing(again)
    listed = [timed(lambda: known.list()) for _ in range(runs)]
    text = [timed(lambda: log_text(again.timeline, None, None)) for _ in range(runs)]
    name = f"{count:,} checkpoints"
    return [
        Figure(f"{name} listed for the first time in a process", "s", [first], floor=PYTHON),
        Figure(f"{name} listed for the widget", "s", cold, LIST_AT_MOST_S, PYTHON),
        Figure(f"{name} listed for the widget again", "s", listed, LIST_AT_MOST_S, PYTHON),
        Figure(f"{name} as the text of a log", "s", text, floor=PYTHON),
    ]


def _size(store: Path) -> int:
    return sum(f.stat().st_size for f in store.rglob("*") if f.is_file())
