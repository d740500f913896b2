"""`nbckpt.now`, `uuid` and `random`: a step that runs again is given what it was given before."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import nbckpt
from nbckpt.errors import StoreError, UsageError
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recordings import VALUE
from tests.jupyter.test_cells import restart, run
from tests.llm.asking import records_of
from tests.notebooks import define
from tests.running import environment


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    store = Store.open(tmp_path / ".nbckpt")
    yield current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    current_session.end()
    store.close()


def again(session: Session) -> None:
    """Another session on the same store, as in a new process."""
    session.wait()
    current_session.begin(Session(session.store, {"__name__": "__main__"}, notebook="test"))


def asked() -> list[object]:
    return [nbckpt.now(), nbckpt.uuid(), nbckpt.random().random(), nbckpt.now(), nbckpt.uuid()]


# -- what they give -----------------------------------------------------------------------------


def test_they_are_a_time_an_id_and_a_generator(session: Session) -> None:
    with scope.entered("step"):
        at, one, numbers = nbckpt.now(), nbckpt.uuid(), nbckpt.random()

    assert abs(at - datetime.now(UTC)) < timedelta(seconds=5)
    assert at.tzinfo is UTC
    assert (one.version, type(numbers)) == (4, random.Random)


def test_outside_of_steps_they_are_new_each_time(session: Session) -> None:
    assert not set(asked()) & set(asked())
    assert not records_of(session, VALUE)


def test_without_a_session_too() -> None:
    with scope.entered("step"):
        assert len({*asked(), *asked()}) == 10


def test_a_time_is_told_in_a_zone_and_is_the_same_instant(session: Session) -> None:
    with scope.entered("step"):
        first = nbckpt.now()
    again(session)
    with scope.entered("step"):
        there = nbckpt.now(ZoneInfo("Asia/Tokyo"))

    assert there == first
    assert there.utcoffset() == timedelta(hours=9)


def test_what_is_no_zone_is_refused(session: Session) -> None:
    with scope.entered("step"):
        with pytest.raises(UsageError, match="'Asia/Tokyo'; it is a zone, such as"):
            nbckpt.now("Asia/Tokyo")  # type: ignore[arg-type]
        assert nbckpt.now() < datetime.now(UTC)


def test_the_notebooks_own_generator_is_left_alone(session: Session) -> None:
    before = random.getstate()
    with scope.entered("step"):
        asked()

    assert random.getstate() == before


# -- where they come again ----------------------------------------------------------------------


def test_a_step_that_runs_again_gets_the_same_in_order(session: Session) -> None:
    with scope.entered("step"):
        first = asked()
    again(session)
    with scope.entered("step"):
        second = [*asked(), nbckpt.uuid()]
    with scope.entered("other"):
        other = asked()

    assert second[:5] == first
    assert len({*second, *other}) == 11


MAPPED = """
import nbckpt, time
def one(n):
    time.sleep(waits[n])
    first = [nbckpt.now(), nbckpt.uuid(), nbckpt.random().random()]
    time.sleep(waits[n])
    return [*first, nbckpt.now(), nbckpt.uuid(), nbckpt.random().random()]
with nbckpt.checkpoint("map", rerun=True) as step:
    if step.todo:
        made = dict(zip(waits, step.map(one, waits, workers={workers})))
"""


@pytest.mark.filterwarnings("ignore:step 'map' runs 'one' for all items")
@pytest.mark.parametrize("workers", [1, 4])
def test_each_item_of_a_map_has_an_order_of_its_own(session: Session, workers: int) -> None:
    def mapped(waits: dict[int, float]) -> dict[int, list[object]]:
        again(session)
        namespace = current_session.session().namespace
        namespace["waits"] = waits
        define(MAPPED.format(workers=workers), namespace)
        made: dict[int, list[object]] = namespace["made"]
        return made

    first = mapped({n: n / 100 for n in range(4)})
    # Other waits are another value that the function reads, so that all items run again.
    second = mapped({n: (5 - n) / 100 for n in range(-1, 5)})

    assert {n: second[n] for n in first} == first
    assert len({str(value) for values in second.values() for value in values}) == 36


def test_each_task_of_a_step_has_an_order_of_its_own(session: Session) -> None:
    async def one(wait_s: float) -> list[object]:
        first = nbckpt.uuid()
        await asyncio.sleep(wait_s)
        return [first, *asked()]

    async def all_of(waits: list[float]) -> list[list[object]]:
        return await asyncio.gather(*map(one, waits))

    with scope.entered("step"):
        first = asyncio.run(all_of([0.03, 0.02, 0.01, 0]))
    again(session)
    with scope.entered("step"):
        second = asyncio.run(all_of([0, 0.01, 0.02, 0.03]))

    assert second == first
    assert len({str(value) for values in first for value in values}) == 24


def test_a_call_of_a_step_has_its_own_wherever_it_is_made(session: Session) -> None:
    calls: list[list[object]] = []

    @nbckpt.step
    def call(n: int) -> None:
        calls.append(asked())
        raise InterruptedError

    for _ in range(2):
        for n in range(2):
            with pytest.raises(InterruptedError):
                call(n)
        again(session)

    assert calls[2:] == calls[:2]
    assert calls[0] != calls[1]


@pytest.mark.slow
def test_an_edited_cell_goes_on_with_them_in_order(shell: Any) -> None:
    run(shell, "import nbckpt")
    run(shell, "%%checkpoint ids\none, at = nbckpt.uuid(), nbckpt.now()\nraise ValueError", "c")
    first = [shell.user_ns[name] for name in ("one", "at")]
    restart(shell)
    run(shell, "import nbckpt")

    run(shell, "%%checkpoint ids\nat = nbckpt.now()\none, two = nbckpt.uuid(), nbckpt.uuid()", "c")

    assert [shell.user_ns[name] for name in ("one", "at")] == first
    assert shell.user_ns["two"] != shell.user_ns["one"]


@pytest.mark.slow
def test_a_renamed_cell_goes_on_with_them_and_a_copy_has_its_own(shell: Any) -> None:
    cell = "%%checkpoint {}\nids = [nbckpt.uuid(), nbckpt.uuid()]"
    run(shell, "import nbckpt")
    run(shell, cell.format("ids"), "cell-1")
    first = shell.user_ns["ids"]

    run(shell, cell.format("others"), "cell-2")
    copied = shell.user_ns["ids"]
    run(shell, cell.format("names"), "cell-1")
    renamed = shell.user_ns["ids"]
    restart(shell)
    run(shell, "import nbckpt")
    run(shell, cell.format("names") + "\nids += [nbckpt.uuid()]", "cell-1")

    assert not set(copied) & set(first)
    assert renamed == shell.user_ns["ids"][:2] == first


@pytest.mark.slow
def test_two_blocks_of_one_cell_have_their_own(shell: Any) -> None:
    run(
        shell,
        "import nbckpt\nwith nbckpt.checkpoint('a'):\n    a = nbckpt.uuid()\n"
        "with nbckpt.checkpoint('b'):\n    b = nbckpt.uuid()",
        "cell-1",
    )

    assert shell.user_ns["a"] != shell.user_ns["b"]


@pytest.mark.slow
def test_a_cell_that_asks_for_them_is_restored_as_others_are(shell: Any) -> None:
    cell = "%%checkpoint ids\nwith open('ran', 'a') as file: _ = file.write('x')\nvalues = [{}]"
    cell = cell.format("nbckpt.now(), nbckpt.uuid(), nbckpt.random()")
    run(shell, "import nbckpt")
    run(shell, cell)
    at, one, numbers = shell.user_ns["values"]
    state = numbers.getstate()
    restart(shell)
    run(shell, "import nbckpt")

    run(shell, cell)

    assert Path("ran").read_text() == "x"
    assert [*shell.user_ns["values"][:2], shell.user_ns["values"][2].getstate()] == [at, one, state]


@pytest.mark.slow
def test_a_rewind_and_a_fork_give_them_again_and_a_fresh_rerun_new_ones(shell: Any) -> None:
    run(shell, "%%checkpoint start\nimport nbckpt\nk = 1")
    run(shell, "%%checkpoint ids\nat, one, more = nbckpt.now(), nbckpt.uuid(), k")
    first = [shell.user_ns[name] for name in ("at", "one")]

    def now() -> list[object]:
        return [shell.user_ns[name] for name in ("at", "one")]

    run(shell, "%rewind start")
    run(shell, "%%checkpoint ids\nat, one, more = nbckpt.now(), nbckpt.uuid(), k * 1.5")
    assert now() == first
    run(shell, "%fork start other k=5")
    run(shell, "%rerun")
    assert shell.user_ns["more"] == 7.5
    assert now() == first
    run(shell, "%rerun start --fresh")
    fresh = now()
    assert not set(fresh) & set(first)
    run(shell, "%rerun start")
    assert now() == fresh


# -- what `recording` means for them ------------------------------------------------------------


def test_recording_means_them_as_it_means_answers(session: Session) -> None:
    given: dict[str, object] = {}
    for name, options in {
        "first": {},
        "off": {"mode": "off"},
        "replayed": {},
        "only": {"mode": "only"},
        "recorded": {"mode": "record"},
        "young": {"ttl": "1h"},
    }.items():
        with scope.entered("step"), nbckpt.recording(**options):  # type: ignore[arg-type]
            given[name] = nbckpt.uuid()
    time.sleep(0.02)
    with scope.entered("step"), nbckpt.recording(ttl=0.01):
        given["old"] = nbckpt.uuid()

    assert given["replayed"] == given["only"] == given["first"]
    assert given["young"] == given["recorded"]
    assert len(set(given.values())) == 4


def test_the_notebooks_own_setting_counts_too(session: Session) -> None:
    from nbckpt.llm import current

    recorder = current.recorder()
    assert recorder is not None
    recorder.mode = "off"
    with scope.entered("step"):
        asked()

    assert not records_of(session, VALUE)


# -- the store ----------------------------------------------------------------------------------


def test_a_journal_that_refuses_costs_the_value_of_the_next_run_alone(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        message = "no space left"
        raise StoreError(message)

    monkeypatch.setattr(session.store, "append", refuse)
    with scope.entered("step"):
        assert nbckpt.uuid().version == 4

    (told,) = session.writes.news
    assert told == (
        "what nbckpt.uuid gave is NOT kept, and is another in the next run: no space left"
    )


def test_they_go_in_a_prune_with_the_calls_of_their_step(session: Session) -> None:
    for name in ("gone", "kept"):
        block = "with nbckpt.checkpoint({!r}) as step:\n    if step.todo: one = nbckpt.uuid()"
        define(f"import nbckpt\n{block.format(name)}", session.namespace)
    current_session.end()
    session.store.close()

    store = Store.open(session.store.path)
    done = prune(store, Retention(keep_last=1, calls_days=0.0))
    store.close()
    store = Store.open(session.store.path)
    store.refresh()
    left = {record["step"] for record in store.records(VALUE)}
    store.close()
    assert (left, done.calls) == ({"kept"}, 0)


KILLED = """
import os, signal, sys, time
import nbckpt
nbckpt.open(".nbckpt", namespace=globals())
with nbckpt.checkpoint("ids") as step:
    if step.todo:
        for n in range(6):
            print(nbckpt.now(), nbckpt.uuid(), nbckpt.random().random())
        sys.stdout.flush()
        time.sleep(0.2)
        if len(sys.argv) > 1: os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_block_of_a_script_that_was_killed_gets_the_same(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(KILLED)

    def printed(*more: str) -> tuple[int, str]:
        command = [sys.executable, "script.py", *more]
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        return ran.returncode, ran.stdout

    died, first = printed("dies")
    ended, second = printed()

    assert (died, ended) == (-signal.SIGKILL, 0)
    assert first == second
    assert len(set(first.splitlines())) == 6


def test_one_takes_less_than_a_millisecond(session: Session) -> None:
    with scope.entered("step"):
        nbckpt.uuid()
        began = time.process_time()
        for _ in range(200):
            nbckpt.uuid()

    assert (time.process_time() - began) / 200 < 1e-3
