"""Run the measures one after the other, and write what came of them."""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

from tests.bench.measures import MEASURES, Times

RESULTS = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("nbckpt", "ipython", "ipykernel", "numpy", "duckdb", "blake3", "cloudpickle")


def main() -> None:
    """Measure, print, and unless it was quick write `RESULTS.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer; writes nothing")
    parser.add_argument("--one", choices=MEASURES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        _measure(arguments.one, arguments.quick)
        return
    times: Times = {}
    for name in MEASURES:
        times |= _in_process(name, arguments.quick)
    text = _heading() + _table(times)
    print(text)
    if not arguments.quick:
        RESULTS.write_text(text)


def _measure(name: str, quick: bool) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="nbckpt-bench-") as folder,
        contextlib.redirect_stdout(sys.stderr),
    ):
        times = MEASURES[name](Path(folder), quick)
    print(json.dumps(times))


def _in_process(name: str, quick: bool) -> Times:
    command = [sys.executable, "-m", "tests.bench", "--one", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    times: Times = json.loads(done.stdout.splitlines()[-1])
    return times


def _heading() -> str:
    versions = ", ".join(f"{p} {_version(p)}" for p in PACKAGES)
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        "# What nbckpt costs and saves\n\n"
        f"Measured {dt.datetime.now(dt.UTC).date()} by `python -m tests.bench` on "
        f"{os.cpu_count()} cores ({platform.machine()}), {memory_gib:.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}, {versions}.\n\n"
    )


def _version(package: str) -> str:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    import nbckpt

    return nbckpt.__version__


def _table(times: Times) -> str:
    rows = ["| what | median | p95 or largest | runs |", "| --- | ---: | ---: | ---: |"]
    rows += [
        f"| {label} | {_text(median(found))} | {_text(_high(found))} | {len(found)} |"
        for label, found in times.items()
    ]
    return "\n".join(rows) + "\n"


def _high(found: list[float]) -> float:
    return quantiles(found, n=20)[-1] if len(found) >= 20 else max(found)


def _text(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
