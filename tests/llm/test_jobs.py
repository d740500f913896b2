"""What providers make and let run: made once, followed live, and read back when it has ended."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from nbckpt.config.budget_rule import budget_of
from nbckpt.llm import current, scope
from nbckpt.llm.calls_text import calls_text
from nbckpt.session.session import Session
from tests.llm.asking import failures_of, records_of
from tests.llm.jobs_server import Jobs
from tests.running import environment

CASES: dict[str, Callable[[Jobs], Any]] = {}


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    with Jobs() as jobs:
        yield jobs


def case(function: Callable[[Jobs], Any]) -> Callable[[Jobs], Any]:
    CASES[function.__name__.replace("_", " ")] = function
    return function


def _openai(jobs: Jobs) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{jobs.url}/v1", api_key="offline", max_retries=0)


def _anthropic(jobs: Jobs) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=jobs.url, api_key="offline", max_retries=0)


def _genai(jobs: Jobs) -> genai.Client:
    return genai.Client(api_key="offline", http_options={"base_url": jobs.url})


def until(poll: Callable[[], Any], *states: str) -> Any:
    """What a job is when it has ended: asked for as often as it takes."""
    for _ in range(9):
        told = poll()
        state = getattr(told, "processing_status", None) or getattr(told, "state", None)
        if (getattr(state or told.status, "value", None) or state or told.status) in states:
            return told
    raise AssertionError(told)


@case
def a_batch_of_openai(jobs: Jobs) -> Any:
    with _openai(jobs) as client:
        file = client.files.create(file=("a.jsonl", b'{"custom_id": "1"}'), purpose="batch")
        batch = client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        ended = until(lambda: client.batches.retrieve(batch.id), "completed")
        return batch.id, client.files.content(ended.output_file_id).text


@case
def a_response_in_the_background(jobs: Jobs) -> Any:
    with _openai(jobs) as client:
        begun = client.responses.create(model="o3-deep-research", input="hi", background=True)
        ended = until(lambda: client.responses.retrieve(begun.id), "completed", "failed")
        return ended.output_text


@case
def a_conversation(jobs: Jobs) -> Any:
    with _openai(jobs) as client:
        conversation = client.conversations.create()
        said: Any = {"type": "message", "role": "user", "content": "hi"}
        client.conversations.items.create(conversation.id, items=[said])
        return client.responses.create(model="m", input="hi", conversation=conversation.id).id


@case
def a_search_in_a_vector_store(jobs: Jobs) -> Any:
    with _openai(jobs) as client:
        store = client.vector_stores.create(name="notes")
        return store.id, client.vector_stores.search(store.id, query="hi").data


@case
def a_video(jobs: Jobs) -> Any:
    with _openai(jobs) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the service is to end
        video = client.videos.create(model="sora-2", prompt="a cat")
        until(lambda: client.videos.retrieve(video.id), "completed")
        return client.videos.download_content(video.id).content


@case
def a_file_that_is_deleted_after_its_use(jobs: Jobs) -> Any:
    with _openai(jobs) as client:
        file = client.files.create(file=("a.txt", b"text"), purpose="user_data")
        part: Any = {"type": "input_file", "file_id": file.id}
        said: Any = [{"role": "user", "content": [part]}]
        answer = client.responses.create(model="m", input=said).id
        client.files.delete(file.id)
        return file.id, answer


@case
def a_batch_of_anthropic(jobs: Jobs) -> Any:
    said: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    with _anthropic(jobs) as client:
        batch = client.messages.batches.create(requests=[{"custom_id": "a", "params": said}])
        until(lambda: client.messages.batches.retrieve(batch.id), "ended")
        return batch.id, [line.custom_id for line in client.messages.batches.results(batch.id)]


@case
def a_batch_of_gemini(jobs: Jobs) -> Any:
    client = _genai(jobs)
    said: Any = [{"contents": [{"parts": [{"text": "hi"}], "role": "user"}]}]
    batch = client.batches.create(model="gemini-2.5-flash", src=said)
    ended = until(lambda: client.batches.get(name=str(batch.name)), "JOB_STATE_SUCCEEDED")
    return ended.model_dump_json()


@case
def a_batch_of_gemini_over_aiohttp(jobs: Jobs) -> Any:
    said: Any = [{"contents": [{"parts": [{"text": "hi"}], "role": "user"}]}]

    async def ask() -> str:
        async with _genai(jobs).aio as client:
            batch = await client.batches.create(model="gemini-2.5-flash", src=said)
            while str(batch.state) != "JobState.JOB_STATE_SUCCEEDED":
                batch = await client.batches.get(name=str(batch.name))
            return str(batch.model_dump_json(exclude={"sdk_http_response"}))

    return asyncio.run(ask())


@case
def a_file_of_gemini(jobs: Jobs) -> Any:
    client = _genai(jobs)
    file = client.files.upload(file=io.BytesIO(b"text"), config={"mime_type": "text/plain"})
    return file.model_dump_json()


@case
def an_interaction_of_gemini(jobs: Jobs) -> Any:
    client: Any = _genai(jobs)
    begun = client.interactions.create(agent="deep-research", input="hi", background=True)
    return until(lambda: client.interactions.get(id=begun.id), "completed").id


@case
def a_batch_of_mistral(jobs: Jobs) -> Any:
    with Mistral(api_key="offline", server_url=jobs.url) as client:
        job = client.batch.jobs.create(
            endpoint="/v1/chat/completions", input_files=["f"], model="m"
        )
        return until(lambda: client.batch.jobs.get(job_id=job.id), "SUCCESS").id


@case
def an_agent_of_mistral(jobs: Jobs) -> Any:
    with Mistral(api_key="offline", server_url=jobs.url) as client:
        agent = client.beta.agents.create(model="m", name="a", instructions="be short")
        client.beta.agents.update(agent_id=agent.id, instructions="be long")
        said: Any = [{"role": "user", "content": "hi"}]
        answer = client.agents.complete(agent_id=agent.id, messages=said)
        return agent.id, answer.choices[0].message


@case
def a_library_of_mistral(jobs: Jobs) -> Any:
    with Mistral(api_key="offline", server_url=jobs.url) as client:
        return client.beta.libraries.create(name="notes").id


@case
def a_store_of_files_of_gemini(jobs: Jobs) -> Any:
    client = _genai(jobs)
    store = client.file_search_stores.create(config={"display_name": "notes"})
    name = str(store.name)
    added = client.file_search_stores.import_file(file_search_store_name=name, file_name="files/f")
    client.file_search_stores.delete(name=name, config={"force": True})
    return name, added.name


@case
def a_container(jobs: Jobs) -> Any:
    with _openai(jobs) as client:
        made = client.containers.create(name="c")
        client.containers.delete(made.id)
        return made.id


def test_an_agent_that_is_told_otherwise_is_asked_again(jobs: Jobs, recorded: Session) -> None:
    def answer(*instructions: str) -> Any:
        with Mistral(api_key="offline", server_url=jobs.url) as client, scope.entered("step"):
            agent = client.beta.agents.create(model="m", name="a")
            for text in instructions:
                client.beta.agents.update(agent_id=agent.id, instructions=text)
            said: Any = [{"role": "user", "content": "hi"}]
            return client.agents.complete(agent_id=agent.id, messages=said).choices[0].message

    first = answer("be short")
    assert answer("be short") == first

    assert answer("be long") != first

    assert jobs.made("agents") == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")
@pytest.mark.parametrize("name", CASES)
def test_what_was_made_is_made_once_and_read_back_with_the_provider_stopped(
    name: str, jobs: Jobs, recorded: Session
) -> None:
    with scope.entered("step"):
        first = CASES[name](jobs)
    made = [path for method, path, _ in jobs.seen if method == "POST"]
    jobs.stop()

    with scope.entered("step"), scope.recording("only"):
        assert CASES[name](jobs) == first

    posts = [path for method, path, _ in jobs.seen if method == "POST"]
    assert posts == made
    assert failures_of(recorded) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a batch of openai", "a batch of anthropic", "a video"])
def test_what_goes_on_is_asked_for_again_and_not_made_again(
    name: str, jobs: Jobs, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a death between two polls."""

    def stops(poll: Callable[[], Any], *_: str) -> Any:
        poll()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, scope.entered("step"):
        patch.setattr("tests.llm.test_jobs.until", stops)
        with pytest.raises(KeyboardInterrupt):
            CASES[name](jobs)
    made = [path for method, path, _ in jobs.seen if method == "POST"]
    with scope.entered("step"):
        CASES[name](jobs)

    assert [path for method, path, _ in jobs.seen if method == "POST"] == made
    polls = [n for asked, n in jobs.asked.items() if asked.startswith("GET") and n > 1]
    assert polls[0] >= 3
    kept = [r["endpoint"] for r in records_of(recorded)]
    assert kept.count("poll") == 1


MAKES = """
import os, signal, sys
from pathlib import Path
import nbckpt, openai
from nbckpt.llm import scope
session = nbckpt.open(Path(sys.argv[1]), namespace={})
client = openai.OpenAI(base_url=sys.argv[2], api_key="offline", max_retries=0)
with scope.entered("step"):
    for n in range(5):
        batch = client.batches.create(
            input_file_id=f"file-{n}", endpoint="/v1/embeddings", completion_window="24h"
        )
        for _ in range(4 if n % 2 else 1):
            batch = client.batches.retrieve(batch.id)
        print(batch.id, flush=True)
        if n + 1 == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_killed_after_some_of_several_batches_none_is_made_twice(
    jobs: Jobs, tmp_path: Path
) -> None:
    def run(dies_after: int) -> tuple[int, list[str]]:
        told = [str(tmp_path / ".nbckpt"), f"{jobs.url}/v1", str(dies_after)]
        command = [sys.executable, "-c", MAKES, *told]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        return done.returncode, done.stdout.split()

    first = run(2)
    second = run(4)
    third = run(9)

    assert [first[0], second[0], third[0]] == [-9, -9, 0]
    assert third[1][:4] == second[1]
    assert second[1][:2] == first[1]
    assert jobs.made("batches") == 5
    assert len(set(third[1])) == 5
    polls = [n for asked, n in jobs.asked.items() if asked.startswith("GET batches")]
    assert sorted(polls) == [1, 2, 3, 3, 3]  # what has ended is asked for no more


def test_a_job_that_fails_is_told_of_with_the_next_move(jobs: Jobs, recorded: Session) -> None:
    jobs.ends_as = "failed"
    for _ in range(2):
        with scope.entered("step"):
            a_response_in_the_background(jobs)

    assert jobs.made("responses") == 1
    (told,) = recorded.writes.news
    assert told.startswith("openai says that what step 'step' asks for has failed: /v1/responses/")
    assert "`%rerun --fresh`" in told


def test_what_is_gone_is_told_of_with_the_next_move(jobs: Jobs, recorded: Session) -> None:
    for query in ("one", "two"):
        with scope.entered("step"), _openai(jobs) as client:
            store = client.vector_stores.create(name="notes")
            if query == "two":
                jobs.gone.add(store.id)
                with pytest.raises(openai.NotFoundError):
                    client.vector_stores.search(store.id, query=query)
            else:
                client.vector_stores.search(store.id, query=query)

    (told,) = recorded.writes.news
    assert told.startswith("openai no longer knows something that step 'step' asks for (HTTP 404)")


@pytest.mark.parametrize(
    ("then", "is_told"),
    [(["one"], False), (["one", "two", "three"], False), (["one", "other"], True), (["x"], True)],
)
def test_a_conversation_that_holds_what_an_earlier_run_said_is_told_of(
    then: list[str], is_told: bool, jobs: Jobs, recorded: Session
) -> None:
    for questions in (["one", "two"], then):
        with scope.entered("step"), _openai(jobs) as client:
            conversation = client.conversations.create().id
            for text in questions:
                client.responses.create(model="m", input=text, conversation=conversation)

    told = [text for text in recorded.writes.news if "goes on in conv_1" in text]
    assert len(told) == is_told
    assert jobs.made("conversations") == 1


def test_another_search_in_a_vector_store_is_told_of_nothing(jobs: Jobs, recorded: Session) -> None:
    for query in ("one", "two"):
        with scope.entered("step"), _openai(jobs) as client:
            store = client.vector_stores.create(name="notes").id
            client.vector_stores.search(store, query=query)

    assert jobs.made("search") == 2
    assert not [text for text in recorded.writes.news if "goes on in" in text]


def test_a_step_that_sends_nothing_follows_nothing(jobs: Jobs, recorded: Session) -> None:
    from nbckpt.errors import ReplayError

    with scope.entered("step"), _openai(jobs) as client:
        batch = client.batches.create(
            input_file_id="f", endpoint="/v1/chat/completions", completion_window="24h"
        )
        with scope.recording("only"), pytest.raises(ReplayError, match="openai poll"):
            client.batches.retrieve(batch.id)


def test_a_budget_counts_a_job_when_it_is_begun(jobs: Jobs, recorded: Session) -> None:
    recorder = current.recorder()
    assert recorder is not None
    recorded.settings = replace(recorded.settings, prices="m=1000/1000")
    recorder.budget.set(budget_of("5"))
    with scope.entered("step"), _openai(jobs) as client:
        begun = client.responses.create(
            model="m", input="hi", background=True, max_output_tokens=100
        )
        paid = recorder.budget.paid_usd
        until(lambda: client.responses.retrieve(begun.id), "completed")

    assert paid == recorder.budget.paid_usd > 0.1
    cost = {r["endpoint"]: r.get("cost_usd") for r in records_of(recorded)}
    assert cost == {"responses": None, "poll": pytest.approx(0.007)}


def test_what_is_seen_of_a_job_is_counted(jobs: Jobs, recorded: Session) -> None:
    with scope.entered("step"):
        a_response_in_the_background(jobs)

    recorder = current.recorder()
    assert recorder is not None
    assert calls_text(recorder.outcomes) == (
        "4 of openai (2 recorded, 2 asked while something ran there)"
    )


def test_where_a_file_lies_is_no_answer(recorded: Session) -> None:
    url = "https://api.openai.com/v1/files/file-1/content"

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(302, headers={"location": "https://files.example/1"})

    with scope.entered("step"), httpx.Client(transport=httpx.MockTransport(answer)) as client:
        assert client.get(url).status_code == 302

    assert records_of(recorded) == []
    assert failures_of(recorded) == []


def test_what_a_batch_took_is_told_by_its_end(jobs: Jobs, recorded: Session) -> None:
    with scope.entered("step"):
        a_batch_of_openai(jobs)

    tokens = {r["endpoint"]: (r.get("tokens_in"), r.get("model")) for r in records_of(recorded)}
    assert tokens["poll"] == (3, "m")
    assert tokens["batches"][0] is None


PATHS = [
    ("POST", "/v1/files"), ("POST", "/v1/conversations"), ("POST", "/v1/vector_stores/5/search"),
    ("POST", "/v1/videos"), ("POST", "/v2/chat"), ("POST", "/v1/embed"), ("POST", "/v1/batches"),
    ("POST", "/v1/predictions"), ("POST", "/models/me/mine"), ("POST", "/model/5/invoke"),
    ("POST", "/batch/jobs"), ("POST", "/interactions"), ("POST", "/rerank"),
    ("GET", "/v1/batches/batch_5"), ("GET", "/v1/responses/5"), ("GET", "/v1/files/5/content"),
    ("GET", "/operations/5"), ("GET", "/v1/predictions/5"), ("DELETE", "/v1/files/5"),
    ("POST", "/v1/batches/5/cancel"), ("GET", "/messages/batches/5/results"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_the_same_path_of_another_service_is_left_alone(
    method: str, path: str, recorded: Session
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"status": "completed", "done": True})

    sent: list[httpx.Request] = []
    for _ in range(2):
        with (
            scope.entered("step"),
            httpx.Client(transport=httpx.MockTransport(answer)) as client,
        ):
            asked = {"name": "x", "status": 1}
            client.request(method, f"http://shop.example{path}", json=asked)

    assert len(sent) == 2
    assert records_of(recorded) == []
    assert list(recorded.writes.news) == []


def test_a_file_that_a_job_brought_is_the_same_in_bytes(jobs: Jobs, recorded: Session) -> None:
    read = []
    for _ in range(2):
        with scope.entered("step"), _openai(jobs) as client:
            read.append(client.files.content("file-1").content)

    assert read[0] == read[1]
    assert json.loads(read[0])
    assert jobs.asked["GET files/file-1/content"] == 1
