"""Equal requests in flight at once of which one is sent, because that was asked for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import openai
import pytest
import requests

from nbckpt.llm import current, scope
from nbckpt.llm.step_scope import Scope
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.asking import ask, body, failures_of, records_of, states_of

SAID = body()["messages"]
PATH = "/v1/chat/completions"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What answers wait for: set it when all that should be in flight is."""
    gate = threading.Event()

    def answer(asked: dict[str, Any]) -> None:
        assert gate.wait(20)

    with Provider(answer=answer) as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        gate.provider = provider  # type: ignore[attr-defined]
        yield gate
        gate.set()


def provider_of(gate: threading.Event) -> Provider:
    found = gate.provider  # type: ignore[attr-defined]
    assert isinstance(found, Provider)
    return found


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


def waiting(within: Scope) -> int:
    """How many wait in a step for calls that are in flight."""
    return sum(flight._waiting for flight in within.flights._open.values())


def counted(what: str) -> int:
    recorder = current.recorder()
    assert recorder is not None
    return recorder.outcomes.counts[what, "openai"]


def opened(gate: threading.Event, within: Scope, n: int) -> None:
    """Let answers go when `n` wait."""
    until(lambda: waiting(within) == n)
    gate.set()


def by_httpx(url: str) -> str:
    return httpx.post(url + PATH, json=body(), timeout=30).text


def by_requests(url: str) -> str:
    return requests.post(url + PATH, json=body(), timeout=30).text


def by_sdk(_: str) -> str:
    with openai.OpenAI() as client:
        return ask(client)


def streamed(_: str) -> str:
    with openai.OpenAI() as client:
        stream = client.chat.completions.create(model="m", messages=SAID, stream=True)
        return "".join(chunk.to_json() for chunk in stream)


@pytest.mark.parametrize("one", [by_httpx, by_requests, by_sdk, streamed])
def test_threads_that_ask_the_same_at_once_pay_once(
    one: Callable[[str], str], gate: threading.Event, recorded: Session
) -> None:
    provider = provider_of(gate)

    def all_of_them(open_at: int) -> list[str]:
        with scope.recording(coalesce=True), scope.entered("step") as within:
            with ThreadPoolExecutor(4) as pool:
                answers = [pool.submit(one, provider.url) for _ in range(4)]
                opened(gate, within, open_at)
            return [answer.result() for answer in answers]

    first = all_of_them(3)
    provider.stop()
    again = all_of_them(0)

    assert len(set(first)) == 1
    assert again == first
    assert provider.answered == 1
    assert (counted("recorded"), counted("replayed")) == (1, 3 + 4)
    assert [(r["occurrence"], r["shared"]) for r in records_of(recorded)] == [(0, 3)]


async def gathered(gate: threading.Event, n: int, within: Scope, *, waits: int) -> list[str]:
    async with openai.AsyncOpenAI(max_retries=0) as client:
        calls = [client.chat.completions.create(model="m", messages=SAID) for _ in range(n)]
        asked = asyncio.gather(*calls)
        await asyncio.to_thread(opened, gate, within, waits)
        return [answer.to_json() for answer in await asked]


def test_tasks_that_ask_the_same_at_once_pay_once(gate: threading.Event, recorded: Session) -> None:
    with scope.recording(coalesce=True), scope.entered("step") as within:
        first = asyncio.run(gathered(gate, 5, within, waits=4))
    provider_of(gate).stop()
    with scope.recording(coalesce=True), scope.entered("step") as within:
        again = asyncio.run(gathered(gate, 5, within, waits=0))

    assert len(set(first)) == 1
    assert again == first
    assert provider_of(gate).answered == 1


def test_without_being_asked_for_each_is_sent(gate: threading.Event, recorded: Session) -> None:
    gate.set()
    with scope.entered("step") as within:
        answers = asyncio.run(gathered(gate, 3, within, waits=0))

    assert len(set(answers)) == 3
    assert provider_of(gate).answered == 3


def test_what_was_shared_is_a_sample_of_its_own_when_that_is_not_asked_for_any_more(
    gate: threading.Event, recorded: Session
) -> None:
    with scope.recording(coalesce=True), scope.entered("step") as within:
        first = asyncio.run(gathered(gate, 2, within, waits=1))
    with scope.entered("step") as within:
        again = asyncio.run(gathered(gate, 2, within, waits=0))

    assert again[0] == first[0]
    assert again[1] != first[0]
    assert provider_of(gate).answered == 2


def test_one_after_the_other_are_two_also_when_they_are_replayed(
    provider: Provider, recorded: Session
) -> None:
    def both() -> list[str]:
        with scope.recording(coalesce=True), scope.entered("step"), openai.OpenAI() as client:
            return [ask(client), ask(client)]

    first = both()
    assert len(set(first)) == 2
    assert both() == first
    assert provider.answered == 2


def test_aiohttp_waits_too(gate: threading.Event, recorded: Session) -> None:
    async def both(n: int) -> list[str]:
        async with aiohttp.ClientSession(provider_of(gate).url) as session:

            async def one() -> str:
                async with session.post(PATH, json=body()) as answer:
                    return await answer.text()

            asked = asyncio.gather(one(), one())
            await asyncio.to_thread(opened, gate, within, n)
            return await asked

    with scope.recording(coalesce=True), scope.entered("step") as within:
        first = asyncio.run(both(1))
    provider_of(gate).stop()
    with scope.recording(coalesce=True), scope.entered("step") as within:
        assert asyncio.run(both(0)) == first

    assert first[0] == first[1]
    assert provider_of(gate).answered == 1


def test_two_loops_in_two_threads_share(gate: threading.Event, recorded: Session) -> None:
    async def one() -> str:
        async with openai.AsyncOpenAI() as client:
            return (await client.chat.completions.create(model="m", messages=SAID)).to_json()

    with (
        scope.recording(coalesce=True),
        scope.entered("step") as within,
        ThreadPoolExecutor(2) as pool,
    ):
        answers = [pool.submit(asyncio.run, one()) for _ in range(2)]
        opened(gate, within, 1)
        assert answers[0].result() == answers[1].result()

    assert provider_of(gate).answered == 1


def test_where_the_first_fails_one_of_the_others_is_sent(
    gate: threading.Event, recorded: Session
) -> None:
    provider = provider_of(gate)
    provider.fail(1, status=500)
    provider.slow(first_s=0.3, times=1)

    def one() -> str:
        return by_httpx(provider.url)

    with (
        scope.recording(coalesce=True),
        scope.entered("step") as within,
        ThreadPoolExecutor(4) as pool,
    ):
        answers = [pool.submit(one) for _ in range(4)]
        until(lambda: waiting(within) == 3)
        opened(gate, within, 2)
        told = sorted(answer.result() for answer in answers)

    assert sum("Failed on request" in text for text in told) == 1
    assert len(set(told)) == 2
    assert provider.answered == 1
    assert [(r["occurrence"], r["shared"]) for r in records_of(recorded)] == [(0, 2)]
    assert failures_of(recorded) == ["HTTP 500"]


@pytest.mark.parametrize("who", [0, 1])
def test_who_is_cancelled_costs_the_others_nothing(
    who: int, gate: threading.Event, recorded: Session
) -> None:
    async def three() -> list[Any]:
        async with openai.AsyncOpenAI() as client:
            create = client.chat.completions.create
            tasks = [asyncio.create_task(create(model="m", messages=SAID)) for _ in range(3)]
            while waiting(within) < 2:
                await asyncio.sleep(0.002)
            tasks[who].cancel()
            while waiting(within) != 1 or len(within.flights._open) != 1:
                await asyncio.sleep(0.002)
            gate.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    with scope.recording(coalesce=True), scope.entered("step") as within:
        answers = asyncio.run(three())

    assert isinstance(answers.pop(who), asyncio.CancelledError)
    assert answers[0] == answers[1]
    assert [(r["occurrence"], r["shared"]) for r in records_of(recorded)] == [(0, 1)]


def test_who_leaves_a_stream_early_has_the_next_one_sent(
    provider: Provider, recorded: Session
) -> None:
    async def both() -> str:
        async with openai.AsyncOpenAI() as client:
            create = client.chat.completions.create
            first = await create(model="m", messages=SAID, stream=True)
            await anext(aiter(first))

            async def all_of_it() -> str:
                stream = await create(model="m", messages=SAID, stream=True)
                return "".join([chunk.to_json() async for chunk in stream])

            other = asyncio.create_task(all_of_it())
            while not waiting(within):
                await asyncio.sleep(0.002)
            await first.close()
            return await other

    with scope.recording(coalesce=True), scope.entered("step") as within:
        assert asyncio.run(both())

    assert provider.answered >= 1
    assert states_of(recorded) == ["partial", "done"]


def test_nobody_waits_for_a_stream_that_stands_still_for_it(
    provider: Provider, recorded: Session
) -> None:
    async def nested() -> None:
        async with openai.AsyncOpenAI() as client:
            create = client.chat.completions.create
            async for _ in await create(model="m", messages=SAID, stream=True):
                async for _ in await create(model="m", messages=SAID, stream=True):
                    pass
                break

    with scope.recording(coalesce=True), scope.entered("step"):
        with openai.OpenAI() as client:
            create = client.chat.completions.create
            first = create(model="m", messages=SAID, stream=True)
            next(first)
            assert list(create(model="m", messages=SAID, stream=True))
            assert list(first)
        asyncio.run(nested())

    assert states_of(recorded).count("done") == 3


def test_a_reader_that_waits_for_who_waits_for_it_is_waited_for_no_longer(
    provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbckpt.llm.flights.PAUSE_S", 0.2)
    with (
        scope.recording(coalesce=True),
        scope.entered("step"),
        ThreadPoolExecutor(1) as pool,
        openai.OpenAI() as client,
    ):
        first = client.chat.completions.create(model="m", messages=SAID, stream=True)
        next(first)
        assert pool.submit(streamed, "").result(20)
        assert list(first)

    assert [r["occurrence"] for r in records_of(recorded)] == [1, 0]


def test_another_session_replays_what_was_shared(
    gate: threading.Event, recorded: Session, folder: Path
) -> None:
    with scope.recording(coalesce=True), scope.entered("step") as within:
        first = asyncio.run(gathered(gate, 3, within, waits=2))
    current.end()
    provider_of(gate).stop()
    session = Session(Store.open(folder), {"__name__": "__main__"}, notebook="test")
    current.begin(session)

    with scope.recording("only", coalesce=True), scope.entered("step") as within:
        assert asyncio.run(gathered(gate, 3, within, waits=0)) == first
    session.store.close()


@pytest.mark.slow
def test_the_magic_asks_for_it_in_the_notebook(
    shell: Any, gate: threading.Event, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.jupyter.test_cells import run

    provider = provider_of(gate)
    provider.slow(first_s=0.2)
    gate.set()
    cell = f"""%%checkpoint ask
import threading, httpx
answers = []
def ask():
    answers.append(httpx.post('{provider.url}{PATH}', json={body()!r}).text)
threads = [threading.Thread(target=ask) for _ in range(3)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(len(answers), 'answers', len(set(answers)))"""

    run(shell, "%nbckpt record on --coalesce")
    run(shell, cell)
    run(shell, "%nbckpt record on")

    told = capsys.readouterr().out
    assert "on, in cells that are kept; equal ones in flight are sent once; seen" in told
    assert "3 answers 1" in told
    assert "on, in cells that are kept; seen so far: 3 of openai (1 recorded, 2 replayed)" in told
    assert provider.answered == 1
