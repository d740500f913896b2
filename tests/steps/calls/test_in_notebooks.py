"""Steps in real kernels: plain cells, `%%checkpoint` cells, `await`, kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.kernels import Kernel
from tests.running import environment

SETUP = """
%load_ext nbckpt
import nbckpt, asyncio

def note(text):
    with open("log", "a") as file:
        file.write(f"{text}\\n")

@nbckpt.step
def embed(doc):
    note(doc)
    return [len(doc), doc]
"""

TEN = """
@nbckpt.step
async def ask(q):
    note(f"q{q}")
    if q == 4:
        open("well").close()
    return q * 10
"""


def noted(folder: Path) -> list[str]:
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


@pytest.mark.slow
def test_cells_find_their_calls_again_in_a_new_kernel(tmp_path: Path) -> None:
    plain = "out = [embed(d) for d in ['a', 'bb', 'a']]; print(out)"
    marked = "%%checkpoint embed\nkept = [embed(d) for d in ['ccc', 'bb']]\nprint(kept)"
    with Kernel(tmp_path) as kernel:
        assert kernel.run(SETUP).ok
        first = kernel.run(plain).stdout
        assert kernel.run(marked).ok
        assert kernel.run(plain).stdout == first
        # `bb` is the first of its equals in each cell; the second `a` is a sample of its own.
        kernel.kill()
    with Kernel(tmp_path) as kernel:
        assert kernel.run(SETUP).ok
        assert kernel.run(plain).stdout == first
        again = kernel.run(marked)
        assert any("restored 'embed'" in notice for notice in again.notices), again
        edited = kernel.run(marked.replace("['ccc', 'bb']", "['ccc', 'new']"))
        assert edited.ok
        # To look empties the log, which the cells wrote: only now.
        assert noted(tmp_path) == ["a", "bb", "a", "ccc", "new"]
        rows = kernel.value(
            'nbckpt.sql("select name, step from steps where step is not null").fetchall()'
        )
        assert rows == "[('embed', 'embed'), ('embed', 'embed')]"


@pytest.mark.slow
def test_a_cell_of_which_one_call_fails_runs_one_when_it_runs_again(tmp_path: Path) -> None:
    cell = "%%checkpoint ask\nanswers = await asyncio.gather(*[ask(q) for q in range(10)])"
    with Kernel(tmp_path) as kernel:
        assert kernel.run(SETUP).ok
        assert kernel.run(TEN).ok
        assert "FileNotFoundError" in kernel.run(cell).error
        assert len(noted(tmp_path)) == 10
        (tmp_path / "well").touch()

        assert kernel.run(cell).ok

        assert noted(tmp_path) == ["q4"]
        assert kernel.value("answers") == str([10 * q for q in range(10)])


def test_a_function_that_was_defined_anew_runs_and_the_cell_says_why(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        assert kernel.run(SETUP).ok
        assert kernel.run("embed('a')").ok
        assert kernel.run("@nbckpt.step\ndef embed(doc):\n    note(doc)\n    return [0, doc]").ok

        ran = kernel.run("print(embed('a'))")

        assert ran.stdout == "[0, 'a']\n"
        assert "nbckpt: step 'embed' runs again: function 'embed' changed" in ran.stderr


KILLED = """
import pathlib, sys, time
import nbckpt

folder = pathlib.Path(sys.argv[1])
nbckpt.open(folder / ".nbckpt", namespace=globals())
log = open(folder / "log", "a", buffering=1)

@nbckpt.step
def ask(i):
    from builtins import print as say
    say(i, file=open(sys.argv[1] + "/log", "a"), flush=True)
    time.sleep(0.002)
    return i * i

with open(folder / "out", "w") as out:
    out.write(str([ask(i) for i in range(40)]))
(folder / "done").touch()
"""


@pytest.mark.slow
def test_killed_at_any_instant_only_the_call_in_flight_is_repeated(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(KILLED.replace('log = open(folder / "log", "a", buffering=1)\n', ""))
    command = [sys.executable, str(script), str(tmp_path)]
    log, kills = tmp_path / "log", 0
    chance = random.Random(4)
    while not (tmp_path / "done").exists():
        before = log.stat().st_size if log.exists() else 0
        process = subprocess.Popen(command, env=environment())
        while process.poll() is None and (not log.exists() or log.stat().st_size == before):
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.15))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()

    ran = Counter(log.read_text().split())
    assert kills > 1
    assert set(ran) == {str(i) for i in range(40)}
    assert sum(ran.values()) <= 40 + kills
    assert (tmp_path / "out").read_text() == str([i * i for i in range(40)])
