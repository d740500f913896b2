"""Runs of all verbs on a recorded disk, what was promised meanwhile, and whether a disk keeps it."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.errors import NbckptError
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.notebooks import define
from tests.storage.faults.disks import in_place
from tests.storage.faults.power import Left, Recorded
from tests.storage.faults.trying import Template
from tests.storage.faults.verbs import (
    KEPT,
    VERBS,
    State,
    World,
    begin,
    checkpoint_again,
    prune_branch,
    prune_old,
    state_at,
)

STORE = "new/folders/s"


class Promise(NamedTuple):
    """What somebody was told is durable.

    Attributes
    ----------
    states
        Id of a checkpoint → what it holds.
    facts
        Heads of branches, tags and notes, kept steps and settings, each with what it says.
    """

    states: dict[str, State]
    facts: dict[str, str]


class Run(NamedTuple):
    """A recorded run; a promise by its number in the log."""

    recorded: Recorded
    promises: list[Promise]

    @property
    def known(self) -> dict[str, State]:
        """What each checkpoint holds that was ever durable."""
        return {i: state for promise in self.promises for i, state in promise.states.items()}

    def between(self, number: int) -> Promise:
        """What holds from this promise on, until the next one: what both say."""
        if number < 0:
            return Promise({}, {})
        here = self.promises[number]
        if number + 1 == len(self.promises):
            return here
        after = self.promises[number + 1]
        states = {i: state for i, state in here.states.items() if i in after.states}
        facts = {name: told for name, told in here.facts.items() if after.facts.get(name) == told}
        return Promise(states, facts)


def facts_of(world: World) -> dict[str, str]:
    """All that a store says, but for what checkpoints hold."""
    timeline, store = world.session.timeline, world.store
    facts = {f"head of {name}": tip for name, tip in timeline.branches.items()}
    for checkpoint in timeline.checkpoints.values():
        facts[f"tags of {checkpoint.id}"] = ",".join(checkpoint.tags)
        facts[f"note of {checkpoint.id}"] = checkpoint.note
    for record in store.records("step"):
        facts[f"step {record['name']} {record['arguments']}"] = record["state"]
    for record in store.records("recording"):
        facts[f"recording {record['id']}"] = record["state"]
    facts["config"] = store.config.text() or ""
    return facts


def promised(world: World) -> Promise:
    """What is durable when this returns."""
    world.note_durable()
    timeline = world.session.timeline
    states = {i: world.durable[i] for i in timeline.checkpoints}
    return Promise(states, facts_of(world))


def recorded_run(root: Path, run: Callable[[Path, Callable[[World], None]], None]) -> Run:
    """What `run` did in `root`; it is given where the store is, and how to promise."""
    recorded = Recorded(root)
    promises: list[Promise] = []

    def promise(world: World) -> None:
        promises.append(promised(world))
        recorded.told(len(promises) - 1)

    with warnings.catch_warnings(), in_place(recorded):
        warnings.simplefilter("ignore")
        run(root / STORE, promise)
    return Run(recorded, promises)


def from_nothing(root: Path) -> Run:
    """A new store, filled."""
    root.mkdir()

    def run(folder: Path, promise: Callable[[World], None]) -> None:
        world = World(folder)
        begin(world)
        promise(world)
        world.close()

    return recorded_run(root, run)


def all_verbs(root: Path, made: Template) -> Run:
    """Every verb, one after the other, in a store that held something."""
    shutil.copytree(made.folder, root / STORE)

    def run(folder: Path, promise: Callable[[World], None]) -> None:
        world = World(folder)
        promise(world)
        world.session.resume()
        define("import nbckpt" + KEPT, world.namespace)
        head = world.session.position.id
        assert head is not None
        for change, do in VERBS.values():
            if do.__name__.startswith("prune"):
                continue
            world.session.fork(head, f"for_{do.__name__}_{change.__name__}")
            define("import nbckpt" + KEPT, world.namespace)
            change(world.namespace)
            do(world)
            promise(world)
            world.session.writes.record_event("not promised", text="y" * 700)
        for do in (prune_branch, prune_old):
            do(world)
            promise(world)
            checkpoint_again(world)
            promise(world)
        world.close()

    return recorded_run(root, run)


def two_at_once(root: Path, made: Template) -> Run:
    """Two sessions that write, and prunes meanwhile."""
    shutil.copytree(made.folder, root / STORE)

    def run(folder: Path, promise: Callable[[World], None]) -> None:
        one, two = World(folder), World(folder)
        one.session.resume()
        two.session.switch("side")
        for turn, world in enumerate([one, two, one, two]):
            namespace: dict[str, Any] = world.namespace
            namespace["big"] = bytearray(bytes([turn]) * 300_000) + bytes(range(256)) * 500
            world.session.checkpoint(f"turn-{turn}", sync=True)
            promise(world)
            if turn != 1:
                VERBS["prune, old"][1](world)
                promise(world)
        for world in (one, two):
            world.close()

    return recorded_run(root, run)


def require_kept(run: Run, number: int, left: Left, folder: Path) -> None:
    """A disk that a power cut has left keeps what was promised before.

    Raises
    ------
    AssertionError
        If it does not.
    """
    left.build(folder)
    try:
        _require_kept(run.between(number), run.known, left, folder / STORE)
    finally:
        shutil.rmtree(folder)


def _require_kept(promise: Promise, known: dict[str, State], left: Left, folder: Path) -> None:
    world = World(folder, notebook="another")
    try:
        loose = {path.rpartition("/")[2] for path in left.loose if "/journal/" in path}
        store = Store.open(folder, create=False)
        report = check(store.path)
        torn = [p for p in report.problems if p.kind != "unreachable"]
        told = [*(str(p) for p in torn), *world.store.damages]
        assert all(any(name in text for name in loose) for text in told), told
        timeline = world.session.timeline
        missing = promise.states.keys() - timeline.checkpoints.keys()
        assert not missing, missing
        for checkpoint in timeline.checkpoints.values():
            held = state_at(world.session, checkpoint)
            assert held == known.get(checkpoint.id, held), checkpoint.name
        facts = facts_of(world)
        lost = {name: told for name, told in promise.facts.items() if facts.get(name) != told}
        assert not lost, {name: (told, facts.get(name)) for name, told in lost.items()}
        with suppress(NbckptError):
            world.session.resume()
        world.namespace["fresh"] = 1
        kept = world.session.checkpoint("fresh", sync=True)
        world.store.wait()
        assert state_at(world.session, kept)["fresh"] == "1"
    finally:
        world.close()
