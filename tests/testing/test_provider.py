"""The provider itself: what it counts, how it is started, how much it takes at once."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from urllib.parse import urlsplit

import httpx
import pytest
import requests
from openai import AsyncOpenAI, OpenAI

from nbckpt.errors import UsageError
from nbckpt.testing import Provider, ToolCall
from nbckpt.testing.wire import Json
from tests.running import environment

HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
CHAT = "/v1/chat/completions"


def test_two_answers_to_one_prompt_differ_in_their_number_only(provider: Provider) -> None:
    first, second = (httpx.post(provider.url + CHAT, json=HELLO).json() for _ in range(2))

    said = [each["choices"][0]["message"]["content"] for each in (first, second)]
    assert said[0].startswith("Answer 1: ")
    assert said[1] == said[0].replace("1", "2", 1)


def test_each_request_is_kept_and_each_answer_counted(provider: Provider) -> None:
    for _ in range(3):
        httpx.post(provider.url + CHAT, json=HELLO)

        assert provider.answered == len(provider.requests)
    assert provider.requests == [(CHAT, HELLO)] * 3
    assert provider.stats()["by_path"] == {CHAT: 3}


def test_errors_are_no_answers(provider: Provider) -> None:
    provider.fail(times=2, status=503, retry_after=None)

    statuses = [httpx.post(provider.url + CHAT, json=HELLO).status_code for _ in range(3)]

    assert statuses == [503, 503, 200]
    assert provider.answered == 1
    assert provider.stats()["errors"] == {"503": 2}


def test_a_function_answers_with_text_or_with_a_call_of_a_tool() -> None:
    said = iter(["Yes.", ToolCall("add", {"a": 1})])
    with Provider(answer=lambda asked: next(said)) as provider:
        first, second = (httpx.post(provider.url + CHAT, json=HELLO).json() for _ in range(2))

    assert first["choices"][0]["message"]["content"] == "Yes."
    called = second["choices"][0]["message"]["tool_calls"][0]["function"]
    assert called == {"name": "add", "arguments": '{"a": 1}'}


def test_a_function_that_fails_is_an_error_that_names_it() -> None:
    with Provider(answer=lambda asked: asked["none"]) as provider:
        response = httpx.post(provider.url + CHAT, json=HELLO)

    assert response.status_code == 500
    assert "answer= raised KeyError" in response.json()["error"]["message"]


@pytest.mark.slow
def test_two_hundred_requests_are_in_flight_at_once() -> None:
    all_came = threading.Event()

    def answer(asked: Json) -> None:
        assert all_came.wait(60)

    async def ask(url: str) -> set[str]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", timeout=120) as client:
            calls = [client.chat.completions.create(**HELLO) for _ in range(200)]
            answers = asyncio.gather(*calls)
            try:
                async with asyncio.timeout(60):
                    while provider.stats()["in_flight"] < 200:
                        await asyncio.sleep(0.01)
            finally:
                all_came.set()
            return {each.id for each in await answers}

    with Provider(answer=answer) as provider:
        assert len(asyncio.run(ask(provider.url))) == 200
        assert provider.answered == 200
        assert provider.stats()["most_in_flight"] == 200


def test_connections_are_kept_alive(provider: Provider) -> None:
    with httpx.Client() as client:
        ports = {
            client.post(provider.url + CHAT, json=HELLO)
            .extensions["network_stream"]
            .get_extra_info("client_addr")
            for _ in range(3)
        }

    assert len(ports) == 1


def test_a_body_may_come_in_chunks(provider: Provider) -> None:
    content = json.dumps(HELLO).encode()

    sent = requests.post(provider.url + CHAT, data=iter([content[:20], content[20:]]), timeout=9)

    assert sent.status_code == 200
    assert provider.requests == [(CHAT, HELLO)]


def test_it_needs_the_standard_library_alone() -> None:
    # Without the site there are no packages of others.
    command = [sys.executable, "-S", "-c", "import nbckpt.testing.provider"]

    ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)

    assert ran.returncode == 0, ran.stderr


def test_it_stops_and_starts_again_at_the_same_address() -> None:
    provider = Provider().start()
    url = provider.url

    provider.stop()

    with pytest.raises(httpx.ConnectError):
        httpx.post(url + CHAT, json=HELLO)
    with provider:
        assert provider.url == url
        assert httpx.post(url + CHAT, json=HELLO).status_code == 200


def test_it_stops_while_answers_are_in_flight(provider: Provider) -> None:
    provider.slow(between_s=30)
    with httpx.stream("POST", provider.url + CHAT, json={**HELLO, "stream": True}) as response:
        chunks = response.iter_raw()
        next(chunks)

        provider.stop()

        with pytest.raises(httpx.RemoteProtocolError):
            list(chunks)
    assert provider.answered == 0
    assert provider.stats()["lost"] == 1
    assert provider.stats()["in_flight"] == 0


def test_a_taken_port_is_named(provider: Provider) -> None:
    port = int(provider.url.rsplit(":", 1)[1])

    with pytest.raises(UsageError, match=f"port {port} is taken"):
        Provider(port=port).start()


def test_sdks_find_it_by_the_environment(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in provider.environment().items():
        monkeypatch.setenv(name, value)

    with OpenAI() as client:
        client.chat.completions.create(**HELLO)

    assert provider.answered == 1


def test_what_is_no_request_of_an_api_is_refused_in_its_words(provider: Provider) -> None:
    unknown = httpx.post(f"{provider.url}/v1/cats", json={})
    broken = httpx.post(provider.url + CHAT, content=b"{")
    strange = httpx.post(provider.url + CHAT, json={**HELLO, "tools": [3]})

    assert [each.status_code for each in (unknown, broken, strange)] == [404, 400, 400]
    assert broken.json()["error"]["type"] == "invalid_request_error"
    assert provider.answered == 0


def test_a_process_of_its_own_prints_its_address_counts_and_ends() -> None:
    command = [sys.executable, "-W", "error", "-m", "nbckpt.testing.provider"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        try:
            httpx.post(url + CHAT, json=HELLO)
            counted = httpx.get(f"{url}/_stats").json()
            asked = httpx.get(f"{url}/_requests").json()
        finally:
            os.kill(process.pid, signal.SIGTERM)

    assert (counted["answered"], asked) == (1, [[CHAT, HELLO]])
    assert process.returncode == 0


def test_stopping_closes_the_connections_that_come_at_that_moment() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(50):
            with Provider() as provider:
                port = urlsplit(provider.url).port
                clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
            for client in clients:
                client.close()
            del provider
        gc.collect()

    assert [str(one.message) for one in told] == []
