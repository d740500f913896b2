"""Verbs whose allocations fail from some instant on, in a process of its own; prints what is wrong.

``python -m tests.interrupts.short_of_memory RUNS SEED``
"""

from __future__ import annotations

import _testcapi
import faulthandler
import random
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from nbckpt.storage.store import Store
from tests.interrupts.worlds import VERBS, disagreements, problems, world

TOO_LONG_S = 60
USUAL = 3000
"""Allocations; a verb makes some thousands."""


def run(folder: Path, verb: str, after: int, many: int) -> list[str]:
    """What is wrong where so many allocations after the `after`-th fail."""
    session = world(folder)
    with suppress(Exception):  # whichever says so: what is there afterwards counts
        _testcapi.set_nomemory(after, after + many)
        try:
            VERBS[verb](session)
        finally:
            _testcapi.remove_mem_hooks()
    wrong = problems(session) + disagreements(session)
    session.store.close()
    store = Store.open(folder)
    wrong += [str(p) for p in store.check().problems if p.kind != "unreachable"]
    store.close()
    return wrong


def main(runs: int, seed: int) -> int:
    """Run so many; how many went wrong."""
    rng, bad = random.Random(seed), 0
    folder = Path(tempfile.mkdtemp())
    try:
        for _ in range(runs):
            verb = rng.choice(["checkpoint", "rewind", "fork", "update"])
            after, many = int(rng.expovariate(1 / USUAL)), rng.choice([1, 1, 3, 30])
            faulthandler.dump_traceback_later(TOO_LONG_S, exit=True)
            if wrong := run(folder / "store", verb, after, many):
                bad += 1
                print(verb, after, many, *wrong, sep="\n  ")
            shutil.rmtree(folder / "store")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])) > 0)
