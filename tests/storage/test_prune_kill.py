"""Prunes that are killed at random instants beside a session that writes.

The long form (``pytest -m long tests/storage/test_prune_kill.py``) kills 200 times.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.pruning import prune
from nbckpt.storage.rewriting import folded
from nbckpt.storage.store import Store
from tests.storage.pruning import CALLS_TOO, KEPT, advance, wrong_in


def start(what: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.storage.pruning", what, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class Writer:
    """A session in a process of its own, and the checkpoints that it was told are durable."""

    def __init__(self, path: Path) -> None:
        self.made: list[str] = []
        self._process = start("write", path)
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.made.append(line.strip())

    def wait_for(self, count: int) -> None:
        wanted = len(self.made) + count
        while len(self.made) < wanted:
            assert self._process.poll() is None, "the writer failed"
            time.sleep(0.005)

    def end(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.close()
        code = self._process.wait(60)
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


def kill_prunes(path: Path, times: int, seed: int) -> tuple[int, int]:
    """How many prunes ended well before the kills, and how many checkpoints were made."""
    rng = random.Random(seed)
    writer = Writer(path)
    pruned, made, span_s = 0, 0, 0.3
    try:
        writer.wait_for(KEPT + 2)
        for kill in range(times):
            if kill % 25 == 24:  # its journal is long by now, and only that of the dead shrinks
                assert writer.end() == 0
                made += len(writer.made)
                writer = Writer(path)
                writer.wait_for(KEPT + 2)
            if kill % 8 == 7:  # one that nobody kills: how long it takes depends on the machine
                began = time.monotonic()
                prune(Store.open(path), CALLS_TOO)
                span_s = 2 * (time.monotonic() - began)
            victim = start(rng.choice(["prune", "prune", "both"]), path)
            assert victim.stdin is not None
            assert victim.stdout is not None
            assert victim.stdout.readline() == "ready\n"
            acknowledged = writer.made[-1]
            victim.stdin.write("\n")
            victim.stdin.flush()
            time.sleep(rng.uniform(0, span_s))
            victim.kill()
            said = victim.communicate()[0]
            pruned += said.count("\n")
            problems = [p for p in check(Store.open(path).path).problems if p.kind != "unreachable"]
            assert not problems, (kill, problems)
            assert not (wrong := wrong_in(path)), (kill, wrong)
            newest = writer.made[-1]
            timeline = folded(Store.open(path).refresh())
            assert newest in timeline.checkpoints, (kill, newest)
            assert len(timeline.ancestry(newest)) >= KEPT, kill
            assert acknowledged in timeline.checkpoints or len(writer.made) > KEPT
            print(kill, pruned, len(writer.made), f"{span_s:.2f} s", flush=True)
            writer.wait_for(1)
    finally:
        code = writer.end()
    assert code == 0
    prune(Store.open(path), CALLS_TOO)
    report = check(Store.open(path).path)
    assert report.ok, report.problems
    assert not [p for p in report.problems if "left by a prune" in p.what]
    assert not wrong_in(path)
    return pruned, made + len(writer.made)


@pytest.mark.slow
def test_prunes_that_are_killed_beside_a_writer_lose_nothing(tmp_path: Path) -> None:
    pruned, made = kill_prunes(tmp_path / "s", 9, seed=3)

    assert pruned
    assert made > 15


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_killed_prunes_lose_nothing(tmp_path: Path) -> None:
    pruned, made = kill_prunes(tmp_path / "s", 200, seed=4)

    print(f"200 kills, {pruned} prunes that ended before, {made} checkpoints")
    assert pruned > 100


@pytest.mark.slow
def test_a_prune_that_dies_at_any_step_leaves_a_good_store(tmp_path: Path) -> None:
    path = tmp_path / "s"
    for notebook in ("one", "other", "third"):
        session = Session(Store.open(path), {}, notebook=notebook)
        rng = random.Random(notebook)
        for n in range(14):
            advance(session, n, rng)
        session.store.close()

    dying = subprocess.run(
        [sys.executable, "-m", "tests.storage.pruning", "steps", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )

    said = dying.stdout.splitlines()
    assert dying.returncode == 0, dying.stderr
    assert [line for line in said if line.startswith("wrong")] == []
    assert int(said[-1].removeprefix("steps ")) > 10
