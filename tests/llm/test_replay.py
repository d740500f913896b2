"""What is replayed, what is paid, and what is never taken for an answer."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest

from nbckpt.errors import ReplayError
from nbckpt.llm import current, scope
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.asking import ask, body, failures_of, post, records_of, states_of

# -- matching -----------------------------------------------------------------------------------


def test_equal_requests_of_a_step_are_told_apart_by_their_order(
    provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI() as client:
        with scope.entered("sample"):
            first = [ask(client) for _ in range(5)]
        with scope.entered("sample"):
            again = [ask(client) for _ in range(5)]

    assert len(set(first)) == 5
    assert again == first
    assert provider.answered == 5


def test_a_sixth_sample_is_paid_and_the_first_five_are_not(
    provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI() as client:
        with scope.entered("sample"):
            first = [ask(client) for _ in range(5)]
        with scope.entered("sample"):
            again = [ask(client) for _ in range(6)]

    assert again[:5] == first
    assert provider.answered == 6


@pytest.mark.filterwarnings("default")
def test_equal_requests_in_flight_at_once_get_the_same_multiset(
    provider: Provider, recorded: Session
) -> None:
    async def gathered() -> list[str]:
        async with httpx2.AsyncClient() as client:
            url = f"{provider.url}/v1/chat/completions"
            answers = await asyncio.gather(*(client.post(url, json=body()) for _ in range(8)))
        return sorted(answer.text for answer in answers)

    with scope.entered("samples"):
        first = asyncio.run(gathered())
    with scope.entered("samples"):
        again = asyncio.run(gathered())

    assert len(set(first)) == 8
    assert again == first
    assert provider.answered == 8


def test_order_of_keys_spaces_keys_and_ports_do_not_count(
    provider: Provider, recorded: Session
) -> None:
    headers = {"content-type": "application/json"}
    said = b'"messages": [{"role": "user", "content": "hi"}]'
    with scope.entered("step"):
        one = httpx.post(
            f"{provider.url}/v1/chat/completions?key=abcdefgh1",
            content=b'{"model":"m",%b}' % said,
            headers={**headers, "authorization": "Bearer one"},
        )
    provider.stop()
    with scope.entered("step"):
        other = httpx.post(
            "http://127.0.0.1:9/v1/chat/completions?key=abcdefgh2#stream",
            content=b'{ %b , "model" : "m" }' % said,
            headers={**headers, "authorization": "Bearer two", "user-agent": "another"},
        )

    assert other.text == one.text


@pytest.mark.parametrize(
    ("change", "headers"),
    [({"temperature": 1}, {}), ({"model": "m2"}, {}), ({}, {"openai-project": "another"})],
)
def test_what_changes_an_answer_is_asked_again(
    change: dict[str, object], headers: dict[str, str], provider: Provider, recorded: Session
) -> None:
    with scope.entered("step"):
        post(provider.url, body())
    with scope.entered("step"):
        post(provider.url, {**body(), **change}, headers=headers)

    assert provider.answered == 2


def test_another_step_pays_for_itself(provider: Provider, recorded: Session) -> None:
    with scope.entered("one"):
        post(provider.url, body())
    with scope.entered("two"):
        post(provider.url, body())

    assert provider.answered == 2


def test_outside_of_a_step_nothing_is_recorded_and_all_is_counted(
    provider: Provider, recorded: Session
) -> None:
    post(provider.url, body())
    post(provider.url, body())

    recorder = current.recorder()
    assert recorder is not None
    assert recorder.outcomes.seen == {"openai": 2}
    assert provider.answered == 2
    assert records_of(recorded) == []


def test_what_only_has_such_a_path_is_left_alone(provider: Provider, recorded: Session) -> None:
    with scope.entered("step"):
        for _ in range(2):
            httpx.post(f"{provider.url}/v1/messages", json={"to": "+1", "text": "hello"})

    assert records_of(recorded) == []
    assert failures_of(recorded) == []


# -- modes --------------------------------------------------------------------------------------


def test_what_is_recorded_anew_is_kept_beside_and_counts_from_then_on(
    provider: Provider, recorded: Session
) -> None:
    with scope.entered("step"):
        first = post(provider.url, body()).text
    with scope.entered("step"), scope.recording("record"):
        second = post(provider.url, body()).text
    with scope.entered("step"):
        third = post(provider.url, body()).text

    assert first != second == third
    assert states_of(recorded) == ["done", "done"]


def test_off_pays_each_time_and_keeps_nothing(provider: Provider, recorded: Session) -> None:
    with scope.entered("step"), scope.recording("off"):
        post(provider.url, body())
        post(provider.url, body())

    assert provider.answered == 2
    assert records_of(recorded) == []


def test_only_tells_the_nearest_recording_and_sends_nothing(
    provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI() as client:
        with scope.entered("step"):
            ask(client, "long ago", temperature=0.5)
            ask(client, "hi", temperature=0.5)
        with (
            scope.entered("step"),
            scope.recording("only"),
            pytest.raises(ReplayError, match=r"in step 'step'; nearest: .*temperature: 0.5 → 0.7"),
        ):
            ask(client, "hi", temperature=0.7)
        with scope.entered("step"), scope.recording("only"):
            assert ask(client, "hi", temperature=0.5)

    assert provider.answered == 2


# -- errors are no answers ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 500])
def test_an_sdks_own_retry_stands_in_the_place_of_what_failed(
    status: int, provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI() as client:
        with scope.entered("step"):
            provider.fail(2, status=status, retry_after=0.0)
            first = [ask(client), ask(client)]
        provider.stop()
        with scope.entered("step"):
            again = [ask(client), ask(client)]

    assert again == first
    assert failures_of(recorded) == [f"HTTP {status}"] * 2
    assert states_of(recorded) == ["done", "done"]


def test_a_cut_stream_is_an_error_for_the_caller_and_no_answer(
    provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI(max_retries=0) as client:
        options = {"model": "m", "messages": body()["messages"], "stream": True}
        with scope.entered("step"):
            provider.cut(after_chunks=3)
            with pytest.raises((openai.APIError, httpx.HTTPError, httpx2.HTTPError)):
                list(client.chat.completions.create(**options))
        with scope.entered("step"):
            whole = list(client.chat.completions.create(**options))

    assert len(whole) > 5
    assert states_of(recorded) == ["partial", "done"]
    assert len(failures_of(recorded)) == 1


def test_a_stream_left_early_keeps_its_place_and_is_no_answer(
    provider: Provider, recorded: Session
) -> None:
    options = {"model": "m", "messages": body()["messages"], "stream": True}

    def both(client: openai.OpenAI) -> str:
        with client.chat.completions.create(**options) as stream:
            next(stream)
        return "".join(
            chunk.choices[0].delta.content or ""
            for chunk in client.chat.completions.create(**options)
        )

    with openai.OpenAI() as client:
        with scope.entered("step"):
            first = both(client)
        with scope.entered("step"):
            again = both(client)

    assert again == first
    assert states_of(recorded) == ["partial", "done", "partial"]


def test_a_stream_that_never_closes_is_an_answer_at_its_last_event(
    provider: Provider, recorded: Session
) -> None:
    url = f"{provider.url}/v1/chat/completions"
    provider.never_close()
    asked = {"json": body(stream=True)}
    with (
        scope.entered("step"),
        httpx2.Client() as client,
        client.stream("POST", url, **asked) as answer,
    ):
        first = next(part for part in answer.iter_text() if "[DONE]" in part)
        assert states_of(recorded) == ["done"]
    provider.stop()
    with (
        scope.entered("step"),
        httpx2.Client() as client,
        client.stream("POST", url, **asked) as answer,
    ):
        assert first in answer.read().decode()


def test_a_stream_that_has_said_all_is_an_answer_when_its_step_ends(
    provider: Provider, recorded: Session
) -> None:
    url = f"{provider.url}/v1/messages"
    asked = {"model": "m", "max_tokens": 99, "messages": body()["messages"], "stream": True}
    with httpx.Client() as client:
        with scope.entered("step"):
            answer = client.send(client.build_request("POST", url, json=asked), stream=True)
            pieces, seen = answer.iter_text(), ""
            while '"stop_reason": "' not in seen:
                seen += next(pieces)
            assert states_of(recorded) == []
        assert states_of(recorded) == ["done"]
        whole = seen + "".join(pieces)
        provider.stop()

        with scope.entered("step"):
            assert client.post(url, json=asked).text == whole


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("malformed", "an answer that is no JSON"),
        ("wrong_type", "an answer of type text/html"),
    ],
)
def test_what_is_no_answer_reaches_the_caller_and_is_not_recorded(
    fault: str, why: str, provider: Provider, recorded: Session
) -> None:
    getattr(provider, fault)(times=2)
    with scope.recording("off"):
        plain = post(provider.url, body())
    with scope.entered("step"):
        seen = post(provider.url, body())
    with scope.entered("step"):
        good = post(provider.url, body()).json()

    assert (seen.status_code, len(seen.content)) == (plain.status_code, len(plain.content))
    assert good["choices"]
    assert failures_of(recorded) == [why]
    assert states_of(recorded) == ["done"]


def test_a_refused_connection_is_an_event(provider: Provider, recorded: Session) -> None:
    provider.stop()

    with scope.entered("step"), pytest.raises(httpx.ConnectError):
        post(provider.url, body())

    assert [text.partition(":")[0] for text in failures_of(recorded)] == ["ConnectError"]


def test_an_answer_of_10_mb_comes_back_byte_by_byte(provider: Provider, recorded: Session) -> None:
    provider.large(10_000_000)
    with scope.entered("step"):
        first = post(provider.url, body()).content
    provider.stop()
    with scope.entered("step"):
        again = post(provider.url, body()).content

    assert len(first) > 10_000_000
    assert again == first


def test_a_damaged_recording_is_paid_anew_and_told(
    provider: Provider, recorded: Session, folder: Path
) -> None:
    with scope.entered("step"):
        post(provider.url, body())
    recorded.wait()
    for pack in (folder / "packs").iterdir():
        pack.write_bytes(b"\0" * pack.stat().st_size)
    current.end()
    session = Session(Store.open(folder), {"__name__": "__main__"}, notebook="test")
    current.begin(session)

    with scope.entered("step"):
        assert post(provider.url, body()).json()["choices"]

    assert provider.answered == 2
    assert any("cannot be read and is paid anew" in text for text in session.writes.news)
    session.store.close()


# -- threads and tasks ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_thread_without_a_context_belongs_to_the_step_that_runs(
    provider: Provider, recorded: Session
) -> None:
    with ThreadPoolExecutor(4) as pool:
        pool.submit(threading.get_ident).result()  # the pool was there before the step
        for _ in range(2):
            with scope.entered("step"):
                answers = list(pool.map(lambda n: post(provider.url, body(f"{n}")).text, range(8)))

    assert len(set(answers)) == 8
    assert provider.answered == 8


def test_a_task_that_outlives_its_step_stays_in_it(provider: Provider, recorded: Session) -> None:
    async def main() -> None:
        async def late() -> None:
            await asyncio.sleep(0.05)
            async with httpx.AsyncClient() as client:
                await client.post(f"{provider.url}/v1/chat/completions", json=body())

        with scope.entered("one"):
            task = asyncio.create_task(late())
        with scope.entered("two"):
            await task

    asyncio.run(main())

    assert [record["step"] for record in records_of(recorded)] == ["one"]


@pytest.mark.slow
def test_200_calls_at_once_are_all_kept(provider: Provider, recorded: Session) -> None:
    async def many() -> list[str]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            url = f"{provider.url}/v1/chat/completions"
            answers = await asyncio.gather(
                *(client.post(url, json=body(f"{n}")) for n in range(200))
            )
        return [answer.text for answer in answers]

    with scope.entered("step"):
        first = asyncio.run(many())
    provider.stop()
    with scope.entered("step"):
        again = asyncio.run(many())

    assert again == first
    assert len(set(first)) == 200


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (2.0, 2), (1e2, 100)])
def test_a_number_is_one_however_it_is_written(
    one: float, other: float, provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI() as client:
        with scope.entered("step"):
            first = ask(client, temperature=one)
        with scope.entered("step"):
            assert ask(client, temperature=other) == first

    assert provider.answered == 1


@pytest.mark.parametrize(
    ("path", "asked", "member"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}, "metadata"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}, "user"),
        ("/v1/responses", {"input": "hi"}, "safety_identifier"),
        ("/v1/responses", {"input": "hi"}, "prompt_cache_key"),
        (
            "/v1/messages",
            {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
            "metadata",
        ),
    ],
)
def test_what_no_answer_depends_on_does_not_count(
    path: str, asked: dict[str, Any], member: str, provider: Provider, recorded: Session
) -> None:
    seen = []
    for told in ({"user_id": "one"}, {"user_id": "two"}, None):
        with scope.entered("step"):
            more = {} if told is None else {member: told}
            answer = httpx.post(provider.url + path, json={"model": "m", **asked, **more})
            seen.append(answer.json())

    assert provider.answered == 1
    assert seen[0] == seen[1] == seen[2]
    with scope.entered("step"):
        httpx.post(provider.url + path, json={"model": "m", **asked, "temperature": 0.5})
    assert provider.answered == 2


def test_what_the_user_does_not_want_compared_does_not_count(
    provider: Provider, recorded: Session
) -> None:
    recorded.settings = replace(recorded.settings, match_ignore="trace_id, extra.run")
    bodies = [
        body(trace_id="a", extra={"run": 1, "k": 1}),
        body(trace_id="b", extra={"run": 2, "k": 1}),
        body(extra={"k": 1}),
        body(trace_id="a", extra={"run": 1, "k": 2}),
    ]
    for each in bodies:
        with scope.entered("step"):
            post(provider.url, each)

    assert provider.answered == 2
