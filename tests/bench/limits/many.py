"""A store of 10,000 checkpoints: opened, resumed, listed, gone back in."""

from __future__ import annotations

from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.floors import PYTHON
from tests.bench.limits.beginning import in_fresh_process
from tests.bench.measures import _open

AT_MOST_S = 0.3
CHILD = """
import contextlib, io, json, time
from pathlib import Path
from tests.bench.shells import make_shell
shell = make_shell(Path.cwd())
took = {}
def lap(name, magic, line):
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_line_magic(magic, line)
    took[name] = time.perf_counter() - began
lap("load", "load_ext", "nbckpt")
lap("resume", "resume", "")
assert shell.user_ns["v7"] == [LAST], shell.user_ns["v7"]
lap("log", "nbckpt", "log")
lap("rewind", "rewind", "step-MIDDLE")
assert shell.user_ns["v7"] == [MIDDLE], shell.user_ns["v7"]
lap("back", "rewind", "-")
print("TOOK", json.dumps(took))
"""


def ten_thousand(folder: Path, quick: bool) -> list[Figure]:
    """Each of the first moves of a fresh process on a long history."""
    count, runs = (500, 2) if quick else (10_000, 7)
    session = _open(folder / ".nbckpt", {})
    for n in range(count):
        session.namespace[f"v{n % 50}"] = [n]
        session.checkpoint(f"step-{n}")
    session.wait()
    session.store.close()
    last, middle = count - 43, count // 2 + 7
    code = CHILD.replace("LAST", str(last)).replace("MIDDLE", str(middle))
    laps = [in_fresh_process(code, folder) for _ in range(runs)]
    name = f"{count:,} checkpoints"
    return [
        Figure(f"{name}: %load_ext", "s", [lap["load"] for lap in laps], floor=PYTHON),
        Figure(f"{name}: %resume", "s", [lap["resume"] for lap in laps], AT_MOST_S, PYTHON),
        Figure(f"{name}: %nbckpt log", "s", [lap["log"] for lap in laps], AT_MOST_S, PYTHON),
        Figure(
            f"{name}: %rewind half way", "s", [lap["rewind"] for lap in laps], AT_MOST_S, PYTHON
        ),
        Figure(f"{name}: %rewind -", "s", [lap["back"] for lap in laps], AT_MOST_S, PYTHON),
    ]
