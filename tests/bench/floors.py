"""Floors: the seconds that simple work takes on this machine at the moment.

Each process of a limit asks for them between the runs of its rows, so that a slow minute of the
machine makes floor and row slow together. A process of its own does the work: neither the memory
nor the threads of what is measured take part. `python -m tests.bench.floors FOLDER` is that process.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import mmap
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]

COPY, FDATASYNC, PYTHON, PYTHON_CPU = "copy", "fdatasync", "python", "python CPU"
AND = " + "
DURABLE = PYTHON + AND + FDATASYNC
"""The floor of a cell that waits for the disk: the sum of two."""

COPY_BYTES = 32 << 20
WRITE_BYTES = 4 << 10
TURNS = 4_000
EVERY_S = 1.0
"""At most so often between two rows: it takes some milliseconds, and threads go on meanwhile."""
AT_EACH_END = 5
PICKLING_S = 2e-4
"""A change is pickled for so long at least, as many times as that takes."""


class Floors:
    """Floors that are measured while it is open.

    Attributes
    ----------
    took
        Floor → seconds, each time that it was measured.
    """

    def __init__(self, folder: Path) -> None:
        self.took: dict[str, list[float]] = {}
        self._changes: dict[str, object] = {}
        self._last = 0.0
        self._worker = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.floors", str(folder)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.measure()
        self.took.clear()  # the first copy pays for its pages

    def measure(self) -> None:
        """Measure each floor once."""
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write("\n")
        self._worker.stdin.flush()
        found = json.loads(self._worker.stdout.readline())
        found |= {name: _pickling_s(value) for name, value in self._changes.items()}
        for name, seconds in found.items():
            self.took.setdefault(name, []).append(seconds)
        self._last = time.monotonic()

    def glance(self) -> None:
        """Measure each floor, unless that was done a moment ago."""
        if time.monotonic() - self._last >= EVERY_S:
            self.measure()

    def add_change(self, name: str, value: object) -> None:
        """Also measure a pickle of `value`, under `name`."""
        self._changes[name] = value

    def median_s(self, floor: str) -> float:
        """The median of a floor, or of the sum of several.

        Raises
        ------
        KeyError
            If there is no such floor.
        """
        return sum(median(self.took[name]) for name in floor.split(AND))

    def close(self) -> None:
        """End the process that does the work."""
        self._worker.communicate()


_open: list[Floors] = []


@contextlib.contextmanager
def measured_in(folder: Path) -> Iterator[Floors]:
    """Floors of the disk of `folder`, also at the beginning and at the end of the block."""
    floors = Floors(folder)
    _open.append(floors)
    try:
        for _ in range(AT_EACH_END):
            floors.measure()
        yield floors
        for _ in range(AT_EACH_END):
            floors.measure()
    finally:
        _open.remove(floors)
        floors.close()


def glance() -> None:
    """Measure the floors between two runs of a row, where a process holds rows against them."""
    if _open:
        _open[-1].glance()


def pickle_of(what: str, change: object) -> str:
    """The floor of a row that keeps `change`: one plain pickle of it."""
    name = f"pickle of {what}"
    if _open:
        _open[-1].add_change(name, change)
    return name


def _pickling_s(value: object) -> float:
    times, took_s = 0, 0.0
    began = time.perf_counter()
    while took_s < PICKLING_S:
        pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        times += 1
        took_s = time.perf_counter() - began
    return took_s / times


def _plain_python() -> int:
    """A fixed piece of dicts, lists, text, attributes and calls."""
    path, found = Path("a/b"), {}
    for n in range(TURNS):
        key = f"name {n % 97}"
        found[key] = [*found.get(key, ())[-3:], (n, path.name)]
    return sum(len(rows) for rows in found.values())


def _work(folder: Path) -> None:
    """Answer each line of the input with the seconds of each floor."""
    source, target = (mmap.mmap(-1, COPY_BYTES) for _ in range(2))
    source[:] = b"x" * COPY_BYTES
    there, here = memoryview(target), memoryview(source)
    fd = os.open(folder / "floor", os.O_CREAT | os.O_WRONLY)
    sync = getattr(os, "fdatasync", os.fsync)
    for _ in sys.stdin:
        laps = [time.perf_counter()]
        there[:] = here
        laps.append(time.perf_counter())
        os.write(fd, bytes(WRITE_BYTES))
        sync(fd)
        laps.append(time.perf_counter())
        cpu = time.process_time()
        _plain_python()
        laps.append(time.perf_counter())
        seconds = [after - before for before, after in itertools.pairwise(laps)]
        found = dict(zip((COPY, FDATASYNC, PYTHON), seconds, strict=True))
        print(json.dumps({**found, PYTHON_CPU: time.process_time() - cpu}), flush=True)


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
