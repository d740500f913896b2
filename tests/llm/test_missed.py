"""What asks models by ways that no seam sees is told of, and calls are counted by provider."""

from __future__ import annotations

import asyncio
import http.client
import json
import pickle
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from nbckpt.llm import current, scope, seams, unseen_traffic
from nbckpt.llm.calls_text import calls_text
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.jupyter.test_cells import run
from tests.llm.asking import ask, body, post, records_of

BYPASSED = "by a way that nbckpt does not see: if it asks a model there, that is NOT recorded"


@pytest.fixture(autouse=True)
def _unseen() -> Iterator[None]:
    """What other tests have seen."""
    unseen_traffic.passed.clear()
    unseen_traffic._seen.clear()
    yield
    unseen_traffic.passed.clear()


def bypass(url: str) -> int:
    """A model call by the standard library alone, as vendored HTTP libraries make them."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    headers = {"content-type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body()), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def answering(text: str = '{"a": 1}') -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, text=text)))


def news(session: Session) -> list[str]:
    return list(session.writes.news)


def test_a_client_that_bypasses_every_seam_is_told_of_once(
    provider: Provider, recorded: Session
) -> None:
    for step in ("one", "two"):
        with scope.entered(step):
            assert bypass(provider.url) == 200

    (told,) = news(recorded)
    assert told.startswith(f"step 'one' calls 127.0.0.1 {BYPASSED}")
    assert records_of(recorded) == []


def test_another_stack_in_an_event_loop_is_told_of(provider: Provider, recorded: Session) -> None:
    async def connect() -> None:
        port = urlsplit(provider.url).port
        _, writer = await asyncio.open_connection("localhost", port)
        writer.close()
        await writer.wait_closed()

    with pytest.MonkeyPatch.context() as patch, scope.entered("step"):
        patch.setenv("OPENAI_BASE_URL", f"http://localhost:{urlsplit(provider.url).port}/v1")
        asyncio.run(connect())

    (told,) = news(recorded)
    assert told.startswith(f"step 'step' calls localhost {BYPASSED}")


def test_what_the_seams_see_is_not_told_of(provider: Provider, recorded: Session) -> None:
    import openai

    class Own(httpx.HTTPTransport):
        """A transport that a user brings along."""

    with scope.entered("step"):
        httpx.get(f"{provider.url}/v1/models")
        post(provider.url, body())
        with openai.OpenAI() as client:
            ask(client)
        with httpx.Client(transport=Own()) as other:
            other.post(f"{provider.url}/v1/chat/completions", json=body())

    assert news(recorded) == []
    assert len(records_of(recorded)) == 3


def test_nothing_is_told_where_nothing_is_recorded(provider: Provider, recorded: Session) -> None:
    bypass(provider.url)
    with scope.entered("step"), scope.recording("off"):
        bypass(provider.url)
    with scope.entered("step"):
        socket.getaddrinfo("localhost", 1)

    assert news(recorded) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://api.stability.ai/v2beta/stable-image/generate/core",
        "https://bedrock-agent-runtime.us-east-1.amazonaws.com/knowledgebases/k/retrieve",
    ],
)
def test_a_host_of_models_with_unknown_paths_is_told_of_with_the_next_move(
    url: str, recorded: Session
) -> None:
    host = urlsplit(url).hostname
    with scope.entered("step"), answering() as client:
        client.post(url, json={"a": 1})
        client.post(url, json={"a": 1})
    (told,) = news(recorded)
    assert f"`%nbckpt config record_hosts {host}` has them recorded" in told

    recorded.settings = replace(recorded.settings, record_hosts=str(host))
    with scope.entered("step"), answering() as client:
        first = client.post(url, json={"a": 1}).text
    with scope.entered("step"), answering("other") as client:
        assert client.post(url, json={"a": 1}).text == first

    assert len(records_of(recorded)) == 1


def test_calls_are_counted_by_provider_and_outcome(provider: Provider, recorded: Session) -> None:
    post(provider.url, body())
    for _ in range(2):
        with scope.entered("step"):
            post(provider.url, body())
            post(provider.url, body("[fail=1]"))
    with answering() as client:
        client.get("https://api.openai.com/v1/models")

    recorder = current.recorder()
    assert recorder is not None
    assert calls_text(recorder.outcomes) == (
        "5 of openai (2 recorded, 1 replayed, 1 failed, 1 not in a step, or off), "
        "1 other request to api.openai.com"
    )


def test_the_status_and_the_next_prompt_tell_of_it(
    shell: Any, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt status")
    assert "calls       none" in capsys.readouterr().out
    run(
        shell,
        f"%%checkpoint ask\nimport http.client\nc = http.client.HTTPConnection"
        f"('{urlsplit(provider.url).netloc}')\nc.connect(); c.close(); c = None",
    )

    assert f"step 'ask' calls 127.0.0.1 {BYPASSED}" in "".join(capsys.readouterr())


def test_a_name_is_looked_up_as_before_when_nbckpt_goes(recorded: Session) -> None:
    assert hasattr(socket.getaddrinfo, "original")
    assert pickle.loads(pickle.dumps(socket.getaddrinfo)) is socket.getaddrinfo
    seams.uninstall()
    try:
        assert not hasattr(socket.getaddrinfo, "original")
    finally:
        seams.install()


def test_a_defect_in_telling_breaks_no_connection(
    provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError

    monkeypatch.setattr(unseen_traffic, "connected", fail)
    with scope.entered("step"):
        assert bypass(provider.url) == 200

    assert news(recorded) == ["a model call was NOT recorded, by a defect in nbckpt: KeyError: "]


def test_a_process_that_is_forked_is_not_told(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        shell,
        "%%checkpoint a\nimport multiprocessing\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool: n = pool.map(abs, [-1])",
    )

    assert "processes of its own" not in "".join(capsys.readouterr())
