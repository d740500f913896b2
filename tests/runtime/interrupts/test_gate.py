"""Holding back interrupts: nested, by whichever handler, on the main thread alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import FrameType

import pytest

from nbckpt.runtime.interrupts import (
    PATIENCE,
    allowed,
    breathe,
    held,
    result_of,
    wait_for,
)
from tests.runtime.interrupts.instants import Instants


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Each test leaves the handlers as they were."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    yield
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_comes_at_the_end_of_what_is_held() -> None:
    done = []

    def work() -> None:
        with held():
            with held():
                interrupt()
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()

    assert done == ["inner", "outer"]


def test_an_interrupt_just_before_handlers_are_taken_leaves_later_ones_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    def hold() -> None:
        with held():
            pass

    with monkeypatch.context() as patch:
        patch.setattr("nbckpt.runtime.interrupts._Gate._take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            hold()

    test_an_interrupt_comes_at_the_end_of_what_is_held()


def test_where_it_is_allowed_an_interrupt_comes_at_once_and_a_second_breaks_no_cleaning() -> None:
    done = []

    def work() -> None:
        try:
            with allowed():
                interrupt()
                done.append("not reached")
        except KeyboardInterrupt:
            interrupt()
            done.append("cleaned")
            raise

    with pytest.raises(KeyboardInterrupt), held():
        work()

    assert done == ["cleaned"]


def test_what_is_held_firmly_is_not_interrupted_where_it_is_allowed() -> None:
    done = []

    def work() -> None:
        with held():
            with held(firmly=True), allowed():
                interrupt()
                done.append("undone")
            done.append("and after")

    with pytest.raises(KeyboardInterrupt):
        work()

    assert done == ["undone", "and after"]


class Gone:
    """Interrupts while it is finalized; what is raised there is lost."""

    def __del__(self) -> None:
        with held():
            interrupt()
        interrupt()


def test_an_interrupt_in_a_finalizer_is_not_lost() -> None:
    done = []

    def work() -> None:
        with held(), allowed():
            Gone()
            done.append("went on")

    with pytest.raises(KeyboardInterrupt):
        work()

    assert done == ["went on"]


def test_a_breath_has_a_waiting_interrupt_come() -> None:
    with held():
        breathe()
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            breathe()


def test_who_asks_often_is_heard() -> None:
    asked = []

    def work() -> None:
        with held():
            for n in range(PATIENCE + 1):
                asked.append(n)
                interrupt()

    with pytest.raises(KeyboardInterrupt):
        work()

    assert len(asked) == PATIENCE


def test_the_users_own_handlers_are_called_once_for_each_signal() -> None:
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = signal.signal(signal.SIGINT, note), signal.signal(signal.SIGTERM, note)
    try:
        with held():
            interrupt()
            signal.raise_signal(signal.SIGTERM)
            interrupt()
            assert came == []
        assert sorted(came) == [signal.SIGINT, signal.SIGTERM]
        with held(), allowed():
            interrupt()
            interrupt()
        assert came.count(signal.SIGINT) == 3
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])


def test_a_handler_that_is_set_in_a_block_stays() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with held():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_holds_nothing_back() -> None:
    entered, over = threading.Event(), threading.Event()

    def work() -> None:
        with held():
            entered.set()
            over.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(10)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    finally:
        over.set()
        thread.join()


def test_a_wait_is_interrupted_and_the_future_goes_on() -> None:
    future: Future[int] = Future()
    threading.Timer(0.05, interrupt_soon).start()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        result_of(future)

    assert time.monotonic() - began < 5
    future.set_result(1)
    assert result_of(future) == 1
    assert wait_for(future, 0)


def interrupt_soon() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_a_wait_ends_with_its_time_and_gives_what_the_future_raised() -> None:
    waiting: Future[int] = Future()
    failed: Future[int] = Future()
    failed.set_exception(TimeoutError("its own"))

    with pytest.raises(TimeoutError, match=r"^$"):
        result_of(waiting, 0.06)
    with pytest.raises(TimeoutError, match="its own"):
        result_of(failed)


def test_an_interrupt_at_any_instant_of_holding_is_raised_and_leaves_the_gate_open() -> None:
    def nested() -> None:
        with held():
            done.append(1)
            with allowed():
                done.append(2)
            breathe()
            done.append(3)

    done: list[int] = []
    counted = Instants()
    counted.run(nested)
    for at in range(counted.count):
        for again in (None, 1, 2, 7):
            done.clear()
            instants = Instants(at, again)

            with pytest.raises(KeyboardInterrupt):
                instants.run(nested)

            assert done in ([], [1], [1, 2], [1, 2, 3])
            with held():
                interrupt_is_held = signal.getsignal(signal.SIGINT)
            assert interrupt_is_held is not signal.default_int_handler
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
