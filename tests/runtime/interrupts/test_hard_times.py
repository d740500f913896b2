"""Memory that runs out, values whose own code is hostile, forks, and very many threads."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import NbckptError
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.running import environment
from tests.runtime.interrupts.worlds import VERBS, disagreements, picture, problems, world

HOSTILE = """
class Bad:
    def __init__(self, where, error):
        self.where, self.error = where, error
    def _raise(self, where):
        if self.where == where:
            raise self.error
    def __reduce_ex__(self, protocol):
        self._raise("reduce")
        return Bad, (self.where, self.error)
    def __repr__(self):
        self._raise("repr")
        return "bad"
    def __eq__(self, other):
        self._raise("eq")
        return True
    def __hash__(self):
        self._raise("hash")
        return 1
    def __len__(self):
        self._raise("len")
        return 1
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what the process has")
@pytest.mark.parametrize("runs", [30, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.timeout(600)
@pytest.mark.slow
def test_memory_that_runs_out_leaves_a_session_that_goes_on(runs: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.interrupts.short_of_memory", str(runs), "2"],
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    failed = re.search(r"^(\d+) of", done.stdout, re.MULTILINE)
    assert failed
    assert int(failed[1]) > runs / 4


@pytest.mark.parametrize("where", ["reduce", "repr", "eq", "hash", "len"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RecursionError, MemoryError])
def test_a_value_whose_own_code_raises_leaves_nothing_half_done(
    tmp_path: Path, where: str, error: type[BaseException]
) -> None:
    session = world(tmp_path / "store")
    exec(HOSTILE, session.namespace)
    session.namespace["bad"] = session.namespace["Bad"](where, error)
    before = picture(session)

    raised = is_raised(lambda: VERBS["checkpoint"](session))

    assert raised == (where == "reduce" and error is KeyboardInterrupt)
    assert problems(session) == []
    assert picture(session).values == before.values
    del session.namespace["bad"]
    assert disagreements(session) == []
    session.store.close()


def is_raised(act: Any) -> bool:
    try:
        act()
    except BaseException:
        return True
    return False


FORKING = """%%checkpoint forked
import multiprocessing, os, subprocess, sys
import numpy as np
large = np.arange(3_000_000)
%checkpoint large
pid = os.fork()
if pid == 0:
    os._exit(0)
status = os.waitpid(pid, 0)[1]
def double(n):
    return 2 * n
with multiprocessing.get_context("fork").Pool(2) as pool:
    doubled = pool.map(double, [1, 2])
told = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout
del pool
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12 on forks
def test_a_cell_may_fork_while_its_values_are_written(shell: Any) -> None:
    from nbckpt.steps import current_session

    ran = shell.run_cell(FORKING)

    assert ran.success
    session = current_session.session()
    session.wait()
    assert (shell.user_ns["status"], shell.user_ns["doubled"]) == (0, [2, 4])
    shell.run_cell("%rewind large")
    assert "doubled" not in shell.user_ns
    assert check(session.store.path).ok
    assert problems(session) == []


@pytest.mark.slow
def test_a_child_goes_on_as_a_session_of_its_own(tmp_path: Path) -> None:
    script = """
import os, sys, nbckpt
session = nbckpt.open(sys.argv[1], namespace={"__name__": "__main__"}, notebook="n")
session.namespace["x"] = 1
session.checkpoint("parent")
pid = os.fork()
session.namespace["y"] = list(range(50_000))
session.checkpoint("child" if pid == 0 else "again")
session.rewind("parent")
session.wait()
if pid == 0:
    os._exit(0)
sys.exit(os.waitpid(pid, 0)[1])
"""
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "store")]

    done = subprocess.run(command, env=environment(), capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    store = Store.open(tmp_path / "store")
    store.refresh()
    names = {record["name"] for record in store.records("checkpoint")}
    assert {"parent", "child", "again"} <= names
    assert check(store.path).ok
    store.close()


class Busy:
    """Threads that change variables and call what a session offers."""

    def __init__(self, session: Session, count: int) -> None:
        self.errors: list[str] = []
        self._session = session
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        rng = random.Random(number)
        while not self._over.is_set():
            try:
                self._act(number, rng)
            except NbckptError:  # a place that has just moved on, say: told, and nothing broken
                continue
            except Exception as error:
                self.errors.append(f"{type(error).__name__}: {error}")
            time.sleep(rng.uniform(0, 0.2))

    def _act(self, number: int, rng: random.Random) -> None:
        session, names = self._session, self._session.namespace
        match rng.randrange(12):
            case 0:
                session.history()
            case 1:
                session.get("one")
            case 2:
                session.tag("one", f"t{number}")
            case 3:
                session.event("event")
            case 4 if number % 20 == 0:
                session.checkpoint(f"by-{number}")
            case 5:
                names.pop(f"v{number}_0", None)
            case _:
                names[f"v{number}_{rng.randrange(3)}"] = [rng.random()] * rng.randrange(50)


def busy_threads(folder: Path, count: int, seconds: float) -> None:
    session = world(folder)
    busy = Busy(session, count)
    rng, until, made = random.Random(1), time.monotonic() + seconds, 0
    try:
        while time.monotonic() < until:
            VERBS[rng.choice(["checkpoint", "rewind", "resume", "go to"])](session)
            made += 1
    finally:
        busy.end()

    assert made > 0
    assert busy.errors == []
    assert problems(session) == []
    assert disagreements(session) == []
    assert check(session.store.path).ok
    session.store.close()


@pytest.mark.slow
def test_checkpoints_stand_among_threads_that_do_all_sorts_of_things(tmp_path: Path) -> None:
    busy_threads(tmp_path / "store", 40, 1.0)


@pytest.mark.long
def test_checkpoints_stand_among_two_hundred_threads(tmp_path: Path) -> None:
    busy_threads(tmp_path / "store", 200, 20.0)
