"""Long runs: ``python -m tests.random_programs --programs N --seed S --minutes M --jobs J``."""

from __future__ import annotations

import argparse
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BATCH = 100
"""Programs that one forked process runs: it begins with the warm state of its parent."""

MEMORY_BYTES = 8 << 30
"""Address space of such a process: a program that asks for more has a memory error."""

HANG_S = 60
"""Without a word for so long, a process is ended, and its program counts as failed."""


class Child(NamedTuple):
    """A process that runs a batch.

    Attributes
    ----------
    waiting
        The seeds of which it has not told.
    """

    pid: int
    pipe: int
    waiting: list[int]
    folder: Path


class Report:
    """What was found so far."""

    def __init__(self, *, is_first_enough: bool) -> None:
        self.began = time.monotonic()
        self.programs = 0
        self.kinds: Counter[str] = Counter()
        self.signatures: Counter[str] = Counter()
        self.is_first_enough = is_first_enough

    def take(self, told: dict[str, Any]) -> None:
        """Count a program; print the first of each kind of failure."""
        self.programs += 1
        if "signature" not in told:
            return
        self.kinds[told["kind"]] += 1
        self.signatures[told["signature"]] += 1
        if self.signatures[told["signature"]] == 1:
            at_s = time.monotonic() - self.began
            print(f"\n=== seed {told['seed']}, program {self.programs}, after {at_s:.1f} s")
            print(told["text"], flush=True)

    def text(self) -> str:
        """The counts, and how fast it went."""
        took_s = time.monotonic() - self.began
        kinds = ", ".join(f"{n} {kind}" for kind, n in self.kinds.most_common()) or "none"
        return (
            f"{self.programs} programs in {took_s:.0f} s ({self.programs / took_s:.1f} a second); "
            f"failures: {kinds}; {len(self.signatures)} distinct"
        )


def main() -> int:
    """Run programs until they are enough; 1 if one of them failed."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it says how many there were
    scratch = Path(tempfile.mkdtemp(prefix="random-", dir=_fast_folder()))
    os.environ["NBCKPT_HOME"] = str(scratch / "home")
    os.environ["IPYTHONDIR"] = str(scratch / "ipython")
    from tests.random_programs import batches

    batches.warm(scratch)
    report = Report(is_first_enough=options.first)
    try:
        _run_all(options, report, scratch)
    except KeyboardInterrupt:
        pass
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"\n{report.text()}")
    for signature, count in report.signatures.most_common(40):
        print(f"{count:6} {signature[:200]!r}")
    return 1 if report.signatures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="the first of them")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    parser.add_argument("--shrink-s", type=float, default=20, help="seconds to minimise one")
    return parser.parse_args()


def _fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _run_all(options: argparse.Namespace, report: Report, scratch: Path) -> None:
    ends = time.monotonic() + options.minutes * 60
    batches = _batches(options.seed, options.programs)
    children = selectors.DefaultSelector()
    heard: dict[int, tuple[Child, float, bytes]] = {}
    is_enough = False

    def begin() -> None:
        if time.monotonic() < ends and (seeds := next(batches, None)) is not None:
            child = _forked(seeds, scratch, options.shrink_s, set(report.signatures))
            children.register(child.pipe, selectors.EVENT_READ)
            heard[child.pipe] = child, time.monotonic(), b""

    def end(pipe: int) -> None:
        child, _, _ = heard.pop(pipe)
        if child.waiting and not is_enough:
            _take_lost(child, report, "ends its process")
        children.unregister(pipe)
        os.close(pipe)
        os.waitpid(child.pid, 0)
        shutil.rmtree(child.folder, ignore_errors=True)
        begin()

    for _ in range(options.jobs):
        begin()
    while heard:
        for key, _ in children.select(timeout=1):
            pipe = key.fd
            child, _, rest = heard[pipe]
            data = os.read(pipe, 1 << 20)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                report.take(json.loads(line))
                child.waiting.pop(0)
            heard[pipe] = child, time.monotonic(), rest
            if not data:
                end(pipe)
        is_enough = report.is_first_enough and bool(report.signatures)
        for pipe, (child, since, _) in list(heard.items()):
            if is_enough:
                ends = 0
                os.kill(child.pid, signal.SIGKILL)
                end(pipe)
            elif time.monotonic() - since > HANG_S + options.shrink_s:
                os.kill(child.pid, signal.SIGKILL)
                _take_lost(child, report, "hangs")
                end(pipe)


def _take_lost(child: Child, report: Report, what: str) -> None:
    """Count a program of which nothing was heard; those behind it in the batch are left out."""
    seed, waiting = child.waiting[0], list(child.waiting)
    child.waiting.clear()
    text = f"the program of seed {seed} {what}; {len(waiting) - 1} behind it were left out"
    report.take({"seed": seed, "kind": what, "signature": text, "text": text})


def _batches(seed: int, programs: int) -> Iterator[range]:
    for first in range(seed, seed + programs, BATCH):
        yield range(first, min(first + BATCH, seed + programs))


def _forked(seeds: range, scratch: Path, shrink_s: float, known: set[str]) -> Child:
    folder = scratch / f"batch-{seeds.start}"
    folder.mkdir()
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading, list(seeds), folder)
    status = 1
    try:
        os.close(reading)
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        with os.fdopen(writing, "w") as out:
            from tests.random_programs import batches

            for told in batches.tried(seeds, folder, shrink_s, known):
                out.write(json.dumps(told) + "\n")
                out.flush()
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
