"""A budget stops the call that would pass it, before it is sent."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import requests

import nbckpt
from nbckpt.config.budget_rule import BudgetRule
from nbckpt.config.config_file import write_setting
from nbckpt.config.settings_sources import settings_of
from nbckpt.errors import BudgetError, UsageError
from nbckpt.llm import current, prices, scope
from nbckpt.llm.calls_text import calls_text
from nbckpt.llm.recordings_index import Index
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.putting import Putter
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.answering import answering
from tests.llm.asking import ask, body, post, records_of

DEAR = "m=0/100000"
"""An answer of ten tokens costs a dollar."""


@pytest.fixture
def dear(recorded: Session) -> Session:
    """A session whose model costs much."""
    recorded.settings = replace(recorded.settings, prices=DEAR)
    return recorded


def paid_of(session: Session) -> float:
    return sum(record["cost_usd"] for record in records_of(session))


def test_calls_stop_at_the_budget_and_none_is_tried_again(
    provider: Provider, dear: Session
) -> None:
    with openai.OpenAI(max_retries=5) as client, scope.entered("step"):
        ask(client, "0")
        one = paid_of(dear)
        nbckpt.budget(2.5 * one)
        ask(client, "1")
        with pytest.raises(BudgetError, match=r"the budget of \$.* stops this call of 'm'"):
            ask(client, "2")

    recorder = current.recorder()
    assert recorder is not None
    assert calls_text(recorder.outcomes) == "3 of openai (2 recorded, 1 stopped unsent)"
    assert provider.answered == len(provider.requests) == 2
    assert paid_of(dear) == pytest.approx(2 * one)


@pytest.mark.slow
def test_anthropics_sdk_lets_it_through(provider: Provider, dear: Session) -> None:
    import anthropic

    nbckpt.budget(0.001)
    with (
        anthropic.Anthropic(max_retries=5) as client,
        scope.entered("step"),
        pytest.raises(BudgetError),
    ):
        client.messages.create(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        )

    assert provider.requests == []


@pytest.mark.filterwarnings("default")
def test_calls_in_flight_count_as_they_are_estimated(provider: Provider, dear: Session) -> None:
    nbckpt.budget(3.5)

    async def gathered() -> list[object]:
        async with openai.AsyncOpenAI(max_retries=2) as client:
            said = [{"role": "user", "content": "hi"}]
            calls = [
                client.chat.completions.create(model="m", messages=said, max_tokens=10)  # type: ignore[arg-type]
                for _ in range(8)
            ]
            return await asyncio.gather(*calls, return_exceptions=True)

    with scope.entered("step"):
        results = asyncio.run(gathered())

    stopped = [r for r in results if isinstance(r, BudgetError)]
    assert 0 < provider.answered <= 3
    assert len(stopped) == 8 - provider.answered


def test_a_replay_costs_nothing_and_a_budget_lets_it_be(provider: Provider, dear: Session) -> None:
    with openai.OpenAI() as client:
        with scope.entered("step"):
            first = ask(client)
        nbckpt.budget(0)
        with scope.entered("step"):
            assert ask(client) == first
            with pytest.raises(BudgetError):
                ask(client)
        nbckpt.budget(float("inf"))
        with scope.entered("step"):
            ask(client)
            ask(client)

    assert provider.answered == 2


def test_a_call_outside_of_steps_is_stopped_too(provider: Provider, dear: Session) -> None:
    nbckpt.budget(0)
    with openai.OpenAI() as client, pytest.raises(BudgetError):
        ask(client)

    assert provider.requests == []


def test_a_call_that_failed_costs_nothing(provider: Provider, dear: Session) -> None:
    nbckpt.budget(2.5)
    provider.stop()
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        for _ in range(3):
            with pytest.raises(openai.APIConnectionError):
                ask(client, max_tokens=20)

    assert nbckpt.budget() == "budget $2.50 per notebook: $0.00 paid, $2.50 left"


def test_a_model_without_a_price_is_stopped_until_one_is_said(
    provider: Provider, recorded: Session
) -> None:
    nbckpt.budget(1)
    with openai.OpenAI() as client, scope.entered("step"):
        with pytest.raises(BudgetError, match=r"no price is known of 'm'.*--unknown 0.01"):
            ask(client)
        nbckpt.budget(1, unknown=0.4)
        ask(client)
        ask(client)
        with pytest.raises(BudgetError, match=r"the calls before it cost \$0.80"):
            ask(client)

    assert provider.answered == 2


@pytest.mark.parametrize("given", [-1, "5", float("nan"), [5]])
def test_what_is_no_amount_is_no_budget(recorded: Session, given: Any) -> None:
    with pytest.raises(UsageError, match="give US dollars"):
        nbckpt.budget(given)


def test_a_budget_needs_prices(recorded: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(prices, "_loading", [])
    monkeypatch.setattr(prices, "import_module", missing)

    with pytest.raises(UsageError, match="no prices are known here"):
        nbckpt.budget(5)
    with pytest.raises(UsageError, match="give US dollars"):
        nbckpt.budget(-1)
    recorder = current.recorder()
    assert recorder is not None
    assert recorder.budget.rule is None


def another(recorded: Session, folder: Path, notebook: str = "test") -> Session:
    """A later session of the store, as of a new kernel."""
    recorded.wait()
    settings = replace(settings_of(Store.open(folder)), prices=DEAR)
    session = Session(Store.open(folder), {}, notebook=notebook, settings=settings)
    return current_session.begin(session)


def asked_often(client: openai.OpenAI, times: int = 9) -> int:
    """How many of some calls are answered before one is stopped."""
    for n in range(times):
        try:
            ask(client, str(n))
        except BudgetError:
            return n
    return times


def test_a_restart_forgets_neither_the_budget_nor_what_was_paid(
    provider: Provider, dear: Session, folder: Path
) -> None:
    nbckpt.budget(3.5)
    with openai.OpenAI(max_retries=0) as client:
        with scope.entered("step"):
            ask(client, "before")
            ask(client, "before, too")
        again = another(dear, folder)
        with scope.entered("step"):
            assert asked_often(client) == 1
    again.wait()

    assert nbckpt.budget() == "budget $3.50 per notebook: $3.00 paid, $0.50 left"


@pytest.mark.parametrize(
    ("per", "answered"), [("notebook", 2), ("session", 2), ("branch", 0), ("day", 0)]
)
def test_a_budget_is_for_what_it_says(
    per: str, answered: int, provider: Provider, dear: Session, folder: Path
) -> None:
    nbckpt.budget(2.5, per=per)
    with openai.OpenAI(max_retries=0) as client:
        with scope.entered("step"):
            assert asked_often(client) == 2
        again = another(dear, folder, notebook="other")
        again.position.branch = "main"
        with scope.entered("another step"):
            asked_often(client)
    again.wait()

    assert provider.answered == 2 + answered


def test_another_session_sees_a_budget_that_is_set_meanwhile(
    provider: Provider, dear: Session, folder: Path
) -> None:
    other = another(dear, folder)
    recorder = current.recorder()
    assert recorder is not None
    recorder.budget.set(BudgetRule(0.5))
    current_session.begin(dear)

    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        ask(client, max_tokens=5)
        with pytest.raises(BudgetError):
            ask(client, "more", max_tokens=5)
    other.wait()


def test_a_call_is_stopped_by_the_most_that_it_may_cost(provider: Provider, dear: Session) -> None:
    nbckpt.budget(5)
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        with pytest.raises(BudgetError, match=r"this one may cost \$5.10"):
            ask(client, max_tokens=51)
        with pytest.raises(BudgetError, match=r"this one may cost \$6.00"):
            ask(client, max_tokens=20, n=3)
        ask(client, max_tokens=50)

    assert nbckpt.budget() == "budget $5.00 per notebook: $1.00 paid, $4.00 left"


def test_calls_wait_for_those_in_flight_and_not_for_their_own(
    provider: Provider, dear: Session
) -> None:
    """Each may cost 3 dollars, and costs one: all fit, one after the other."""
    nbckpt.budget(5.5)
    provider.slow(first_s=0.05)
    with openai.OpenAI(max_retries=0) as client, ThreadPoolExecutor(5) as pool:

        def call(n: int) -> str:
            with scope.entered("step"):
                return ask(client, str(n), max_tokens=30)

        answers = list(pool.map(call, range(3)))
        assert len(set(answers)) == 3
        with scope.entered("step"):
            said: Any = [{"role": "user", "content": "open"}]
            with client.chat.completions.create(
                model="m", messages=said, stream=True, max_tokens=20
            ) as stream:
                next(iter(stream))
                began = time.monotonic()
                with pytest.raises(BudgetError, match="in flight may cost"):
                    ask(client, "within", max_tokens=10)
                assert time.monotonic() - began < 5


def test_tasks_wait_for_each_other(provider: Provider, dear: Session) -> None:
    nbckpt.budget(4.5)

    async def gathered() -> list[Any]:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            said: Any = [{"role": "user", "content": "hi"}]
            calls = (
                client.chat.completions.create(model="m", messages=said, max_tokens=40)
                for _ in range(6)
            )
            return await asyncio.gather(*calls, return_exceptions=True)

    with scope.entered("step"):
        results = asyncio.run(gathered())

    stopped = [r for r in results if isinstance(r, BudgetError)]
    assert (provider.answered, len(stopped)) == (1, 5), "four dollars each, and one is paid"


def test_a_stream_counts_what_it_took(provider: Provider, dear: Session) -> None:
    nbckpt.budget(2.5)
    said: Any = [{"role": "user", "content": "hi"}]
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        for _ in client.chat.completions.create(model="m", messages=said, stream=True):
            pass
        assert nbckpt.budget() == "budget $2.50 per notebook: $1.00 paid, $1.50 left"


def test_a_stream_that_does_not_tell_counts_what_is_seen(provider: Provider, dear: Session) -> None:
    dear.settings = replace(dear.settings, stream_usage="off")
    nbckpt.budget(90)
    said: Any = [{"role": "user", "content": "hi"}]
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        chunks = client.chat.completions.create(model="m", messages=said, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    recorder = current.recorder()
    assert recorder is not None
    assert 1 < recorder.budget.paid_usd == pytest.approx(len(text) / 10)
    assert "did not tell what they took" in nbckpt.budget()


def test_what_is_left_early_counts_in_full(provider: Provider, dear: Session) -> None:
    nbckpt.budget(4.5)
    said: Any = [{"role": "user", "content": "hi"}]
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        stream = client.chat.completions.create(
            model="m", messages=said, stream=True, max_tokens=40
        )
        next(iter(stream))
        stream.close()

    assert nbckpt.budget().startswith("budget $4.50 per notebook: $4.00 paid, $0.50 left")


def test_calls_outside_of_steps_cost_what_they_do(provider: Provider, dear: Session) -> None:
    nbckpt.budget(3.5)
    with openai.OpenAI(max_retries=0) as client:
        assert asked_often(client) == 3

    assert nbckpt.budget() == "budget $3.50 per notebook: $3.00 paid, $0.50 left"


def test_a_disk_that_takes_no_note_leaves_the_session_its_own(
    provider: Provider, dear: Session, folder: Path
) -> None:
    nbckpt.budget(2.5)
    (folder / "spending.jsonl").unlink(missing_ok=True)
    (folder / "spending.jsonl").mkdir()

    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        assert asked_often(client) == 2

    assert any("takes no note of what model calls cost" in news for news in dear.writes.news)


@pytest.mark.parametrize("text", ["five", "5 per week", "5 unknown", "-1"])
def test_what_is_no_budget_is_no_setting(recorded: Session, text: str) -> None:
    with pytest.raises(UsageError, match="budget is"):
        write_setting(recorded.store, "budget", text)


def test_equal_calls_in_flight_put_aside_one_answer(provider: Provider, dear: Session) -> None:
    nbckpt.budget(4.5)
    provider.slow(first_s=0.2)

    def call(_: int) -> str:
        with openai.OpenAI(max_retries=0) as client:
            return ask(client, max_tokens=40)

    with scope.entered("step"), scope.recording(coalesce=True), ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(call, range(3)))

    assert (len(set(answers)), provider.answered) == (1, 1)
    with scope.entered("other"), scope.recording(coalesce=True), ThreadPoolExecutor(3) as pool:
        stopped = [pool.submit(call, n) for n in range(3)]
        problems = [future.exception(timeout=20) for future in stopped]
    assert all(isinstance(problem, BudgetError) for problem in problems)


def test_an_interrupt_of_one_that_waits_leaves_nothing_behind(
    provider: Provider, dear: Session
) -> None:
    nbckpt.budget(4.5)
    provider.slow(first_s=0.5)

    async def ask_both() -> None:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            said: Any = [{"role": "user", "content": "hi"}]

            def asked() -> Any:
                return client.chat.completions.create(model="m", messages=said, max_tokens=40)

            first = asyncio.create_task(asked())
            await asyncio.sleep(0.1)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(asked(), 0.1)
            await first

    with scope.entered("step"):
        asyncio.run(ask_both())

    assert provider.answered == 1
    assert nbckpt.budget() == "budget $4.50 per notebook: $1.00 paid, $3.50 left"


def test_streams_that_are_left_to_the_collector_hold_nobody(
    provider: Provider, dear: Session
) -> None:
    nbckpt.budget(10**6)
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        for n in range(150):
            said: Any = [{"role": "user", "content": str(n)}]
            for chunk in client.chat.completions.create(
                model="m", messages=said, stream=True, max_tokens=40
            ):
                if chunk.choices[0].delta.content:
                    break
        gc.collect()
        ask(client, "last", max_tokens=10)

    assert nbckpt.budget().startswith("budget $1,000,000.00 per notebook: $601.00 paid")


HALF: list[dict[str, Any]] = [
    {"prompt_tokens": 10, "completion_tokens": "1000"},
    {"prompt_tokens": 10, "completion_tokens": None},
    {"prompt_tokens": 10, "completion_tokens": True},
    {"prompt_tokens": -100_000, "completion_tokens": 10},
    {"prompt_tokens": 10},
]


@pytest.mark.parametrize("usage", HALF, ids=repr)
def test_what_an_answer_does_not_say_in_full_counts_as_the_most(
    dear: Session, usage: dict[str, Any]
) -> None:
    nbckpt.budget(2.5)
    answer = {"choices": [{"message": {"content": "a"}}], "model": "m", "usage": usage}
    with answering(answer) as url, scope.entered("step"):
        for n in range(2):
            assert post(url, body(str(n), max_tokens=10)).is_success
        with pytest.raises(BudgetError):
            post(url, body("2", max_tokens=10))


def test_more_from_a_cache_than_went_in_gives_nothing_back(recorded: Session) -> None:
    recorded.settings = replace(recorded.settings, prices="m=1/1/0.01")
    usage = {"prompt_tokens": 10, "completion_tokens": 10} | {
        "prompt_tokens_details": {"cached_tokens": 9_000}
    }
    answer = {"choices": [{"message": {"content": "a"}}], "model": "m", "usage": usage}
    with answering(answer) as url, scope.entered("step"):
        post(url, body(max_tokens=10))

    assert 0 < paid_of(recorded) < 20 / 1e6


def test_a_response_that_is_read_back_is_paid_once(recorded: Session) -> None:
    recorded.settings = replace(recorded.settings, prices="m=0/1000000")
    told = {"id": "resp_1", "status": "completed", "model": "m"}
    told |= {"usage": {"input_tokens": 1, "output_tokens": 5}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=told))
    url = "https://api.openai.com/v1/responses"
    with httpx.Client(transport=transport) as client, scope.entered("step"):
        client.post(url, json={"model": "m", "input": "a"})
        client.get(f"{url}/resp_1")
        client.get(f"{url}/resp_1?include=a")

    assert nbckpt.budget() == "no budget; $5.00 paid in this session"


def test_a_stream_that_a_function_leaves_is_written_and_passed_on_at_once(
    provider: Provider, recorded: Session
) -> None:
    @nbckpt.step
    def leave() -> float:
        with openai.OpenAI(max_retries=0) as client, nbckpt.recording(coalesce=True):
            said: Any = [{"role": "user", "content": "hi"}]

            def read() -> None:
                stream = client.chat.completions.create(model="m", messages=said, stream=True)
                next(iter(stream))
                stream.close()

            read()
            began = time.perf_counter()
            other = threading.Thread(target=contextvars.copy_context().run, args=(read,))
            other.start()
            other.join(20)
            return time.perf_counter() - began

    assert leave() < 10
    assert [record["state"] for record in records_of(recorded)] == ["partial", "partial"]


@pytest.fixture
def rare() -> Iterator[None]:
    """The collector comes only where it is asked for."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("of", "name"),
    [(Index, "find"), (Index, "of_request"), (Index, "take"), (Putter, "put")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_stream_that_the_collector_meets_in_a_line_of_ours_holds_nobody(
    provider: Provider,
    dear: Session,
    rare: None,
    monkeypatch: pytest.MonkeyPatch,
    of: type,
    name: str,
) -> None:
    met: list[int] = []
    around = {"__name__": "nbckpt.within", "gc": gc, "met": met, "inner": getattr(of, name)}
    exec(
        "def collecting(*arguments, **named):\n"
        "    met.append(gc.collect())\n"
        "    return inner(*arguments, **named)",
        around,
    )

    def leave_streams() -> None:
        with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
            for n in range(5):
                said: Any = [{"role": "user", "content": str(n)}]
                stream = client.chat.completions.create(model="m", messages=said, stream=True)
                next(iter(stream))
                circle: list[Any] = [stream]
                circle.append(circle)
                del stream, circle
                monkeypatch.setattr(of, name, around["collecting"])
            ask(client, "last")
            gc.collect()

    leaving = threading.Thread(target=leave_streams, daemon=True)
    leaving.start()
    leaving.join(20)

    assert not leaving.is_alive()
    assert any(met)
    assert len(provider.requests) == 6
    states = [record["state"] for record in records_of(dear)]
    assert sorted(states) == ["done", *["partial"] * 5]


def test_the_last_piece_of_a_stream_gives_nothing_back(provider: Provider, dear: Session) -> None:
    nbckpt.budget(9)
    url = f"{provider.url}/v1/chat/completions"
    asked = {**body(stream=True), "max_tokens": 20}

    def answered() -> int:
        for n in range(9):
            try:
                with requests.post(url, json=asked, stream=True, timeout=20) as answer:
                    assert list(answer.iter_lines(chunk_size=1))
            except BudgetError:
                return n
        return 9

    assert 0 < answered() < 9
    recorder = current.recorder()
    assert recorder is not None
    assert recorder.budget.paid_usd > 7


def test_what_the_notebook_was_handling_says_nothing_of_a_call(
    provider: Provider, dear: Session
) -> None:
    nbckpt.budget(3)
    provider.slow(first_s=5)
    with openai.OpenAI(max_retries=0, timeout=0.05) as client, scope.entered("step"):
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError:
            with pytest.raises(openai.APITimeoutError):
                ask(client, max_tokens=20)

    assert nbckpt.budget().startswith("budget $3.00 per notebook: $2.00 paid, $1.00 left")


def test_a_call_does_not_wait_for_the_stream_that_waits_for_it(
    provider: Provider, dear: Session
) -> None:
    nbckpt.budget(5.5)

    async def nested() -> None:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            said: Any = [{"role": "user", "content": "hi"}]
            stream = await client.chat.completions.create(
                model="m", messages=said, stream=True, max_tokens=30
            )
            async for _ in stream:
                inner = client.chat.completions.create(model="m", messages=said, max_tokens=30)
                await asyncio.wait_for(inner, 10)

    with scope.entered("step"), pytest.raises(BudgetError, match="in flight may cost"):
        asyncio.run(nested())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_two_readers_of_streams_do_not_wait_for_each_other(
    kind: str, provider: Provider, dear: Session
) -> None:
    """Each has three dollars put aside, and asks for three more while it reads."""
    nbckpt.budget(8.5)
    said: Any = [{"role": "user", "content": "hi"}]
    options: Any = {"model": "m", "messages": said, "max_tokens": 30}
    both = threading.Barrier(2)

    def read() -> None:
        with (
            openai.OpenAI(max_retries=0) as client,
            scope.entered("step"),
            client.chat.completions.create(stream=True, **options) as stream,
        ):
            next(stream)
            both.wait(20)
            client.chat.completions.create(**options)

    async def read_async(client: openai.AsyncOpenAI, begun: list[int]) -> None:
        async with await client.chat.completions.create(stream=True, **options) as stream:
            await anext(stream)
            begun.append(1)
            while len(begun) < 2:
                await asyncio.sleep(0.01)
            await client.chat.completions.create(**options)

    async def read_both() -> list[Any]:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            begun: list[int] = []
            readers = [asyncio.create_task(read_async(client, begun)) for _ in range(2)]
            return await asyncio.wait_for(asyncio.gather(*readers, return_exceptions=True), 30)

    if kind == "tasks":
        with scope.entered("step"):
            problems = asyncio.run(read_both())
    else:
        with ThreadPoolExecutor(2) as pool:
            problems = [future.exception(30) for future in [pool.submit(read) for _ in range(2)]]

    assert [type(p) for p in problems].count(BudgetError) >= 1
    assert all(p is None or isinstance(p, BudgetError) for p in problems)


def test_a_budget_that_is_set_meanwhile_knows_what_is_in_flight(
    provider: Provider, dear: Session
) -> None:
    provider.slow(first_s=0.5)

    def call(n: int) -> str:
        with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
            return ask(client, str(n), max_tokens=10)

    with ThreadPoolExecutor(5) as pool:
        calls = [pool.submit(call, n) for n in range(3)]
        while len(provider.requests) < 3:
            time.sleep(0.01)
        assert nbckpt.budget(3.5).endswith("at most $3.00 in flight, $0.50 left")
        with pytest.raises(BudgetError):
            call(9)
        assert len({future.result() for future in calls}) == 3


@pytest.mark.parametrize("usd", [0.00005, 1e-9, 123_456_789_012.0, 0.1 + 0.2])
def test_every_amount_can_be_set(usd: float, recorded: Session) -> None:
    recorded.settings = replace(recorded.settings, prices=DEAR)

    nbckpt.budget(usd, unknown=0.00001)

    recorder = current.recorder()
    assert recorder is not None
    assert recorder.budget.rule == BudgetRule(pytest.approx(usd), "notebook", 0.00001)
    nbckpt.budget(usd, unknown=float("inf"))
    assert recorder.budget.rule == BudgetRule(pytest.approx(usd), "notebook", None)


def test_several_prompts_are_several_answers(provider: Provider, dear: Session) -> None:
    nbckpt.budget(15)
    with (
        openai.OpenAI(max_retries=0) as client,
        scope.entered("step"),
        pytest.raises(BudgetError, match=r"may cost \$50.00"),
    ):
        client.completions.create(model="m", prompt=["a", "b", "c", "d", "e"], max_tokens=100)


def test_an_answer_that_is_closed_unread_is_not_in_flight(
    provider: Provider, dear: Session
) -> None:
    nbckpt.budget(5.5)
    with httpx.Client() as client, scope.entered("step"):
        url = f"{provider.url}/v1/chat/completions"
        request = client.build_request("POST", url, json={**body(), "max_tokens": 50})
        answer = client.send(request, stream=True)
        answer.close()
        assert nbckpt.budget().startswith("budget $5.50 per notebook: $5.00 paid, $0.50 left")
