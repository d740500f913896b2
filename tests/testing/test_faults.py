"""What goes wrong on request, as the SDKs see it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx
import ollama
import openai
import pytest
from mistralai.client import Mistral
from openai import OpenAI

from nbckpt.testing import Fault, Provider

CHAT = "/v1/chat/completions"


def asking(prompt: str = "Why?") -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}]}


@pytest.fixture
def client(provider: Provider) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_an_sdk_tries_again_after_the_time_that_it_is_told(
    provider: Provider, client: OpenAI
) -> None:
    provider.fail(times=2, status=429, retry_after=0.2)
    begun = time.monotonic()

    said = client.with_options(max_retries=2).chat.completions.create(**asking())

    assert said.choices[0].message.content.startswith("Answer 1: ")
    assert time.monotonic() - begun >= 0.4
    assert (len(provider.requests), provider.answered) == (3, 1)


def test_an_error_says_what_it_is(provider: Provider, client: OpenAI) -> None:
    provider.fail(status=429)

    with pytest.raises(openai.RateLimitError) as raised:
        client.chat.completions.create(**asking())

    assert raised.value.type == "rate_limit_error"
    assert raised.value.response.headers["retry-after"] == "0"


def test_rules_are_used_up_one_error_at_a_time(provider: Provider) -> None:
    provider.fail(status=500)
    provider.fail(status=503)
    provider.slow(first_s=0.05)

    statuses = [httpx.post(provider.url + CHAT, json=asking()).status_code for _ in range(3)]

    assert statuses == [500, 503, 200]


@pytest.mark.slow
def test_a_rule_for_a_path_spares_the_others(provider: Provider, client: OpenAI) -> None:
    from anthropic import Anthropic, InternalServerError

    provider.fail(times=None, path="/messages")

    said = client.chat.completions.create(**asking())
    with (
        Anthropic(base_url=provider.url, api_key="none", max_retries=0) as other,
        pytest.raises(InternalServerError),
    ):
        other.messages.create(**asking(), max_tokens=9)

    assert said.id == "chatcmpl-1"


def test_what_is_mended_goes_on(provider: Provider, client: OpenAI) -> None:
    provider.fail(times=None)
    provider.mend()

    assert client.chat.completions.create(**asking()).id == "chatcmpl-1"


def test_a_cut_stream_has_some_chunks_and_no_end(provider: Provider, client: OpenAI) -> None:
    provider.cut(after_chunks=3)
    stream = client.chat.completions.create(**asking(), stream=True)

    words = [next(stream).choices[0].delta.content for _ in range(3)]
    with pytest.raises((openai.APIConnectionError, httpx.TransportError)):
        next(stream)

    assert words == ["", "Answer", " 1:"]
    assert (provider.answered, provider.stats()["lost"]) == (0, 1)


def test_a_cut_answer_is_no_answer(provider: Provider, client: OpenAI) -> None:
    provider.cut(after_chunks=1)

    with pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(**asking())

    assert (provider.answered, provider.stats()["lost"]) == (0, 1)


def test_an_error_comes_in_the_middle_of_a_stream(provider: Provider, client: OpenAI) -> None:
    from anthropic import Anthropic

    provider.error_midway(after_chunks=4, times=None)
    ollamas = ollama.Client(provider.url)
    with Anthropic(base_url=provider.url, api_key="none") as other, ollamas:
        streams = [
            lambda: client.chat.completions.create(**asking(), stream=True),
            lambda: other.messages.create(**asking(), max_tokens=9, stream=True),
            lambda: ollamas.chat(**asking(), stream=True),
        ]
        told = list(client.responses.create(model="m", input="Why?", stream=True))
        came = []
        for begin in streams:
            events = iter(begin())
            came.append(next(events))
            with pytest.raises(Exception, match="in the middle of the answer"):
                list(events)

    assert [each.type for each in told[3:]] == ["response.content_part.added", "error"]
    assert len(came) == 3
    assert (provider.answered, provider.stats()["errors"]) == (0, {"500": 4})


@pytest.mark.slow
def test_chunks_come_as_late_as_they_should(provider: Provider, client: OpenAI) -> None:
    provider.slow(first_s=0.3, between_s=0.05, times=1)
    begun = time.monotonic()

    stream = client.chat.completions.create(**asking(), stream=True)
    came = [time.monotonic() - begun for _ in stream]

    assert came[0] >= 0.3
    assert came[-1] - came[0] >= 0.05 * (len(came) - 1) * 0.9


def test_an_answer_that_is_late_is_given_up(provider: Provider, client: OpenAI) -> None:
    provider.slow(first_s=30)

    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.2).chat.completions.create(**asking())


def test_malformed_answers_are_broken_json(provider: Provider, client: OpenAI) -> None:
    provider.malformed(times=2)

    with pytest.raises(json.JSONDecodeError):
        client.chat.completions.create(**asking())
    with pytest.raises(json.JSONDecodeError):
        list(client.chat.completions.create(**asking(), stream=True))

    assert client.chat.completions.create(**asking()).id == "chatcmpl-3"


def test_an_answer_of_a_wrong_type_says_so(provider: Provider) -> None:
    provider.wrong_type()

    wrong, right = (httpx.post(provider.url + CHAT, json=asking()) for _ in range(2))

    assert wrong.headers["content-type"] == "text/html"
    assert right.headers["content-type"] == "application/json"
    assert wrong.json()["id"] == "chatcmpl-1"


@pytest.mark.slow
def test_a_large_answer_is_whole(provider: Provider, client: OpenAI) -> None:
    provider.large(10_000_000, times=2)

    whole = client.chat.completions.create(**asking())
    stream = client.chat.completions.create(**asking(), stream=True)

    text = "".join(each.choices[0].delta.content or "" for each in stream)
    assert len(whole.choices[0].message.content) == len(text) >= 10_000_000
    assert provider.answered == 2


@pytest.mark.slow
def test_an_answer_without_an_end_is_all_there(provider: Provider) -> None:
    provider.never_close(times=2)

    with Mistral(server_url=provider.url, api_key="none") as client:
        events = list(client.chat.stream(**asking()))
    with httpx.stream("POST", provider.url + CHAT, json=asking(), timeout=0.3) as response:
        chunks = response.iter_bytes()
        whole = json.loads(next(chunks))
        with pytest.raises(httpx.ReadTimeout):
            next(chunks)

    assert events[-1].data.choices[0].finish_reason == "stop"
    assert whole["id"] == "chatcmpl-2"
    assert provider.answered == 2


def test_answers_are_compressed_for_those_who_take_it(provider: Provider, client: OpenAI) -> None:
    provider.compress()

    squeezed = httpx.post(provider.url + CHAT, json=asking())
    plain = httpx.post(provider.url + CHAT, json=asking(), headers={"accept-encoding": "br"})
    stream = client.chat.completions.create(**asking(), stream=True)

    assert squeezed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert squeezed.json()["id"] == "chatcmpl-1"
    assert "".join(each.choices[0].delta.content or "" for each in stream).startswith("Answer 3")


@pytest.mark.slow
def test_a_marker_makes_the_same_prompt_fail_so_often(provider: Provider) -> None:
    def status_of(prompt: str) -> int:
        return httpx.post(provider.url + CHAT, json=asking(prompt)).status_code

    assert [status_of("A [fail=2]") for _ in range(3)] == [500, 500, 200]
    assert status_of("B [fail=2]") == 500
    assert [status_of("C [fail=1][status=429]") for _ in range(2)] == [429, 200]
    assert [status_of("D [status=503]") for _ in range(2)] == [503, 503]
    assert status_of("E [first] [fail] [cut] are words") == 200


@pytest.mark.parametrize(
    "prompt", ["[cut=2]", "[cut=2][times=1]", "[malformed]", "[wrong_type]", "[never_close]"]
)
def test_a_marker_does_what_a_rule_does(provider: Provider, prompt: str) -> None:
    broken = httpx.Timeout(0.5)

    def whole(prompt: str) -> bool:
        body = {**asking(prompt), "stream": True}
        try:
            response = httpx.post(provider.url + CHAT, json=body, timeout=broken)
        except (httpx.RemoteProtocolError, httpx.ReadTimeout):
            return False
        lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
        is_sse = response.headers["content-type"] == "text/event-stream"
        return is_sse and all(line.endswith("}") for line in lines)

    assert not whole(prompt)
    assert whole(prompt) is ("times=1" in prompt)
    assert whole("none")


def test_any_mixture_is_a_rule(provider: Provider) -> None:
    provider.fault(Fault(first_s=0.1, gzip=True, media_type="text/plain", times=1))

    response = httpx.post(provider.url + CHAT, json=asking())

    assert response.headers["content-type"] == "text/plain"
    assert response.headers["content-encoding"] == "gzip"
    assert response.elapsed.total_seconds() >= 0.1
