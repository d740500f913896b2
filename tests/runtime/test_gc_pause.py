"""What is made while nobody looks for garbage, and what that does to the rest of the process."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from nbckpt.runtime.gc_pause import (
    MANY,
    switched_off,
    thresholds,
    uncollected,
)


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    """What the tests have imported is frozen otherwise."""
    gc.unfreeze()
    yield
    gc.freeze()


def made() -> list[list[int]]:
    """So many new objects that they are told from the few of a usual look."""
    return [[n] for n in range(2 * MANY)]


def test_many_objects_are_old_at_once_and_never_gone_through() -> None:
    with uncollected():
        new = made()

    assert gc.isenabled()
    assert any(one is new for one in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0


@pytest.mark.slow
def test_few_new_objects_stay_young() -> None:
    gc.collect()

    with uncollected():
        new = [[1]]

    assert any(one is new for one in gc.get_objects(generation=0))


def test_what_the_user_has_frozen_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()

    with uncollected():
        new = made()

    assert gc.get_freeze_count() > frozen // 2
    assert all(one is not new for one in gc.get_objects(generation=2))


def test_who_has_the_collector_off_keeps_it_off(request: pytest.FixtureRequest) -> None:
    gc.disable()
    request.addfinalizer(gc.enable)

    with uncollected():
        made()

    assert not gc.isenabled()


def test_two_threads_leave_it_on_and_nobody_sees_it_off() -> None:
    before = gc.get_threshold()
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with switched_off():
            begun.set()
            may_end.wait(30)

    other = threading.Thread(target=hold)
    with switched_off():
        other.start()
        begun.wait(30)
        assert gc.get_threshold()[0] == 0
        assert thresholds() == before
    assert gc.get_threshold()[0] == 0
    may_end.set()
    other.join()
    assert gc.get_threshold() == before


def test_nothing_is_collected_meanwhile() -> None:
    found: list[str] = []
    with switched_off():
        gc.callbacks.append(lambda phase, _: found.append(phase))
        try:
            made()
        finally:
            gc.callbacks.pop()

    assert not found


@pytest.mark.parametrize("call", ["gc.disable()", "gc.set_threshold(900, 11, 12)"])
def test_what_code_sets_meanwhile_stays(call: str, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    request.addfinalizer(gc.enable)

    with switched_off():
        exec(call)  # as a module that is imported does
        with uncollected():
            made()

    assert gc.isenabled() == ("disable" not in call)
    assert (gc.get_threshold() == (900, 11, 12)) == ("900" in call)


def test_who_has_switched_it_off_by_its_threshold_finds_it_so(
    request: pytest.FixtureRequest,
) -> None:
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    gc.set_threshold(0)

    with switched_off(), uncollected():
        made()

    assert gc.get_threshold()[0] == 0
