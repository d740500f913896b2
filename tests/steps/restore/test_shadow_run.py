"""What is restored is run in a copy of the process, which does nothing outside of itself."""

from __future__ import annotations

import ast
import dataclasses
import gc
import mmap
import multiprocessing
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.config.settings import Settings
from nbckpt.errors import StaleCaptureError
from nbckpt.model import Cell
from nbckpt.runtime.landlock import LEAST_VERSION, landlock_version
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.restore.shadow_run import digests_of_all, shadow_of
from nbckpt.steps.step import Step

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is open")

Run = Callable[[str], Step]


@pytest.fixture
def step(session: Session) -> Run:
    """Restores or runs a step of the session, which verifies what is restored."""
    session.settings = Settings(verify="on")

    def begin(source: str) -> Step:
        tree = ast.parse(source)
        step = Step.begin(session, Request("step"), Cell(source), tree)
        if step.todo:
            exec(compile(tree, "<cell>", "exec", dont_inherit=True), session.namespace)
            step.finish()
        return step

    return begin


def reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the rule that finds what code reads."""
    monkeypatch.setattr("nbckpt.fingerprint.keys.inputs.Inputs.of_cell", lambda _: None)
    monkeypatch.setattr("nbckpt.capture.observation.Observer.difference", lambda *_: None)


def open_files() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def why_untold(session: Session, source: str, **changed: Any) -> str:
    """Why nothing is told of some code."""
    session.settings = Settings(verify="on")
    checkpoint = dataclasses.replace(session.checkpoint("any"), **changed)
    session.workspace.audit.shadows.clear()
    assert shadow_of(session, checkpoint, ast.parse(source)) is None
    [why] = session.workspace.audit.shadows
    return why


@pytest.mark.slow
@pytest.mark.changes_unseen
def test_a_step_that_is_restored_though_it_reads_another_value_is_told(
    session: Session, step: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads_nothing(monkeypatch)
    session.namespace.update(x=1, other=[1])
    step("y = x + 1; other.append(x)")
    session.namespace.update(x=5, other=[1])
    session.workspace.ran(None)

    restored = step("y = x + 1; other.append(x)")

    assert restored.restored
    assert {(one.name, one.step) for one in session.workspace.audit.found} == {
        ("y", "step"),
        ("other", "step"),
    }
    assert "'y' is not what running 'step' gives: its code" in "".join(session.writes.news)
    assert session.namespace["y"] == 2


@pytest.mark.slow
@pytest.mark.changes_unseen
def test_where_the_setting_says_so_it_is_an_error(
    session: Session, step: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.settings = Settings(verify="raise")
    reads_nothing(monkeypatch)
    session.namespace["x"] = 1
    step("y = x + 1")
    session.namespace["x"] = 2
    session.workspace.ran(None)

    with pytest.raises(StaleCaptureError, match="'y' is not what running 'step' gives"):
        step("y = x + 1")


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "y = [x, {'k': x}]; z = y",
        "import math, re\ndef f(a): return a * 2\nclass C:\n    def __init__(self): self.a = f(x)\nc = C()",
        "import numpy as np, pandas as pd\na = np.arange(5.0) * x; d = pd.DataFrame({'a': a})",
        "x += 1",
        "del gone",
        "words = {w for w in 'a b c d'.split()}; order = list(words)",
    ],
)
def test_what_is_restored_right_is_compared_and_not_told(
    session: Session, step: Run, source: str
) -> None:
    session.namespace.update(x=3, gone=1)
    step(source)
    session.namespace.update(x=3, gone=1)
    session.workspace.ran(None)

    restored = step(source)

    assert restored.restored, restored.why
    assert session.workspace.audit.shadows == {"compared": 1}
    assert session.workspace.audit.found == []


@pytest.mark.changes_unseen
def test_a_file_that_is_read_is_read_there_too(
    session: Session, step: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data.csv"
    monkeypatch.setattr("nbckpt.fingerprint.keys.inputs.Inputs.of_cell", lambda _: None)
    session.namespace["data"] = str(data)
    data.write_text("a\n3\n")
    source = "import pandas as pd; total = int(pd.read_csv(data).a.sum())"
    step(source)
    data.write_text("a\n6\n")

    restored = step(source)

    if (
        restored.restored and "it wants open" not in session.workspace.audit.shadows
    ):  # without Landlock
        assert {one.name for one in session.workspace.audit.found} == {"total"}


@pytest.mark.parametrize("act", ["open", "low", "parquet", "delete", "process"])
def test_without_landlock_nothing_is_opened(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr("nbckpt.runtime.landlock.confine", lambda: False)
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("there")

    assert why_untold(session, ACTS[act]).startswith(("it wants", "it raises"))
    assert why_untold(session, "x = open('there').read()") == "it wants open"
    assert Path("there").read_text() == "there"
    assert not Path("made").exists()


@pytest.mark.skipif(landlock_version() < LEAST_VERSION, reason="this kernel has no Landlock")
@pytest.mark.parametrize("act", ["open", "low", "delete", "system", "move", "numpy"])
def test_the_kernel_refuses_what_python_is_not_asked_about(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr("nbckpt.runtime.sandbox._Watch._is_stopped", lambda *_: False)
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("there")
    session.settings = Settings(verify="on")

    shadow_of(session, session.checkpoint("any"), ast.parse(ACTS[act]))

    assert {path.name for path in Path().iterdir()} == {".nbckpt", "there"}
    assert Path("there").read_text() == "there"


@pytest.mark.slow
def test_what_two_runs_make_differently_is_not_told(session: Session, step: Run) -> None:
    source = "import time, uuid, os; t, u, o = time.time_ns(), uuid.uuid4(), object(); n = 1"
    step(source)

    restored = step(source)

    assert restored.restored
    assert session.workspace.audit.shadows == {"compared": 1}
    assert session.workspace.audit.found == []


@pytest.mark.slow
def test_a_copy_leaves_this_process_as_it_is(session: Session, step: Run) -> None:
    held: list[int] = []
    session.namespace.update(held=held, n=1)
    step("n = 2; alias = held")
    step("n = 2; alias = held")
    before = open_files()
    session.workspace.audit.shadows.clear()
    tree = ast.parse(
        "held.append(1); import os, sys; os.environ['NEW'] = 'x'; sys.path.append('p')"
    )
    checkpoint = session.get("~0")

    shadow = shadow_of(session, checkpoint, tree)

    assert shadow is not None
    assert held == []
    assert "NEW" not in os.environ
    assert "p" not in sys.path
    assert open_files() == before


ACTS = {
    "open": "open('made', 'w').write('x')",
    "low": "import os; os.close(os.open('made', os.O_CREAT | os.O_WRONLY))",
    "path": "from pathlib import Path; Path('made').touch()",
    "process": "import subprocess; subprocess.run(['touch', 'made'])",
    "system": "import os; os.system('touch made')",
    "delete": "import os; os.remove('there')",
    "tree": "import shutil; shutil.rmtree('.')",
    "move": "import os; os.rename('there', 'made')",
    "numpy": "import numpy as np; np.save('made.npy', np.zeros(3))",
    "parquet": "import pyarrow as pa, pyarrow.parquet as pq; "
    "pq.write_table(pa.table({'a': [1]}), 'there')",
    "duckdb": "import sqlite3; sqlite3.connect('made').execute('create table t (a)')",
    "caught": "try:\n    open('made', 'w')\nexcept BaseException:\n    n = 1",
    "thread": "import threading; threading.Thread(target=print).start()",
    "kill": "import os, signal; os.kill(os.getppid(), signal.SIGURG)",
    "exit": "raise SystemExit",
    "hard exit": "import os; os._exit(0)",
    "raises": "1 / 0",
    "input": "input()",
}


@pytest.mark.parametrize("act", ACTS)
def test_code_that_wants_to_act_outside_is_stopped(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("there").write_text("there")

    why = why_untold(session, ACTS[act])

    assert why.startswith(("it wants", "it raises", "the copy died"))
    assert [path.name for path in Path().iterdir()] == ["there"]
    assert Path("there").read_text() == "there"


@pytest.mark.slow
def test_what_is_open_leads_nowhere_and_what_is_read_is_read_apart(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "in").write_text("one\ntwo\n")
    ours, theirs = socket.socketpair()
    ours.settimeout(0.2)
    with (tmp_path / "out").open("w") as out, (tmp_path / "in").open() as read, ours, theirs:
        session.namespace.update(out=out, theirs=theirs, fd=out.fileno(), read=read)
        session.settings = Settings(verify="on")
        checkpoint = session.checkpoint("any")
        tree = ast.parse(
            "import os\nout.write('x'); out.flush(); os.write(fd, b'y')\n"
            "try:\n    theirs.send(b'z')\nexcept OSError:\n    pass\nline = read.readline()"
        )
        shadow = shadow_of(session, checkpoint, tree)
        out.flush()
        with pytest.raises(TimeoutError):
            ours.recv(1)
        line = read.readline()

    assert shadow is not None
    assert "line" in shadow.digests
    assert line == "one\n"
    assert (tmp_path / "out").read_text() == ""


@pytest.mark.parametrize("kind", ["a file's", "nobody's"])
def test_memory_that_others_see_is_a_copys_own(session: Session, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "map"
    file.write_bytes(bytes(4096))
    memory = np.memmap(file, np.uint8, "r+") if kind == "a file's" else mmap.mmap(-1, 4096)
    memory[0], memory[4095] = 3, 4
    session.settings = Settings(verify="on")
    session.namespace["memory"] = memory
    source = "memory[0] += 1; n = int(memory[0]), int(memory[4095]), len(memory)"

    shadow = shadow_of(session, session.checkpoint("any"), ast.parse(source))

    session.namespace["n"] = 4, 4, 4096
    assert shadow is not None
    assert shadow.digests["n"] == digests_of_all(session)["n"]
    assert memory[0] == 3
    del session.namespace["memory"]


def test_a_lock_of_processes_is_taken_in_the_copy_alone(session: Session) -> None:
    lock = multiprocessing.Lock()
    session.settings = Settings(verify="on")
    session.namespace["lock"] = lock

    shadow = shadow_of(session, session.checkpoint("any"), ast.parse("n = lock.acquire()"))

    assert shadow is not None
    assert "n" in shadow.digests
    assert lock.acquire(block=False)
    lock.release()


def test_memory_that_is_mapped_twice_is_not_copied(session: Session, tmp_path: Path) -> None:
    session.namespace["mapped"] = np.memmap(tmp_path / "map", np.uint8, "w+", shape=4096)
    session.namespace["again"] = np.memmap(tmp_path / "map", np.uint8, "r", shape=4096)

    why = why_untold(session, "mapped[0] = 1")

    assert why == "this process shares memory with others"
    assert session.namespace.pop("mapped")[0] == 0
    gc.collect()


def test_large_memory_that_others_see_is_not_copied(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbckpt.runtime.sandbox._MOST_COPIED", 1 << 20)
    session.namespace["mapped"] = np.memmap(tmp_path / "map", np.uint8, "w+", shape=2 << 20)

    assert why_untold(session, "mapped[0] = 1") == "this process shares memory with others"

    assert session.namespace.pop("mapped")[0] == 0
    gc.collect()


@pytest.mark.parametrize(
    ("source", "changed", "why"),
    [
        ("n = 1", {"duration_s": 1e3}, "it takes long"),
        ("import asyncio\nawait asyncio.sleep(0)", {}, "it awaits"),
        ("exec('n = 1')", {}, "it can touch any name"),
        ("nb.checkpoint('x')", {}, "it calls nbckpt"),
        ("import time; time.sleep(60)", {}, "it did not end in time"),
    ],
)
def test_what_cannot_be_run_is_restored_without(
    session: Session, monkeypatch: pytest.MonkeyPatch, source: str, changed: Any, why: str
) -> None:
    monkeypatch.setattr("nbckpt.steps.restore.shadow_run.PATIENCE_S", 0.5)
    import nbckpt

    session.namespace["nb"] = nbckpt
    assert why_untold(session, source, **changed) == why


@pytest.mark.slow
def test_locks_that_other_threads_hold_end_with_the_patience(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbckpt.steps.restore.shadow_run.PATIENCE_S", 0.5)
    lock = threading.Lock()
    session.namespace["lock"] = lock
    with lock:
        assert why_untold(session, "with lock: n = 1") == "it did not end in time"
