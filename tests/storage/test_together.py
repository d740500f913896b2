"""Two kernels write one store while others read it: nobody waits for anybody."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles

import pytest

from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from nbckpt.timeline.timeline import Timeline
from tests.kernels import Kernel
from tests.running import environment

CELLS = 25
CELL = """%%checkpoint {who}-{n}
import numpy as np
made_{n} = np.full(20_000, {n}.)
own = [{who!r}, {n}]
"""


def look(folder: Path) -> tuple[float, set[str]]:
    """Seconds that it takes to open the store and fold it, and the checkpoints that it shows."""
    began = time.perf_counter()
    store = Store.open(folder / ".nbckpt", create=False)
    timeline = Timeline()
    for record in store.refresh():
        timeline.apply(record)
    took_s = time.perf_counter() - began
    names = {r["name"] for r in store.records("checkpoint")}
    assert store.damages == []
    store.close()
    return took_s, names


def log(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbckpt", "log", "--all"]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)


@pytest.mark.slow
def test_two_kernels_write_while_others_read_and_nobody_waits(tmp_path: Path) -> None:
    reported: set[str] = set()
    looks: list[float] = []
    with Kernel(tmp_path) as one, Kernel(tmp_path) as other:
        kernels = {"one": one, "other": other}
        for kernel in kernels.values():
            assert kernel.run("%load_ext nbckpt").ok

        for n in range(CELLS):
            requests = {w: k.send(CELL.format(who=w, n=n)) for w, k in kernels.items()}
            for _ in range(3):
                took_s, seen = look(tmp_path)
                looks.append(took_s)
                assert reported <= seen
            if n % 10 == 5:
                listed = log(tmp_path)
                assert listed.returncode == 0, listed.stderr
                assert listed.stderr == ""
                assert reported <= set(listed.stdout.split())
            for who, request in requests.items():
                ran = kernels[who].collect(request)
                assert ran.ok, ran.error
                assert ran.stderr == ""
                assert ran.notices == []
                reported.add(f"{who}-{n}")

    _, names = look(tmp_path)
    store = Store.open(tmp_path / ".nbckpt", create=False)
    report = check(store.path)
    store.close()
    print(
        f"{len(looks)} looks: median {median(looks) * 1e3:.1f} ms, "
        f"p95 {quantiles(looks, n=20)[-1] * 1e3:.1f} ms, max {max(looks) * 1e3:.1f} ms"
    )
    assert len(reported) == 2 * CELLS
    assert reported <= names
    assert report.ok, report.problems
    assert median(looks) < 0.5  # a lock held over a cell or a commit would show


def test_each_kernel_keeps_its_own_state_and_sees_the_others_checkpoints(tmp_path: Path) -> None:
    with Kernel(tmp_path) as one, Kernel(tmp_path) as other:
        for kernel in (one, other):
            kernel.run("%load_ext nbckpt")
        one.run("%%checkpoint mine\nx = 1")
        other.run("%%checkpoint yours\nx = 2")

        by_name = other.run("%rewind mine")
        seen = other.run("%rewind main.1")

        assert "'mine' is on branch 'main.1'" in by_name.error
        assert seen.ok, seen.error
        assert other.value("x") == "1"
        assert one.value("x") == "1"
        assert other.run("%rewind -").ok
        assert other.value("x") == "2"
