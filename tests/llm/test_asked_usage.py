"""Streams that did not ask what they took tell it to nbckpt, and their callers see what they asked."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from dataclasses import replace
from typing import Any

import aiohttp
import httpx
import openai
import pytest

from nbckpt.llm import asked_usage, scope
from nbckpt.llm.asked_usage import AskedUsage
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, records_of


def numberless(seen: object) -> str:
    """What differs between two equal calls is the provider's count of them."""
    return re.sub(r"chatcmpl-\d|17600000\d\d| [12]:", "", str(seen))


def chunks_of(client: openai.OpenAI, **options: Any) -> list[dict[str, Any]]:
    said: Any = [{"role": "user", "content": "hi"}]
    stream = client.chat.completions.create(model="m", messages=said, stream=True, **options)
    return [chunk.model_dump() for chunk in stream]


def lines_of(url: str) -> list[str]:
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body(stream=True)) as answer:
        return list(answer.iter_lines())


async def bytes_of(url: str) -> bytes:
    async with aiohttp.ClientSession() as session:
        asked = session.post(f"{url}/v1/chat/completions", json=body(stream=True))
        async with asked as answer:
            return await answer.read()


def test_what_a_stream_took_is_known_and_its_caller_sees_what_was_asked(
    provider: Provider, recorded: Session
) -> None:
    with openai.OpenAI() as client:
        plain = chunks_of(client)
        with scope.entered("step"):
            seen = chunks_of(client)
        provider.stop()
        with scope.entered("step"):
            again = chunks_of(client)

    assert numberless(plain) == numberless(seen)
    assert again == seen
    (record,) = records_of(recorded)
    assert (record["tokens_in"], record["tokens_out"]) > (0, 0)
    asked = [request.body for request in provider.requests]
    assert [a.get("stream_options") for a in asked] == [None, {"include_usage": True}]


@pytest.mark.parametrize("library", ["httpx", "aiohttp"])
def test_raw_bytes_are_those_of_a_stream_that_was_not_asked(
    library: str, provider: Provider, recorded: Session
) -> None:
    def ask() -> Any:
        return lines_of(provider.url) if library == "httpx" else asyncio.run(bytes_of(provider.url))

    plain = ask()
    with scope.entered("step"):
        seen = ask()

    assert "usage" not in str(seen)
    assert numberless(seen) == numberless(plain)
    (record,) = records_of(recorded)
    assert record["tokens_out"] > 0


def test_who_asks_gets_it(provider: Provider, recorded: Session) -> None:
    with openai.OpenAI() as client, scope.entered("step"):
        chunks = chunks_of(client, stream_options={"include_usage": True})

    assert chunks[-1]["usage"]["completion_tokens"] > 0
    assert provider.requests[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_knows_no_such_option_is_asked_without(
    status: int, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked_usage, "_refusing", set())
    sent = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.read()))
        if "stream_options" in sent[-1]:
            return httpx.Response(status, json={"error": {"message": "stream_options: unknown"}})
        text = 'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: [DONE]\n\n'
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    transport = httpx.MockTransport(handle)
    with httpx.Client(transport=transport) as client, scope.entered("step"):
        for prompt in ("one", "two"):
            url = "http://127.0.0.1:9/v1/chat/completions"
            answer = client.post(url, json=body(prompt, stream=True))
            assert answer.status_code == 200
            assert answer.text.endswith("[DONE]\n\n")

    assert ["stream_options" in each for each in sent] == [True, False, False]
    assert [record["state"] for record in records_of(recorded)] == ["done", "done"]


EVENTS = (
    b'data: {"choices":[{"delta":{"content":"say \\"usage\\":null,"}}],"usage":null}\r\n\r\n'
    b": ping\n\n"
    b'data: {"usage":null, "choices":[{"delta":{"content":"b"}}]}\n\n'
    b'data: {"choices":[],"usage":{"completion_tokens":2}}\n\n'
    b"data: [DONE]\n\nrest"
)
WITHOUT = (
    b'data: {"choices":[{"delta":{"content":"say \\"usage\\":null,"}}]}\r\n\r\n'
    b": ping\n\n"
    b'data: {"choices":[{"delta":{"content":"b"}}]}\n\n'
    b"data: [DONE]\n\nrest"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_wherever_its_chunks_are_cut_a_stream_loses_what_was_asked_for(size: int) -> None:
    extra = AskedUsage()

    given = [extra.without(EVENTS[at : at + size]) for at in range(0, len(EVENTS), size)]

    assert b"".join([*given, extra.rest()]) == WITHOUT
    assert extra.event == {"choices": [], "usage": {"completion_tokens": 2}}


def test_who_does_not_want_it_has_it_left(provider: Provider, recorded: Session) -> None:
    recorded.settings = replace(recorded.settings, stream_usage="off")
    with openai.OpenAI() as client, scope.entered("step"):
        chunks_of(client)

    assert "stream_options" not in provider.requests[0].body


def test_a_refusal_of_something_else_is_the_callers(recorded: Session) -> None:
    sent = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.read()))
        return httpx.Response(400, json={"error": {"message": "maximum context length"}})

    url = "http://127.0.0.1:9/v1/chat/completions"
    with httpx.Client(transport=httpx.MockTransport(handle)) as client, scope.entered("step"):
        for _ in range(2):
            answer = client.post(url, json=body(stream=True))
            assert (answer.status_code, "context length" in answer.text) == (400, True)

    assert ["stream_options" in each for each in sent] == [True, True]


def test_a_signed_body_is_sent_as_it_is(provider: Provider, recorded: Session) -> None:
    url = f"{provider.url}/v1/chat/completions"
    with scope.entered("step"):
        httpx.post(url, json=body(stream=True), headers={"content-digest": "sha-256=:x:"})

    assert "stream_options" not in provider.requests[0].body


def test_a_body_that_a_generator_gives_is_sent_whole(provider: Provider, recorded: Session) -> None:
    parts = (part for part in [json.dumps(body(stream=True)).encode()])
    with scope.entered("step"):
        answer = httpx.post(
            f"{provider.url}/v1/chat/completions",
            content=parts,
            headers={"content-type": "application/json"},
        )

    assert answer.text.endswith("data: [DONE]\n\n")
    assert records_of(recorded)[0]["tokens_out"] > 0


def test_a_stream_that_is_encoded_all_the_same_is_decoded(recorded: Session) -> None:
    events = b'data: {"choices":[{"delta":{"content":"a"}}],"usage":null}\n\n' + (
        b'data: {"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":1}}\n\ndata: [DONE]\n\n'
    )

    def handle(_: httpx.Request) -> httpx.Response:
        headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(gzip.compress(events)))

    url = "http://127.0.0.1:9/v1/chat/completions"
    with httpx.Client(transport=httpx.MockTransport(handle)) as client, scope.entered("step"):
        seen = client.post(url, json=body(stream=True)).text
    with httpx.Client(transport=httpx.MockTransport(handle)) as client, scope.entered("step"):
        again = client.post(url, json=body(stream=True)).text

    assert seen == again == 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'
    assert records_of(recorded)[0]["tokens_out"] == 2
