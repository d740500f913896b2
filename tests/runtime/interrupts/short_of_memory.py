"""Verbs in a process whose memory runs out; prints what is wrong afterwards.

The address space is limited and filled, and some of it given back at random places: so large
allocations fail first, and small ones where they need a new arena, as on a full machine.
``python -m tests.runtime.interrupts.short_of_memory RUNS SEED`` ends with how many verbs failed.
"""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.runtime.interrupts.worlds import VERBS, disagreements, problems, world

TOO_LONG_S = 60
USUAL_ROOM = 3 << 20
"""Bytes; a verb here takes from some hundred kilobytes to 40 MB."""

SIZES = (1 << 20, 1 << 16, 1 << 12, 1 << 9)

RELIEF_S = 5
RELIEF = """
import resource, sys, time
pid, seconds, *limits = map(int, sys.argv[1:])
time.sleep(seconds)
resource.prlimit(pid, resource.RLIMIT_AS, tuple(limits))
"""
"""Gives a process its memory back, from outside. Where an exception passes an `except` or a
`finally` beyond the 256th instruction of a function, CPython needs an int for the place, and
where it gets none it begins again, for ever (`exception_unwind` in the ceval.c of 3.11)."""


def main(runs: int, seed: int) -> int:
    """Run so many; how many went wrong."""
    rng, bad, failed = random.Random(seed), 0, 0
    folder = Path(tempfile.mkdtemp())
    try:
        for _ in range(runs):
            verb = rng.choice(["checkpoint", "rewind", "fork", "update"])
            room = int(rng.expovariate(1 / USUAL_ROOM))
            faulthandler.dump_traceback_later(TOO_LONG_S, exit=True)
            error, wrong = run(folder / "store", verb, room, rng)
            failed += error is not None
            if wrong:
                bad += 1
                print(verb, room, *wrong, sep="\n  ")
                traceback.print_exception(error)
            shutil.rmtree(folder / "store")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{failed} of {runs} verbs failed")
    return bad


def run(
    folder: Path, verb: str, room: int, rng: random.Random
) -> tuple[Exception | None, list[str]]:
    """The failure of a verb that has so many bytes, if it fails, and all that is wrong then."""
    session = world(folder)
    _fill(session, rng)
    failure = None
    try:
        with full_memory(room, rng):
            VERBS[verb](session)
    except Exception as error:  # whichever says so: what is there afterwards counts
        failure = error
    wrong = problems(session) + disagreements(session)
    session.store.close()
    store = Store.open(folder)
    wrong += [str(p) for p in check(store.path).problems if p.kind != "unreachable"]
    store.close()
    return failure, wrong


def _fill(session: Session, rng: random.Random) -> None:
    which = rng.choice(["large", "many", "both"])
    if which != "many":
        session.namespace["large"] = bytearray(rng.randbytes(1 << 22)) * 6
    if which != "large":
        session.namespace["many"] = [{"a": [i, str(i)]} for i in range(30_000)]


@contextmanager
def full_memory(room: int, rng: random.Random) -> Iterator[None]:
    """In the block this process gets about so many more bytes."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    arguments = map(str, (os.getpid(), RELIEF_S, *before))
    relief = subprocess.Popen([sys.executable, "-S", "-c", RELIEF, *arguments])
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), before[1]))
    ballast: list[bytearray] = []
    try:
        for size in SIZES:
            with suppress(MemoryError):
                while True:
                    ballast.append(bytearray(size))
        rng.shuffle(ballast)
        while ballast and room > 0:
            room -= len(ballast.pop())
        yield
    finally:
        ballast.clear()
        resource.setrlimit(resource.RLIMIT_AS, before)
        relief.kill()
        relief.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])) > 0)
