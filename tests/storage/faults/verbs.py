"""A store with something of everything in it, and all verbs that write to one."""

from __future__ import annotations

import atexit
import linecache
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
from blake3 import blake3

from nbckpt.capture.decode import Values
from nbckpt.config.settings import Settings
from nbckpt.errors import NbckptError
from nbckpt.fingerprint import random_generators
from nbckpt.llm import scope
from nbckpt.model import Checkpoint
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.rerun.rerun import rerun
from nbckpt.storage.check import check
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from nbckpt.timeline.prune_retention import Retention
from tests.notebooks import define

State = Mapping[str, str]
"""Name of a variable → what it holds, as text."""

BEGINNING = """
import nbckpt
with nbckpt.checkpoint('start') as step:
    if step.todo:
        k = 2
        x = [1, 2]
        big = bytearray(range(256)) * 3000
with nbckpt.checkpoint('more', tags=['good']) as step:
    if step.todo:
        x.append(k)
        pair = [x, 'text' * 5000]
"""
KEPT = """
@nbckpt.step
def slow(n):
    return list(range(n))
"""


NOT_THE_USERS = {"nbckpt", "step", *random_generators.NAMES}


def seen(value: object) -> str:
    """What a value holds."""
    if isinstance(value, pd.DataFrame):
        return str(value.to_csv())
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes {blake3(value).hexdigest()}"
    return repr(value)


def state_of(namespace: Mapping[str, object]) -> State:
    """What the user's variables hold."""
    values = {n: v for n, v in namespace.items() if n[0] != "_" and not callable(v)}
    return {n: seen(v) for n, v in values.items() if n not in NOT_THE_USERS}


def state_at(session: Session, checkpoint: Checkpoint) -> State:
    """What a checkpoint holds; all of it is read."""
    manifest = session.timeline.manifest(checkpoint.id)
    values = Values(session.store, manifest)
    return state_of({name: values.build(name) for name in manifest})


class World:
    """A store, a session on it in a namespace of its own, and what was told to be durable.

    Attributes
    ----------
    durable
        Id of a checkpoint → what it held when somebody was told that it is durable.
    """

    def __init__(self, folder: Path, *, notebook: str = "test") -> None:
        self.folder = folder
        self.durable: dict[str, State] = {}
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.store = Store.open(folder)
        settings = Settings(patience_s=10.0)
        self.session = Session(
            self.store, self.namespace, notebook=notebook, branch="main", settings=settings
        )
        current_session.begin(self.session)

    def script(self, source: str) -> None:
        """Run a script whose text can be found, as that of a file can."""
        name = f"{self.folder}.{abs(hash(source))}.py"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), self.namespace)

    def note_durable(self) -> None:
        """Wait for the disk, and note all checkpoints that are there then."""
        self.store.wait()
        self.session.refresh()
        for checkpoint in self.session.timeline.checkpoints.values():
            if checkpoint.id not in self.durable:
                self.durable[checkpoint.id] = state_at(self.session, checkpoint)

    def close(self) -> None:
        """End the session, whatever the disk says."""
        current_session.end()
        with suppress(NbckptError, OSError):
            self.store.close()


def begin(world: World) -> None:
    """Fill a store."""
    world.script(BEGINNING)
    session, namespace = world.session, world.namespace
    namespace["frame"] = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    session.checkpoint("table")
    session.fork("start", "side", {"k": 7})
    session.checkpoint("aside")
    session.switch("main")
    session.note("table", "noted")
    define("import nbckpt" + KEPT, namespace)
    with scope.entered("steps"):
        namespace["slow"](3)


# -- verbs: each changes what it needs to, and then writes


def checkpoint_small(world: World) -> None:
    world.session.checkpoint("small", sync=True)


def checkpoint_again(world: World) -> None:
    world.session.checkpoint("one", tags=["t"], note="n", sync=True)
    world.namespace["k"] = 78
    world.session.checkpoint("two", sync=True)


def resume(world: World) -> None:
    world.session.resume()


def rewind(world: World) -> None:
    world.session.rewind("start")


def fork(world: World) -> None:
    world.session.fork("start", "tried", {"k": 5})


def switch(world: World) -> None:
    world.session.switch("side")


def update(world: World) -> None:
    world.session.update("more", {"k": 9}, None)


def rerun_script(world: World) -> None:
    rerun(world.session, "start", fresh=True, everything=True)


def tag(world: World) -> None:
    world.session.tag("start", "one", "two")
    world.session.tag("more", "good", delete=True)


def note(world: World) -> None:
    world.session.note("start", "another")


def prune_old(world: World) -> None:
    world.session.checkpoint("kept", sync=True)
    prune(world.store, Retention(keep_last=1))


def prune_branch(world: World) -> None:
    prune(world.store, Retention(drop=("side",), calls_days=0.0))


def keep_step(world: World) -> None:
    world.namespace["slow"](5)


def map_items(world: World) -> None:
    world.script(
        "import nbckpt\nwith nbckpt.checkpoint('mapped') as step:\n    if step.todo:\n"
        "        lists = nbckpt.map(slow, [4, 6, 7])\n"
    )


@cache
def provider() -> Provider:
    """A provider of models on loopback, as long as the tests run."""
    started = Provider().__enter__()
    atexit.register(started.__exit__, None, None, None)
    os.environ.update(started.environment())
    return started


def record(world: World) -> None:
    url = f"{provider().url}/v1/chat/completions"
    said = [{"role": "user", "content": "hi"}]
    with scope.entered("asked"):
        for _ in range(2):
            assert httpx.post(url, json={"model": "m", "messages": said}).is_success


def table(world: World) -> None:
    world.session.checkpoint("tabled", sync=True)
    world.session.sql("select count(*) from variable('frame')").fetchall()


def configure(world: World) -> None:
    world.store.config.write('{"auto": "on"}')


def event(world: World) -> None:
    world.session.writes.record_event("said", text="x" * 50)
    world.store.append([{"kind": "event", "event": "sure", "at": time.time()}]).result()


def look(world: World) -> None:
    world.session.history()
    check(world.store.path)  # whatever it says of a disk that gives nothing
    world.session.sql("select count(*) from checkpoints").fetchall()


def change_small(namespace: dict[str, Any]) -> None:
    namespace["x"].append(99)
    namespace["new"] = {"a": (1, 2)}


def change_large(namespace: dict[str, Any]) -> None:
    change_small(namespace)
    namespace["big"][5] = 17
    namespace["bigger"] = bytearray(b"0123456789abcdef" * 60_000)


def change_table(namespace: dict[str, Any]) -> None:
    namespace["frame"] = pd.DataFrame({"a": range(3000), "c": [0.5] * 3000})


def nothing(namespace: dict[str, Any]) -> None:
    pass


Verb = tuple[Callable[[dict[str, Any]], None], Callable[[World], None]]

VERBS: dict[str, Verb] = {
    "checkpoint, small": (change_small, checkpoint_small),
    "checkpoint, large": (change_large, checkpoint_small),
    "checkpoint, twice": (change_large, checkpoint_again),
    "checkpoint, table": (change_table, table),
    "resume": (nothing, resume),
    "rewind": (change_small, rewind),
    "fork": (change_large, fork),
    "switch": (change_small, switch),
    "update": (change_small, update),
    "rerun": (change_small, rerun_script),
    "tag": (nothing, tag),
    "note": (nothing, note),
    "prune, old": (nothing, prune_old),
    "prune, branch": (nothing, prune_branch),
    "step": (nothing, keep_step),
    "model calls": (nothing, record),
    "map": (nothing, map_items),
    "config": (nothing, configure),
    "event": (nothing, event),
    "look": (nothing, look),
}


@contextmanager
def opened(folder: Path, verb: str) -> Iterator[World]:
    """A session on the store that stands where it ended, with what the verb needs changed."""
    world = World(folder)
    try:
        if verb != "resume":
            world.session.resume()
            define("import nbckpt" + KEPT, world.namespace)
            with suppress(NbckptError):
                world.store.wait()
        VERBS[verb][0](world.namespace)
        yield world
    finally:
        world.close()
