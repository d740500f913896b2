"""Calls through aiohttp: of google-genai, of openai over it, and raw ones."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from google import genai

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, failures_of, post, records_of, states_of

PATH = "/v1/chat/completions"
SAID = body()["messages"]


async def _google(_: Provider) -> Any:
    answer = await genai.Client().aio.models.generate_content(model="m", contents="hi")
    return answer.model_dump(exclude={"sdk_http_response"})


async def _google_stream(_: Provider) -> Any:
    stream = await genai.Client().aio.models.generate_content_stream(model="m", contents="hi")
    return [chunk.text async for chunk in stream]


async def _openai(_: Provider) -> Any:
    async with openai.AsyncOpenAI(http_client=openai.DefaultAioHttpClient()) as client:
        return await client.chat.completions.create(model="m", messages=SAID)


async def _openai_stream(_: Provider) -> Any:
    async with openai.AsyncOpenAI(http_client=openai.DefaultAioHttpClient()) as client:
        stream = await client.chat.completions.create(model="m", messages=SAID, stream=True)
        return [chunk async for chunk in stream]


async def _raw(provider: Provider) -> Any:
    async with (
        aiohttp.ClientSession(provider.url) as session,
        session.post(PATH, json=body(), params={"a": "b"}) as answer,
    ):
        return answer.status, answer.ok, str(answer.url), await answer.json()


async def _raw_data(provider: Provider) -> Any:
    headers = {"content-type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(provider.url + PATH, data=json.dumps(body()), headers=headers) as answer,
    ):
        answer.raise_for_status()
        return await answer.text()


async def _raw_stream(provider: Provider) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.post(provider.url + PATH, json=body(stream=True)) as answer,
    ):
        return [line async for line in answer.content]


async def _raw_chunks(provider: Provider) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.post(provider.url + PATH, json=body(stream=True)) as answer,
    ):
        chunks = [pair async for pair in answer.content.iter_chunks()]
        assert all(is_end for _, is_end in chunks[:3])
        return chunks


CASES = [
    _raw_chunks,
    _google,
    _google_stream,
    _openai,
    _openai_stream,
    _raw,
    _raw_data,
    _raw_stream,
]


async def _form(provider: Provider) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{provider.url}/v1/audio/transcriptions", data=_spoken()) as answer,
    ):
        return await answer.json()


def _spoken() -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("model", "whisper-1")
    form.add_field("file", io.BytesIO(b"RIFF" * 500), filename="a.wav", content_type="audio/wav")
    form.add_field("other", Path(asyncio.__file__).open("rb"))  # noqa: SIM115 - the library does
    return form


CASES.append(_form)


def ask(
    function: Callable[[Provider], Coroutine[Any, Any, Any]], provider: Provider, step: str = "step"
) -> Any:
    with scope.entered(step):
        return asyncio.run(function(provider))


@pytest.mark.filterwarnings("default")  # the SDKs' own
@pytest.mark.parametrize("function", CASES)
def test_the_same_comes_back_with_the_provider_stopped(
    function: Any, provider: Provider, recorded: Session
) -> None:
    first = ask(function, provider)
    assert provider.answered == 1
    assert states_of(recorded) == ["done"]
    provider.stop()

    assert ask(function, provider) == first


def test_an_answer_that_another_library_recorded_compressed_is_read(
    provider: Provider, recorded: Session
) -> None:
    async def get(provider: Provider) -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.post(provider.url + PATH, json=body("[gzip]")) as answer,
        ):
            return await answer.json()

    with scope.entered("step"):
        first = post(provider.url, body("[gzip]"))
    assert first.headers["content-encoding"] == "gzip"
    provider.stop()

    assert ask(get, provider) == first.json()


def test_a_compressed_answer_is_recorded_as_it_was_read(
    provider: Provider, recorded: Session
) -> None:
    async def get(provider: Provider) -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.post(provider.url + PATH, json=body("[gzip]")) as answer,
        ):
            return await answer.json()

    first = ask(get, provider)
    assert states_of(recorded) == ["done"]
    provider.stop()

    assert ask(get, provider) == first


def test_an_error_is_no_answer_and_gives_its_place_back(
    provider: Provider, recorded: Session
) -> None:
    async def twice(provider: Provider) -> Any:
        async with aiohttp.ClientSession() as session:
            statuses = []
            for _ in range(2):
                async with session.post(provider.url + PATH, json=body("[fail=1]")) as answer:
                    statuses.append(answer.status)
                    await answer.read()
            return statuses

    statuses = ask(twice, provider)

    assert statuses[0] >= 400
    assert statuses[1] == 200
    assert [r["occurrence"] for r in records_of(recorded)] == [0]
    assert len(failures_of(recorded)) == 1


def test_a_stream_that_is_left_or_cut_is_no_answer(provider: Provider, recorded: Session) -> None:
    async def leave(provider: Provider) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(provider.url + PATH, json=body("[slow=0.05]", stream=True)) as answer,
        ):
            await answer.content.readline()

    async def cut(provider: Provider) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(provider.url + PATH, json=body("[cut=2]", stream=True)) as answer,
        ):
            await answer.read()

    ask(leave, provider)
    with pytest.raises(aiohttp.ClientError):
        ask(cut, provider)

    assert states_of(recorded) == ["partial", "partial"]


def test_a_body_that_can_be_read_once_is_sent_and_told_of(
    provider: Provider, recorded: Session
) -> None:
    async def send(provider: Provider) -> Any:
        async def parts() -> Any:
            yield json.dumps(body()).encode()

        async with (
            aiohttp.ClientSession() as session,
            session.post(provider.url + PATH, data=parts()) as answer,
        ):
            return answer.status

    with pytest.warns(UserWarning, match="through aiohttp .* NOT recorded: a body of type async"):
        assert ask(send, provider) == 200

    assert records_of(recorded) == []


def test_a_form_is_sent_as_without_recording(provider: Provider, recorded: Session) -> None:
    with scope.recording("off"):
        plain = ask(_form, provider)
    sent = ask(_form, provider)
    plain_request, request = provider.requests

    assert plain["text"] != sent["text"]  # the second of two equal ones
    assert request == plain_request
    (record,) = records_of(recorded)
    asked = bytes(recorded.store.get_blob(record["blob"])[0])
    assert [asked.count(f'name="{n}"'.encode()) for n in ("model", "file", "other")] == [1, 1, 1]
    assert states_of(recorded) == ["done"]
