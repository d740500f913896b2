"""Kernels that write one store, are killed and started again, while others read and prune it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_core.utils import ensure_event_loop

from nbckpt.capture.decode import Values
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.kernels import Kernel, KernelDiedError
from tests.running import environment

CELL = """%%checkpoint {name} --sync --tag keep
import numpy as np
made = np.random.default_rng({seed}).integers(0, 1000, {size})
told = [{name!r}, {seed}]
"""
MOVES = [
    "%rewind ~1",
    "%rewind -",
    "%fork ~1 {name}",
    "%nbckpt tag {last} seen",
    "%checkpoint {name}-by-hand",
    "with nbckpt.checkpoint({name!r}) as step:\n    for i in step.track(range(3)): b = i",
]
READS = {
    "log": ["log", "--all", "--json"],
    "sql": ["sql", "select count(*) from checkpoints"],
    "check": ["check"],
    "status": ["show", "~0"],
}
PAUSE_S = 0.5
REFUSED = ("CheckpointNotFoundError", "BranchNotFoundError", "UsageError")


@dataclass
class Crowd:
    """What came of it.

    Attributes
    ----------
    durable
        Name → seed and size of what a checkpoint that was reported holds.
    counts
        What was done how often.
    wrong
        What should not have been.
    """

    folder: Path
    durable: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def run(self, kernels: int, readers: int, seconds: float, *, kill_s: float) -> None:
        """Have so many go on for so long; each kernel lives for `kill_s` seconds on average."""
        until = time.monotonic() + seconds
        reads = list(READS)
        works: list[Callable[[], None]] = [
            *(lambda n=n: self._write(n, until, kill_s) for n in range(kernels)),  # type: ignore[misc]
            *(lambda n=n: self._read(reads[n % len(reads)], until) for n in range(readers)),  # type: ignore[misc]
            lambda: self._prune(until, kill_s),
        ]
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
        finally:
            ensure_event_loop().close()  # that of this thread, which the clients have made

    def _write(self, number: int, until: float, kill_s: float) -> None:
        rng, n = random.Random(number), 0
        while time.monotonic() < until:
            self.counts["kernels"] += 1
            with Kernel(self.folder) as kernel:
                killer = threading.Timer(rng.expovariate(1 / kill_s) + 1, kernel.kill)
                try:
                    kernel.run("import nbckpt\n%load_ext nbckpt")
                    killer.start()
                    while time.monotonic() < until:
                        n += 1
                        self._cell(kernel, rng, f"k{number}-{n}")
                        time.sleep(rng.uniform(0, PAUSE_S))
                except KernelDiedError:
                    self.counts["kernels killed"] += 1
                killer.cancel()

    def _cell(self, kernel: Kernel, rng: random.Random, name: str) -> None:
        seed, size = rng.randrange(1000), rng.choice([10, 5000, 200_000])
        ran = kernel.run(CELL.format(name=name, seed=seed, size=size))
        if not ran.ok or ran.stderr or any("NOT" in text for text in ran.notices):
            self.wrong.append(f"{name}: {ran.error} {ran.stderr} {ran.notices}")
        else:
            self.durable[name] = (seed, size)
            self.counts["checkpoints"] += 1
        move = rng.choice(MOVES).format(name=f"{name}-b", last=name)
        ran = kernel.run(move)
        if not ran.ok and not any(kind in ran.error for kind in REFUSED):
            self.wrong.append(f"{move}: {ran.error}")
        self.counts["moves"] += 1

    def _read(self, what: str, until: float) -> None:
        while time.monotonic() < until:
            if not (self.folder / ".nbckpt" / "format.json").exists():
                time.sleep(PAUSE_S)
                continue
            done = self._nbckpt(*READS[what])
            if what == "status" and done.returncode and "no checkpoint" in done.stderr.lower():
                continue
            if done.returncode or "Traceback" in done.stderr or "damage" in done.stderr:
                self.wrong.append(f"{what}: {done.returncode} {done.stdout[-500:]} {done.stderr}")
            self.counts[f"read: {what}"] += 1

    def _prune(self, until: float, kill_s: float) -> None:
        rng = random.Random(99)
        while time.monotonic() < until:
            time.sleep(kill_s / 10)
            if not (self.folder / ".nbckpt" / "format.json").exists():
                continue
            process = subprocess.Popen(
                [sys.executable, "-m", "nbckpt", "prune", "--keep-last", "5"],
                cwd=self.folder,
                env=environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                _, told = process.communicate(timeout=rng.choice([0.6, 2, 60, 60]))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.counts["prunes killed"] += 1
                continue
            self.counts["prunes"] += 1
            if process.returncode:
                self.wrong.append(f"prune: {process.returncode} {told}")

    def _nbckpt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "nbckpt", *arguments],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
        )

    def look(self) -> None:
        """Find out what was lost, and what a check says."""
        store = Store.open(self.folder / ".nbckpt", create=False)
        session = Session(store, {}, notebook="reader")
        held = session.timeline.checkpoints
        by_name = {c.name: c.id for c in held.values() if c.state == "done"}
        for name, (seed, size) in self.durable.items():
            if name not in by_name:
                self.wrong.append(f"{name} is lost")
                continue
            self._compare(session, name, by_name[name], seed, size)
        report = check(store.path)
        self.wrong += [str(p) for p in report.problems if p.kind != "unreachable"]
        store.close()

    def _compare(self, session: Session, name: str, ref: str, seed: int, size: int) -> None:
        import numpy as np

        values = Values(session.store, session.timeline.manifest(ref))
        made = np.random.default_rng(seed).integers(0, 1000, size)
        if values.build("told") != [name, seed] or not (values.build("made") == made).all():
            self.wrong.append(f"{name} holds something else")
