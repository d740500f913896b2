"""Calls to hosts that the configuration names, of whatever path and kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests

from nbckpt.errors import UsageError
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, post, records_of
from tests.llm.serving import served


class _Handler(BaseHTTPRequestHandler):
    """Answers with how often it was asked, in the type that the path names."""

    server: _Server

    def do_POST(self) -> None:
        said = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        self.server.asked.append(said)
        text = {
            "/html": "<p>{n}</p>",
            "/empty": "",
            "/events": 'data: {{"n": {n}}}\n\ndata: [DONE]\n\n',
        }.get(self.path.partition("?")[0], '{{"n": {n}, "error": "none", "said": {said}}}')
        kind = {"/html": "text/html", "/events": "text/event-stream"}.get(self.path)
        answer = text.format(n=len(self.server.asked), said=json.dumps(said)).encode()
        self.send_response(500 if self.path == "/fails" else 200)
        self.send_header("content-type", kind or "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    with served(server):
        yield server


def name_hosts(session: Session, text: str, **more: str) -> None:
    session.settings = replace(session.settings, record_hosts=text, **more)


def _httpx(url: str) -> str:
    return httpx.post(url, json={"q": 1}).text


def _httpx2(url: str) -> str:
    with httpx2.Client() as client:
        return client.post(url, json={"q": 1}).text


def _requests(url: str) -> str:
    return requests.post(url, json={"q": 1}, timeout=20).text


def _got(url: str) -> str:
    return requests.get(url, timeout=20).text


def _aiohttp(url: str) -> str:
    async def ask() -> str:
        base, _, path = url.rpartition("/")
        async with (
            aiohttp.ClientSession(f"{base}/") as session,
            session.post(f"/{path}", json={"q": 1}) as answer,
        ):
            return await answer.text()

    return asyncio.run(ask())


def test_another_part_of_a_file_is_another_request(server: _Server, recorded: Session) -> None:
    name_hosts(recorded, "127.0.0.1")

    def got(part: str) -> str:
        with scope.entered("step"):
            return requests.get(f"{server.url}/a", headers={"range": part}, timeout=20).text

    first = got("bytes=0-9")

    assert got("bytes=10-19") != first
    assert got("bytes=0-9") == first


def test_another_page_is_another_request_and_a_key_is_not(
    server: _Server, recorded: Session
) -> None:
    name_hosts(recorded, "127.0.0.1")

    def got(query: str) -> str:
        with scope.entered("step"):
            return requests.get(f"{server.url}/a?{query}", timeout=20).text

    first, second = got("token=page-1&api_key=mine"), got("token=page-2&api_key=mine")

    assert first != second
    assert got("token=page-2&api_key=yours") == second
    assert got("token=page-1&api_key=yours") == first


@pytest.mark.parametrize("path", ["search", "html", "empty", "events"])
@pytest.mark.parametrize("ask", [_httpx, _httpx2, _requests, _got, _aiohttp])
def test_a_raw_call_to_a_named_host_is_replayed(
    ask: Callable[[str], str], path: str, server: _Server, recorded: Session
) -> None:
    name_hosts(recorded, "127.0.0.1")
    with scope.entered("step"):
        first = ask(f"{server.url}/{path}")
    with scope.entered("step"):
        again = ask(f"{server.url}/{path}")

    assert again == first
    assert len(server.asked) == 1
    (record,) = records_of(recorded)
    assert (record["provider"], record["endpoint"]) == ("127.0.0.1", "raw")


def test_what_is_not_named_is_left_alone(server: _Server, recorded: Session) -> None:
    name_hosts(recorded, f"127.0.0.1:{httpx.URL(server.url).port}/v2, 127.0.0.1:9, example.com")
    with scope.entered("step"):
        for path in ("/v1/search", "/v22", "/v2/search", "/v2/search", "/v2/other"):
            httpx.post(server.url + path)
        httpx.put(f"{server.url}/v2/search")

    assert len(server.asked) == 6
    assert len(records_of(recorded)) == 3


def test_a_get_and_a_post_differ_and_an_error_is_no_answer(
    server: _Server, recorded: Session
) -> None:
    name_hosts(recorded, "127.0.0.1")
    with scope.entered("step"):
        got, posted = httpx.get(server.url).text, httpx.post(server.url).text
        httpx.post(f"{server.url}/fails")
    with scope.entered("step"):
        assert (httpx.get(server.url).text, httpx.post(server.url).text) == (got, posted)
        httpx.post(f"{server.url}/fails")

    assert len(server.asked) == 4


def test_a_named_host_may_say_whose_models_answer_there(
    provider: Provider, recorded: Session
) -> None:
    name_hosts(recorded, "127.0.0.1=mistral_ai")
    with scope.entered("step"):
        post(provider.url, body())

    (record,) = records_of(recorded)
    assert (record["provider"], record["endpoint"]) == ("mistral_ai", "chat")


@pytest.mark.slow
def test_the_magic_names_hosts_from_the_next_call_on(
    shell: Any, server: _Server, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.jupyter.test_cells import run

    ask = f"import httpx\na = httpx.post('{server.url}/x').text\nraise ValueError"
    run(shell, '%nbckpt config record_hosts "127.0.0.1/x, llm.example.com=mistral_ai"')
    run(shell, f"%%checkpoint ask\n{ask}")
    run(shell, f"%%checkpoint ask\n{ask}")
    assert len(server.asked) == 1
    run(shell, "%nbckpt config record_hosts none")
    run(shell, f"%%checkpoint ask\n{ask}")
    assert len(server.asked) == 2
    capsys.readouterr()

    try:
        run(shell, "%nbckpt config record_hosts two words")
        told = capsys.readouterr().out
    except UsageError as problem:
        told = str(problem)

    assert "record_hosts is 'two words'; it is HOST[:PORT][/PATH][=PROVIDER], …" in told
