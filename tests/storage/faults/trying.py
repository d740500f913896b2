"""One verb on a disk with one fault, and all that has to hold afterwards."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from nbckpt.errors import NbckptError, StoreError
from nbckpt.model import Checkpoint
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.storage.faults.disks import NO_LOCKS, READS, Disk, Fault, in_place
from tests.storage.faults.verbs import VERBS, State, World, begin, opened, state_at, state_of

LOST = "lost bytes that it had accepted"
"""What a session says that can keep nothing more: only where a sync has dropped them."""


STAYS = {"prune, old": "side", "prune, branch": "main"}
"""Which branch's head of before a prune cannot take."""
BETWEEN = {"rerun", "map"}
"""Verbs that run cells one after the other, and stop at the one that fails."""


class Template(NamedTuple):
    """A store to begin with, and what it promises."""

    folder: Path
    durable: dict[str, State]
    tips: dict[str, str]


def template(folder: Path) -> Template:
    """A store with something of everything in it."""
    world = World(folder / "template")
    begin(world)
    world.note_durable()
    tips = dict(world.session.timeline.branches)
    world.close()
    return Template(folder / "template", world.durable, tips)


def after_all(made: Template, verb: str, folder: Path) -> State:
    """What the namespace holds when the verb went well."""
    shutil.copytree(made.folder, folder)
    with opened(folder, verb) as world:
        VERBS[verb][1](world)
        state = state_of(world.namespace)
    shutil.rmtree(folder)
    return state


def attempt(made: Template, verb: str, fault: Fault, at: int, after: State, folder: Path) -> str:
    """What became of a verb whose call number `at` went wrong; "" if it made fewer.

    Raises
    ------
    AssertionError
        If a promise is broken.
    """
    shutil.copytree(made.folder, folder)
    disk = Disk()
    try:
        with warnings.catch_warnings(), in_place(disk):
            warnings.simplefilter("ignore")
            with opened(folder, verb) as world:
                outcome = _within(world, disk, verb, fault, at, after)
        require_promises(folder, made, world.durable, stays=made.tips.get(STAYS.get(verb, "")))
    finally:
        shutil.rmtree(folder)
    return outcome if disk.hit else ""


def _within(world: World, disk: Disk, verb: str, fault: Fault, at: int, after: State) -> str:
    before = state_of(world.namespace)
    disk.arm(fault, at)
    outcome = "done"
    try:
        VERBS[verb][1](world)
        outcome = "done, told later"
        world.store.wait()
        outcome = "done"
    except NbckptError as error:
        outcome = _told(error) if outcome == "done" else outcome
        require_sentence(error, world.folder)
    disk.mend()
    if verb in BETWEEN:
        pass
    elif fault.on & READS:  # what the disk does not give is named, and left out
        require_known(state_of(world.namespace), before, after)
    else:
        require_uniform(state_of(world.namespace), before, after)
    if outcome == "done" and not fault.dies:
        world.note_durable()
    if fault.dies:
        return outcome
    with suppress(NbckptError):
        world.store.wait()
    world.namespace["again"] = at
    kept = _kept(world, fault)
    if kept is None:
        return "lost, and said so"
    with suppress(NbckptError):
        world.store.wait()
    world.durable[kept.id] = state_of(world.namespace)
    return outcome


def _kept(world: World, fault: Fault) -> Checkpoint | None:
    """A checkpoint that is durable, now that the disk is mended; None if that is said not to be."""
    try:
        return world.session.checkpoint("again", sync=True)
    except StoreError as error:
        if not fault.drops or LOST not in str(error):
            raise
        return None


def _told(error: NbckptError) -> str:
    return type(error).__name__


def require_sentence(error: NbckptError, folder: Path) -> None:
    """One sentence; of the disk's refusals one that names where."""
    text = str(error)
    assert "\n" not in text, text
    assert "Errno" not in text, text
    if isinstance(error, StoreError):
        assert str(folder) in text or tempfile.gettempdir() in text, text


def require_uniform(now: State, before: State, after: State) -> None:
    """The namespace is as before or as after, never between."""
    assert now in (before, after), {
        n: (before.get(n, "-")[:60], now.get(n, "-")[:60], after.get(n, "-")[:60])
        for n in {*before, *now, *after}
        if not before.get(n) == now.get(n) == after.get(n)
    }


def require_known(now: State, before: State, after: State) -> None:
    """No variable holds what it never held."""
    assert all(held in (before.get(n), after.get(n)) for n, held in now.items()), now


def require_promises(
    folder: Path, made: Template, durable: dict[str, State], *, stays: str | None
) -> None:
    """The store opens, is whole, and holds all that was told to be durable."""
    store = Store.open(folder, create=False)
    report = check(store.path)
    assert report.ok, report.problems
    world = World(folder, notebook="another")
    try:
        timeline = world.session.timeline
        assert world.store.damages == []
        promised = {**made.durable, **durable}
        missing = promised.keys() - timeline.checkpoints.keys()
        excused = made.durable.keys() - {stays} if stays else set()
        assert missing <= excused, [i for i in missing if i not in excused]
        for checkpoint in timeline.checkpoints.values():
            held = state_at(world.session, checkpoint)
            assert held == promised.get(checkpoint.id, held), (
                checkpoint.name,
                {
                    n: (held.get(n, "-")[:40], promised[checkpoint.id].get(n, "-")[:40])
                    for n in {*held, *promised[checkpoint.id]}
                    if held.get(n) != promised[checkpoint.id].get(n)
                },
            )
        if timeline.head("main"):
            assert not world.session.resume().failed
            world.namespace["fresh"] = 1
            world.session.checkpoint("fresh", sync=True)
            world.store.wait()
    finally:
        world.close()


def attempts(
    made: Template, verb: str, faults: Iterable[Fault], folder: Path, *, step: int = 1
) -> Iterator[tuple[str, str]]:
    """Each fault at each call of a verb; what went wrong, and what became of it."""
    after = after_all(made, verb, folder)
    for fault in faults:
        at = 0
        while outcome := attempt(made, verb, fault, at, after, folder):
            yield f"{fault} at {at}", outcome
            at += step
            if fault is NO_LOCKS:
                break


def counted(outcomes: Iterable[tuple[str, str]]) -> Counter[str]:
    """How often each thing happened."""
    return Counter(outcome for _, outcome in outcomes)
