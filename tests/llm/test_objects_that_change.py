"""What providers hold under a name changes: an answer of before the change is no answer."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest

from nbckpt.llm import scope
from nbckpt.llm.form_fields import fields_in_form
from nbckpt.session.session import Session
from tests.llm.asking import records_of

OPENAI = "https://api.openai.com/v1"
GEMINI = "https://generativelanguage.googleapis.com/v1beta"


class Service:
    """A provider that holds files and stores, and notes what it is asked."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.held: dict[str, list[str]] = {}

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self._answer), **options)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.sent.append(f"{request.method} {path}")
        name = next((n for n in self.held if f"/{n}" in path), "")
        if request.method == "DELETE":
            self.held.pop(name, None)
            return httpx.Response(200, json={"deleted": True})
        if request.method == "GET":
            state = {"name": f"files/{name}", "id": name, "state": "ACTIVE", "status": "processed"}
            return httpx.Response(200, json=state) if name else httpx.Response(404, json={})
        body = json.loads(request.content)
        if path.endswith("/search"):
            return httpx.Response(200, json={"data": list(self.held[name])})
        if path.endswith(":generateContent"):
            return httpx.Response(200, json={"candidates": [{"said": self.held["mydoc"][-1]}]})
        if name:
            self.held[name].append(body["content"])
            return httpx.Response(200, json={"id": name})
        own = str(body.get("name", "mydoc"))
        self.held.setdefault(own, []).append(body["content"])
        return httpx.Response(200, json={"id": own, "file": {"name": f"files/{own}"}})


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_search_after_a_change_is_asked_anew(service: Service, recorded: Session) -> None:
    service.held["vs_fixed"] = []

    def run(*files: str) -> Any:
        with scope.entered("step"), service.client() as client:
            for text in files:
                store = f"{OPENAI}/vector_stores/vs_fixed"
                client.post(f"{store}/files", json={"content": text})
            return client.post(f"{store}/search", json={"query": "q"}).json()["data"]

    assert run("f1") == ["f1"]
    assert run("f1") == ["f1"]
    assert run("f1", "f2") == ["f1", "f2"]
    assert [one for one in service.sent if "search" in one] == [
        "POST /v1/vector_stores/vs_fixed/search"
    ] * 2


def test_a_file_of_ones_own_name_is_deleted_and_read_anew(
    service: Service, recorded: Session
) -> None:
    def run(text: str) -> Any:
        with scope.entered("step"), service.client() as client:
            client.delete(f"{GEMINI}/files/mydoc")
            upload = "https://generativelanguage.googleapis.com/upload/v1beta/files"
            client.post(upload, json={"name": "mydoc", "content": text})
            part = {"fileData": {"fileUri": f"{GEMINI}/files/mydoc"}}
            asked = {"contents": [{"parts": [part]}]}
            answer = client.post(f"{GEMINI}/models/m:generateContent", json=asked)
            return answer.json()["candidates"][0]["said"]

    for text in ("one", "two", "three"):
        assert run(text) == text
    assert service.sent.count("DELETE /v1beta/files/mydoc") == 3


def test_a_deletion_is_not_sent_again_because_something_was_added(
    service: Service, recorded: Session
) -> None:
    def run(*files: str) -> None:
        with scope.entered("step"), service.client() as client:
            made = client.post(f"{OPENAI}/files", json={"name": "file-1", "content": "a"})
            store = f"{OPENAI}/vector_stores/vs_1"
            for text in files:
                client.post(f"{store}/files", json={"content": text})
            client.delete(f"{store}/files/{made.json()['id']}")

    service.held["vs_1"] = []
    run("one")
    service.held["vs_1"] = ["one"]
    run("one", "two")

    assert service.sent.count("DELETE /v1/vector_stores/vs_1/files/file-1") == 1


def test_what_is_there_or_not_is_asked_each_time(service: Service, recorded: Session) -> None:
    service.held["mydoc"] = ["one"]

    def is_there() -> bool:
        with scope.entered("step"), service.client() as client:
            return client.get(f"{GEMINI}/files/mydoc").is_success

    assert is_there()
    service.held.clear()
    recorded.wait()
    with scope.entered("other"), service.client() as client:
        assert client.get(f"{GEMINI}/files/mydoc").status_code == 404


def test_what_was_deleted_is_not_there(service: Service, recorded: Session) -> None:
    service.held["file-1"] = ["one"]
    for status in (200, 404):
        with scope.entered("step"), service.client() as client:
            assert client.get(f"{OPENAI}/files/file-1").status_code == status
            client.delete(f"{OPENAI}/files/file-1")
            assert client.get(f"{OPENAI}/files/file-1").status_code == 404


def test_a_stream_of_a_job_that_goes_on_is_asked_for_again(recorded: Session) -> None:
    parts = ['data: {"type": "response.output_text.delta", "delta": "a"}\n\n']
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        if request.method == "POST":
            return httpx.Response(200, json={"id": "resp_1", "status": "queued"})
        headers = {"content-type": "text/event-stream", "content-length": str(len("".join(parts)))}
        return httpx.Response(200, text="".join(parts), headers=headers)

    def follow() -> str:
        with (
            scope.entered("step"),
            httpx.Client(transport=httpx.MockTransport(answer)) as client,
        ):
            client.post(
                f"{OPENAI}/responses", json={"model": "m", "input": "x", "background": True}
            )
            url = f"{OPENAI}/responses/resp_1?stream=true"
            return "".join(client.get(url).text for _ in range(2))

    follow()
    assert sent == ["POST", "GET", "GET"]
    parts.append('data: {"type": "response.completed", "response": {"id": "resp_1"}}\n\n')
    assert "completed" in follow()
    assert sent == ["POST", "GET", "GET", "GET"]
    assert "completed" in follow()
    assert sent == ["POST", "GET", "GET", "GET"]


OWN = "https://intranet.example"


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("messages/batches", {"requests": [{"to": "a", "text": "b"}]}),
        ("interactions", {"agent": "me", "input": "call"}),
        ("batch/jobs", {"endpoint": "/x", "requests": []}),
        ("completion", {"prompt": "a"}),
        ("batches", {"input_file_id": "f", "endpoint": "/x"}),
        ("rerank", {"query": "q", "documents": ["a"]}),
        ("v1/models/imagenet_resnet:predict", {"instances": [1]}),
        ("responses", {"prompt": "how was it?", "answer": "good"}),
    ],
)
def test_other_services_with_such_paths_are_asked_each_time(
    path: str, asked: Any, recorded: Session
) -> None:
    sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, json={"id": 1})

    for _ in range(2):
        with (
            scope.entered("step"),
            httpx.Client(transport=httpx.MockTransport(answer)) as client,
        ):
            client.post(f"{OWN}/{path}", json=asked)

    assert len(sent) == 2
    assert records_of(recorded) == []


@pytest.mark.parametrize(
    "path", ["datasets/me/ds/resolve/main/files/x.bin", "ds/resolve/main/batches/7.json"]
)
def test_downloads_with_hugging_faces_sdk_are_no_polls(path: str, recorded: Session) -> None:
    sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, json={"done": True, "status": "completed"})

    headers = {"user-agent": "unknown/None; hf_hub/0.30.1; python/3.11"}
    for _ in range(2):
        with (
            scope.entered("step"),
            httpx.Client(transport=httpx.MockTransport(answer), headers=headers) as client,
        ):
            client.get(f"{OWN}/{path}")

    assert len(sent) == 2


def test_fields_of_a_form_are_found_in_the_time_that_its_length_takes() -> None:
    def form(content: bytes) -> bytes:
        parts = [
            b'Content-Disposition: form-data; name="n"\r\n\r\n3\r\n',
            b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
            + content
            + b"\r\n",
            b'Content-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n',
        ]
        return b"".join(b"--XX\r\n" + part for part in parts) + b"--XX--\r\n"

    line = b'Content-Disposition: form-data; name="x"\r\n\r\ny\r\n'
    began = time.perf_counter()

    assert fields_in_form(form(line * 20_000)) == {"n": 3, "model": "whisper-1"}
    assert fields_in_form(form(b"")) == {"n": 3, "model": "whisper-1"}
    assert time.perf_counter() - began < 5
