"""An interrupt at any instant of a verb leaves all as before it or as after it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.runtime.interrupts.instants import Instants, each_instant
from tests.runtime.interrupts.worlds import VERBS, Picture, disagreements, picture, problems, world

pytestmark = pytest.mark.sampled(7)

QUICK = 3


def interrupted(
    folder: Path, verb: str, at: int, again: int | None = None
) -> tuple[list[str], str]:
    """What is wrong after an interrupt at an instant of a verb; and where that was."""
    session = world(folder)
    instants = Instants(at, again)
    before = picture(session)
    try:
        instants.run(lambda: VERBS[verb](session))
        was_raised = False
    except KeyboardInterrupt:
        was_raised = True
    wrong = problems(session)
    now = picture(session)
    after = expected(folder.parent, verb)
    if instants.hit is not None and not was_raised:
        wrong.append("the interrupt was lost")
    if not is_same(now, before) and not is_same(now, after):
        wrong.append(f"between: {now}\nbefore: {before}\nafter: {after}")
    wrong += disagreements(session)
    session.store.close()
    wrong += [] if instants.hit is None else [str(p) for p in report(folder)]
    shutil.rmtree(folder)
    return wrong, instants.told()


def report(folder: Path) -> list[object]:
    """What a check of the store says."""
    store = Store.open(folder)
    try:
        return [problem for problem in check(store.path).problems if problem.kind != "unreachable"]
    finally:
        store.close()


_expected: dict[str, Picture] = {}


def expected(folder: Path, verb: str) -> Picture:
    """What is there after the verb."""
    if verb not in _expected:
        session = world(folder / "expected")
        VERBS[verb](session)
        _expected[verb] = picture(session)
        session.store.close()
        shutil.rmtree(folder / "expected")
    return _expected[verb]


def is_same(one: Picture, other: Picture) -> bool:
    """Whether two pictures are; where the head is what was kept of the unsaved, it is its own."""
    return one == other


def instants_of(folder: Path, verb: str) -> Instants:
    """All instants of a verb."""
    session = world(folder)
    instants = Instants()
    instants.run(lambda: VERBS[verb](session))
    session.store.close()
    shutil.rmtree(folder)
    return instants


def wrong_in(folder: Path, verb: str, count: int | None) -> list[tuple[str, list[str]]]:
    """What is wrong after interrupts of a verb, each at another place; None: at all of them.

    Every second one is followed by another, soon.
    """
    places = sorted(instants_of(folder / "counted", verb).places.values())
    rng = random.Random(verb)
    chosen = rng.sample(places, len(places) if count is None else count)
    agains = [None, 1, None, 5, None, 50]
    found = [
        interrupted(folder / str(at), verb, at, agains[n % len(agains)])
        for n, at in enumerate(chosen)
    ]
    return [(where, wrong) for wrong, where in found if wrong]


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("verb", ["checkpoint", "rewind", "fork with values", "switch", "update"])
def test_an_interrupt_leaves_all_as_before_or_as_after(tmp_path: Path, verb: str) -> None:
    assert wrong_in(tmp_path, verb, QUICK) == []


def test_an_interrupt_of_a_look_at_the_branches_leaves_them_as_they_are(tmp_path: Path) -> None:
    session = world(tmp_path / "store")
    session.rewind("one")
    timeline = session.timeline
    before = timeline.branches

    def look() -> None:
        timeline.fold.branches.changed()  # as by what another session wrote
        assert timeline.branches == before

    seen = [(instants.told(), timeline.branches) for instants in each_instant(look)]
    session.store.close()

    assert len(seen) > 20
    assert [one for one in seen if one[1] != before] == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_at_any_place_leaves_all_as_before_or_as_after(
    tmp_path: Path, verb: str
) -> None:
    assert wrong_in(tmp_path, verb, None) == []
