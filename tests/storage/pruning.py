"""Sessions that write and prunes that go on, for tests that kill them: run as programs.

``python -m tests.storage.pruning write PATH`` makes checkpoint after checkpoint until its input ends, and
says of each that is durable; ``prune PATH`` prunes again and again; ``both PATH`` is a session that
does both; ``steps PATH`` prunes copies of a store that die at each step on the disk.
"""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import select
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nbckpt.capture.decode import Values
from nbckpt.fingerprint import random_generators
from nbckpt.session.session import Session
from nbckpt.storage import disk
from nbckpt.storage.check import check
from nbckpt.storage.pruning import prune
from nbckpt.storage.rewriting import folded
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recordings import RECORDING, recording_record
from tests.llm.test_records import ONE

KEPT = 4
CALLS_TOO = Retention(keep_last=KEPT, calls_days=0.0)
BIG_BYTES = 300_000


def digest(value: object) -> str:
    """What tells a value from others."""
    data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def advance(session: Session, n: int, rng: random.Random) -> str:
    """Id of another checkpoint, with values that came before and values that are new."""
    namespace = session.namespace
    if n % 11 == 10:
        session.rewind(f"~{rng.randint(1, 3)}")
    # Bytes that were there come again: then they are relied upon, while a prune may take them.
    namespace["big"] = np.random.default_rng(rng.randrange(6)).bytes(BIG_BYTES)
    namespace["array"] = np.random.default_rng(rng.randrange(6)).random(BIG_BYTES // 8)
    namespace[f"own{n % 5}"] = [n] * 10
    if n % 7 == 3:
        namespace.pop(f"own{(n + 1) % 5}", None)
    ask(session, f"n{n}", rng)
    namespace["expected"] = {k: digest(v) for k, v in namespace.items() if k in names(namespace)}
    made = session.checkpoint(f"n{n}", sync=True, tags=["kept"] if n % 40 == 0 else ())
    return made.id


def ask(session: Session, step: str, rng: random.Random) -> None:
    """Keep a model call of a step, as if a model had answered."""
    with session.store.writing():
        blob = session.store.put_blob([b"asked", rng.randbytes(rng.choice([100, 20_000]))])
        asked = ONE._replace(
            id=secrets.token_hex(10), step=step, blob=blob, session=session.id, state="done",
            created_at=time.time(), position=session.position.id,
        )  # fmt: skip
        session.writes.append([recording_record(asked)])


def names(namespace: dict[str, object]) -> set[str]:
    """The variables that are told by their digest."""
    return {n for n in namespace if n in ("big", "array") or n.startswith("own")}


def wrong_in(path: Path, most: int = 20) -> list[str]:
    """What is not as it was in checkpoints of a store, as a new reader finds them.

    Parameters
    ----------
    most
        How many are looked at, beside the heads of branches.
    """
    store = Store.open(path, create=False)
    wrong = []
    timeline = folded(store.refresh())
    ids = sorted(timeline.checkpoints)
    chosen = {*timeline.branches.values(), *random.sample(ids, min(most, len(ids)))}
    asked = {record["step"] for record in store.records(RECORDING)}
    for checkpoint in (timeline.checkpoints[i] for i in sorted(chosen)):
        if checkpoint.name[1:].isdecimal() and checkpoint.name not in asked:
            if checkpoint.id in folded(Store.open(path).refresh()).checkpoints:
                wrong.append(f"{checkpoint.name}: its model call is gone")
            continue
        manifest = timeline.manifest(checkpoint.id)
        values = Values(store, manifest)
        try:
            found = {n: values.build(n) for n in manifest if n not in random_generators.NAMES}
        except Exception as error:
            # Somebody may have pruned it after this reader had looked.
            if checkpoint.id in folded(Store.open(path).refresh()).checkpoints:
                wrong.append(f"{checkpoint.name}: {error}")
            continue
        if {n: digest(v) for n, v in found.items() if n in names(found)} != found["expected"]:
            wrong.append(f"{checkpoint.name}: other values")
    store.close()
    return wrong


def write(path: Path) -> None:
    """Make checkpoints until the input ends."""
    session = Session(Store.open(path), {}, notebook="writer")
    rng, n = random.Random(str(path)), 0
    while not select.select([sys.stdin], [], [], rng.choice([0, 0, 0.001, 0.02, 0.2]))[0]:
        print(advance(session, n, rng), flush=True)
        n += 1
    session.store.close()


def prune_on(path: Path) -> None:
    """Prune until somebody kills this."""
    store = Store.open(path)
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        branches = folded(store.all_records()).branches
        dead = tuple(name for name in branches if name.startswith("both"))
        pruned = prune(store, Retention(keep_last=KEPT, drop=dead, calls_days=0.0))
        print(len(pruned.checkpoints), pruned.left, flush=True)


def write_and_prune(path: Path) -> None:
    """Be a session that prunes its own store, until somebody kills it."""
    session = Session(Store.open(path), {}, notebook=f"both-{os.getpid()}")
    rng, n = random.Random(os.getpid()), 0
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        advance(session, n, rng)
        n += 1
        pruned = prune(session.store, CALLS_TOO)
        session.refresh()
        print(len(pruned.checkpoints), pruned.left, flush=True)


def die_at_each_step(path: Path) -> None:
    """Prune copies of a store, the n-th of which dies before its n-th step; say what is wrong."""
    for step in range(10_000):
        copy = path.with_name(f"copy-{step}")
        shutil.copytree(path, copy)
        if (child := os.fork()) == 0:
            _die_at(step)
            prune(Store.open(copy), CALLS_TOO)
            os._exit(0)
        died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _say_what_is_wrong(copy, step)
        prune(Store.open(copy), CALLS_TOO)
        _say_what_is_wrong(copy, step, is_clean=True)
        shutil.rmtree(copy)
        if died == 0:
            print("steps", step, flush=True)
            return
        assert died == 9, died


def _say_what_is_wrong(path: Path, step: int, *, is_clean: bool = False) -> None:
    report = check(Store.open(path, create=False).path)
    left = "left by a prune" if is_clean else "nothing is that"
    problems = [p for p in report.problems if p.kind != "unreachable" or left in p.what]
    for what in [*map(str, problems), *wrong_in(path)]:
        print("wrong", step, what, flush=True)


def _die_at(step: int) -> None:
    count = iter(range(step, -1, -1))

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if next(count) == 0:
                os._exit(9)
            return call(*args, **kwargs)

        return called

    for name in ("pwrite", "fsync", "fdatasync", "rename", "replace", "unlink", "ftruncate"):
        setattr(os, name, dying(getattr(os, name)))
    for name in ("rename", "replace", "unlink"):
        setattr(Path, name, dying(getattr(Path, name)))
    assert disk.os is os


def main() -> None:
    """Be what the first argument says."""
    what = {"write": write, "prune": prune_on, "both": write_and_prune, "steps": die_at_each_step}
    what[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    main()
