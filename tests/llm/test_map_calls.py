"""Model calls inside `step.map`: each belongs to its item, and is paid once whatever happens."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import nbckpt
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.kernels import Kernel, KernelDiedError
from tests.llm.asking import records_of
from tests.llm.founding import MAPPED, Founding, ProviderProcess, Way
from tests.notebooks import define

ASK = """
import openai, nbckpt
client = openai.OpenAI(max_retries=0)
def said(prompt):
    asked = [{"role": "user", "content": prompt}]
    answer = client.chat.completions.create(model="m", messages=asked)
    return answer.choices[0].message.content
"""

SAMPLED = """
def sample(n):
    import time
    time.sleep(0.03 * (5 - n) * {slow})
    answers = [said("a number, please"), said("a number, please")]
    if n in {bad}: raise ValueError(n)
    return answers
with nbckpt.checkpoint("samples", rerun=True) as step:
    if step.todo:
        out, failures = step.map(sample, range(5), workers={workers}, errors="collect")
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    store = Store.open(tmp_path / ".nbckpt")
    yield current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    current_session.end()
    store.close()


def sampled(session: Session, **options: Any) -> list[Any]:
    define(SAMPLED.format(**{"slow": 0, "bad": (), "workers": 1, **options}), session.namespace)
    out: list[Any] = session.namespace["out"]
    return out


@pytest.mark.slow
def test_a_call_is_known_by_its_item_whatever_order_threads_come_in(
    session: Session, provider: Provider
) -> None:
    define(ASK, session.namespace)
    first = sampled(session, workers=5, slow=1)
    assert len({text for pair in first for text in pair}) == provider.answered == 10
    records = records_of(session)
    assert {r["step"] for r in records} == {"samples"}
    assert len({(r["item"], r.get("nth", 0)) for r in records}) == 10
    assert sorted(r["occurrence"] for r in records) == list(range(10))

    with pytest.warns(RuntimeWarning, match="runs 'sample' for all items"):
        again = sampled(session, workers=2)

    assert again == first
    with pytest.warns(RuntimeWarning, match="runs 'sample' for all items"):
        assert sampled(session, bad=(0, 1))[2:] == first[2:]
    assert provider.answered == 10


@pytest.mark.slow
def test_a_plain_loop_over_the_same_requests_finds_the_answers_of_a_map(
    session: Session, provider: Provider
) -> None:
    define(ASK, session.namespace)
    first = sampled(session)
    assert provider.answered == 10

    define(
        "with nbckpt.checkpoint('samples', rerun=True) as step:\n    if step.todo:\n"
        "        plain = [said('a number, please') for _ in range(10)]",
        session.namespace,
    )

    assert session.namespace["plain"] == [text for pair in first for text in pair]
    assert provider.answered == 10


TRACKED = """
texts = []
with nbckpt.checkpoint("loop", rerun=True) as step:
    if step.todo:
        for n in step.track({items}):
            texts.append((n, said("a number, please")))
"""


@pytest.mark.slow
def test_a_call_in_a_tracked_loop_is_known_by_its_item(
    session: Session, provider: Provider
) -> None:
    define(ASK, session.namespace)
    define(TRACKED.format(items="[1, 2, 3]"), session.namespace)
    first = dict(session.namespace["texts"])

    define(TRACKED.format(items="[9, 3, 1, 2]"), session.namespace)

    again = dict(session.namespace["texts"])
    assert {n: again[n] for n in first} == first
    assert again[9] not in first.values()
    assert provider.answered == 4


@pytest.mark.slow
def test_what_a_map_in_threads_costs_belongs_to_its_step(
    session: Session, provider: Provider
) -> None:
    define(ASK, session.namespace)
    sampled(session, workers=5)

    [event] = [r for r in records_of(session, "event") if r["event"] == "model_calls"]

    assert (event["name"], event["recorded"]) == ("samples", 10)


# -- deaths


@pytest.mark.slow
def test_killed_with_twenty_items_in_work_no_more_than_those_are_paid_again(
    tmp_path: Path,
) -> None:
    with ProviderProcess("--first", "0.05") as provider:
        way = Way(MAPPED.format(in_flight=20), 20)
        founding = Founding(tmp_path, provider, way, documents=60)
        founding.killed(random.Random(7), 2)
        founding.check_end()
        assert founding.kills
    store = Store.open(tmp_path / ".nbckpt", create=False)
    store.refresh()
    done = sum(r["count"] for r in store.records("items"))
    store.close()
    assert 60 <= done <= 60 + founding.again


SLOW = """%%checkpoint slow
import nbckpt, time
def slow(n):
    with open("log", "a") as file: file.write(f"{n}\\n")
    time.sleep(0.05 if n < 6 else 600)
    return n
out = nbckpt.map(slow, range(9), workers=3)
"""


@pytest.mark.slow
def test_an_interrupt_ends_a_map_at_once_and_keeps_what_was_done(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Kernel(tmp_path) as kernel:
        assert kernel.run("%load_ext nbckpt").ok
        request = kernel.send(SLOW, "slow")
        while not log.exists() or len(log.read_text().split()) < 9:
            time.sleep(0.01)
        began = time.monotonic()
        kernel._manager.interrupt_kernel()
        ran = kernel.collect(request)
        assert "KeyboardInterrupt" in ran.error
        assert time.monotonic() - began < 5
        log.unlink()

        kernel.send(SLOW, "slow")
        while not log.exists() or len(log.read_text().split()) < 3:
            time.sleep(0.01)
        killer = threading.Timer(0.3, kernel.kill)
        killer.start()
        with pytest.raises(KernelDiedError):
            kernel.collect("none")
        assert sorted(log.read_text().split()) == ["6", "7", "8"]


def test_an_item_that_ends_leaves_the_streams_of_others_to_their_readers(
    session: Session, provider: Provider
) -> None:
    asked = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    url = f"{provider.url}/v1/messages"
    with scope.entered("samples") as step:
        one, other = step.of_item("1"), step.of_item("2")

        def read() -> None:
            with httpx.stream("POST", url, json={**asked, "stream": True}) as response:
                for data in response.iter_raw():
                    if b"stop_reason" in data:
                        scope.inside(other, lambda: None)

        scope.inside(one, read)

    (recording,) = records_of(session)
    assert recording["state"] == "done"


def test_a_thread_of_a_pool_leaves_the_block_of_another_behind(session: Session) -> None:
    barrier = threading.Barrier(2, timeout=10)
    has_left = threading.Event()

    def first() -> None:
        with nbckpt.recording("off"):
            barrier.wait()
            barrier.wait()
        has_left.set()

    def second() -> scope.Place:
        barrier.wait()
        with nbckpt.recording("only"):
            barrier.wait()
            has_left.wait(10)
        return scope.here()

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        place = pool.submit(second).result()

    assert place.mode is None


def test_a_block_in_a_thread_of_a_pool_is_for_that_thread_alone(session: Session) -> None:
    def work(mode: Any) -> tuple[scope.Place, scope.Place]:
        with nbckpt.recording(mode):
            return scope.here(), other.submit(scope.here).result()

    with (
        scope.entered("samples") as step,
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(1) as other,
    ):
        own, mates = one.submit(work, "off").result()

    assert (own.mode, own.scope) == ("off", step)
    assert (mates.mode, mates.scope) == (None, step)
