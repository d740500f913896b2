"""Code of a value has so much time, and then it costs itself alone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from nbckpt.runtime import time_limit
from nbckpt.runtime.time_limit import OutOfTimeError, bounded
from nbckpt.steps import current_session
from tests.notebooks import restart, run

ENDLESS = {
    "a loop": "def __reduce__(self):\n        while True: pass",
    "a wait": "def __reduce__(self):\n        import time; time.sleep(10**6)",
    "a state": "def __getstate__(self):\n        n = 0\n        while True: n += 1",
    "one that catches all": (
        "def __reduce__(self):\n        while True:\n            try:\n                while True: pass\n"
        "            except Exception: pass"
    ),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Half a second for each value."""
    monkeypatch.setenv("NBCKPT_CAPTURE_TIMEOUT_S", "0.5")
    time_limit.set_limit(0.5)
    yield
    time_limit.set_limit(30.0)


def loop() -> None:
    while True:
        pass


@pytest.mark.slow
def test_a_loop_of_the_main_thread_is_ended() -> None:
    with pytest.raises(OutOfTimeError), bounded():
        loop()


@pytest.mark.slow
def test_one_that_begins_while_the_clock_is_about_to_stop_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopping, has_begun = threading.Event(), threading.Event()

    class Slow(threading.Event):
        def clear(self) -> None:
            stopping.set()
            has_begun.wait(30)
            super().clear()

    watch = time_limit._Watch()
    watch._is_needed = Slow()
    monkeypatch.setattr(time_limit, "_watch", watch)
    monkeypatch.setattr(time_limit, "AT_REST_S", 0.0)
    with bounded():
        pass
    assert stopping.wait(30)

    def begin_late() -> None:
        with bounded():
            has_begun.set()
            loop()

    with pytest.raises(OutOfTimeError):
        begin_late()


@pytest.mark.slow
def test_a_bound_that_an_interrupt_left_is_none_for_what_comes_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    time_limit.set_limit(1000)
    with monkeypatch.context() as patch:
        patch.setattr(time_limit._Watch, "end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _inside_a_bound()
    time_limit.set_limit(0.5)
    assert time_limit._watch._bounds[threading.get_ident()]

    with pytest.raises(OutOfTimeError), bounded():
        loop()
    time_limit._watch._bounds.clear()


def _inside_a_bound() -> None:
    with bounded():
        pass


@pytest.mark.parametrize("where", ["begin", "end"])
def test_an_interrupt_that_comes_as_a_bound_begins_or_ends_leaves_none(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    whole = getattr(time_limit._Watch, where)
    interrupts = [KeyboardInterrupt()]

    def interrupted(watch: Any, bound: Any) -> None:
        if where == "begin":
            whole(watch, bound)
        if interrupts:
            raise interrupts.pop()
        whole(watch, bound)

    time_limit._watch._bounds.clear()
    with monkeypatch.context() as patch:
        patch.setattr(time_limit._Watch, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            _inside_a_bound()

    assert not any(time_limit._watch._bounds.values())


def test_a_bound_inside_of_another_changes_nothing() -> None:
    with bounded():
        assert bounded() is time_limit._NOTHING
        assert [bounded() for _ in range(1)] == [time_limit._NOTHING]

    assert bounded() is not time_limit._NOTHING


@pytest.mark.slow
def test_a_wait_of_the_main_thread_is_ended() -> None:
    began = time.perf_counter()

    with pytest.raises(OutOfTimeError), bounded():
        time.sleep(100)

    assert time.perf_counter() - began < 60


@pytest.mark.slow
def test_a_loop_of_another_thread_is_ended() -> None:
    ended: list[str] = []

    def work() -> None:
        try:
            with bounded():
                loop()
        except OutOfTimeError:
            ended.append("in time")
        ended.append("on")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)

    assert ended == ["in time", "on"]


@pytest.mark.slow
def test_what_ends_in_time_is_left_alone() -> None:
    with bounded(), bounded():
        time.sleep(0.01)
    time.sleep(1.0)  # nothing comes later


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDLESS)
def test_a_value_that_never_ends_is_refused_by_name(
    what: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, f"class Endless:\n    {ENDLESS[what]}\nv = Endless()\nother = [1]")

    assert "not kept: v: Endless takes longer than 0.5 s" in capsys.readouterr().out
    began = time.perf_counter()
    run(shell, "n = len(other); v")
    assert time.perf_counter() - began < 10  # it is not asked again
    current_session.session().wait()
    restart(shell)
    run(shell, "%resume")
    assert (shell.user_ns["other"], "v" in shell.user_ns) == ([1], False)


@pytest.mark.slow
def test_a_key_of_such_a_value_is_none(shell: Any) -> None:
    run(shell, f"class Endless:\n    {ENDLESS['a loop']}\nv = Endless()")

    run(shell, "%%checkpoint step\nx = type(v).__name__")

    assert shell.user_ns["x"] == "Endless"


AFTERWARDS = """
import sys, threading, time
from nbckpt.runtime import time_limit

def work():
    try:
        with time_limit.bounded():
            while True: pass
    except time_limit.OutOfTimeError:
        ended.append("ended")

ended = []
time_limit.set_limit(0.3)
thread = threading.Thread(target=work)
thread.start()
thread.join()

def traced(): return len([1])
def step(frame, event, _):
    frame.f_trace_opcodes = True
    return step
sys.settrace(step)
traced()
sys.settrace(None)
print(*ended)
"""


@pytest.mark.slow
def test_nothing_is_left_that_every_thread_looks_for() -> None:
    """Python 3.11 traced no opcode any more, and looked for what was sent at each step."""
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "ended\n"


@pytest.mark.slow
def test_blocks_that_end_as_their_time_does_are_ended_once() -> None:
    """What is sent at the very end comes in the block, or is caught; the next block is its own."""
    time_limit.set_limit(0.01)
    time_limit._watch._bounds.clear()  # an interrupt of an earlier test may have left one
    late: list[str] = []

    def work() -> None:
        for n in range(12):
            try:
                with bounded():
                    time.sleep(time_limit.CHECKED_S + n * 0.001)
                    time.sleep(0)
            except OutOfTimeError:
                pass
            try:
                for _ in range(1000):
                    pass
            except OutOfTimeError:
                late.append(f"after {n}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert late == []
    assert not any(time_limit._watch._bounds.values())
