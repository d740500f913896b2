"""Endpoints of each provider: recorded, replayed with the provider off, and told of tokens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import httpx
import openai
import pytest

from nbckpt.llm import scope, unseen_traffic
from nbckpt.session.session import Session
from tests.llm.asking import failures_of, records_of, states_of

SAID = [{"role": "user", "content": "hi"}]
CHAT = {"model": "m", "messages": SAID}
RERANK = {"model": "m", "query": "q", "documents": ["a"]}
OPENAIS = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
ANTHROPICS = {"content": [], "usage": {"input_tokens": 3, "output_tokens": 4}}
COHERES = {"usage": {"billed_units": {"input_tokens": 3, "output_tokens": 4}, "tokens": {}}}
BILLED = {"meta": {"api_version": {}, "billed_units": {"input_tokens": 3, "output_tokens": 4}}}
TOTAL = {"usage": {"total_tokens": 3}}
MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4", "content": [],
    "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 4},
}  # fmt: skip
NOTHING: dict[str, Any] = {"id": "x"}
GOOGLE = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l"
CLAUDE = f"{GOOGLE}/publishers/anthropic/models/claude-sonnet-4@1"
GEMINI = "https://generativelanguage.googleapis.com/v1beta"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com"
EMBEDDED = {"predictions": [{"embeddings": {"statistics": {"token_count": n}}} for n in (1, 2)]}
AZURE = "https://mine.openai.azure.com/openai"
INTERACTION = {
    "status": "completed",
    "usage": {"total_input_tokens": 3, "total_output_tokens": 1, "total_thought_tokens": 3},
}
REPLICATES = {
    "status": "succeeded",
    "metrics": {"input_token_count": 3, "output_token_count": 4, "predict_time": 1},
}


class Case(NamedTuple):
    """A request, an answer to it, and what is recorded: provider, kind, model, tokens."""

    url: str
    asked: Any
    answer: dict[str, Any]
    expected: tuple[str, str, str, int | None, int | None]
    method: str = "POST"


CASES = [
    Case("https://api.anthropic.com/v1/complete",
         {"model": "claude-2.1", "prompt": "hi", "max_tokens_to_sample": 9},
         {"type": "completion", "completion": "hi", "stop_reason": "stop_sequence"},
         ("anthropic", "completions", "claude-2.1", None, None)),
    Case(f"{CLAUDE}:rawPredict", CHAT | {"model": 1}, ANTHROPICS,
         ("gcp.vertex_ai", "messages", "claude-sonnet-4@1", 3, 4)),
    Case(f"{GOOGLE}/publishers/anthropic/models/count-tokens:rawPredict", CHAT, NOTHING,
         ("gcp.vertex_ai", "count_tokens", "m", None, None)),
    Case(f"{GOOGLE}/publishers/mistralai/models/codestral:rawPredict", CHAT, OPENAIS,
         ("gcp.vertex_ai", "chat", "m", 3, 4)),
    Case(f"{GOOGLE}/publishers/google/models/text-embedding-005:predict", {"instances": []},
         EMBEDDED, ("gcp.vertex_ai", "predict", "text-embedding-005", 3, None)),
    Case(f"{GOOGLE}/endpoints/77:predict", {"instances": []}, NOTHING,
         ("gcp.vertex_ai", "predict", "", None, None)),
    Case(f"{GOOGLE}/endpoints/openapi/chat/completions", CHAT, OPENAIS,
         ("gcp.vertex_ai", "chat", "m", 3, 4)),
    Case(f"{GOOGLE}/batchPredictionJobs", {"model": "m", "inputConfig": {}}, NOTHING,
         ("gcp.vertex_ai", "batches", "m", None, None)),
    Case(f"{GOOGLE}/batchPredictionJobs/7", None, {"state": "JOB_STATE_SUCCEEDED"},
         ("gcp.vertex_ai", "poll", "", None, None), "GET"),
    Case(f"{GOOGLE}/publishers/google/models/veo-3:predictLongRunning", {"instances": []},
         NOTHING, ("gcp.vertex_ai", "videos", "veo-3", None, None)),
    Case(f"{GOOGLE}/publishers/google/models/veo-3:fetchPredictOperation",
         {"operationName": "o"}, {"done": True}, ("gcp.vertex_ai", "poll", "veo-3", None, None)),
    Case(f"{GEMINI}/models/veo-3:predictLongRunning", {"instances": []}, NOTHING,
         ("gcp.gemini", "videos", "veo-3", None, None)),
    Case(f"{GEMINI}/models/veo-3/operations/7", None, {"done": True},
         ("gcp.gemini", "poll", "veo-3", None, None), "GET"),
    Case(f"{GEMINI}/models/e:asyncBatchEmbedContent", {"batch": {}}, NOTHING,
         ("gcp.gemini", "batches", "e", None, None)),
    Case(f"{GEMINI}/interactions", {"model": "m", "input": "hi"}, INTERACTION,
         ("gcp.gemini", "interactions", "m", 3, 4)),
    Case(f"{GEMINI}/cachedContents", {"model": "models/m"}, NOTHING,
         ("gcp.gemini", "caches", "models/m", None, None)),
    Case(f"{GEMINI}/files/7:download?alt=media", None, NOTHING,
         ("gcp.gemini", "result", "", None, None), "GET"),
    Case(f"{BEDROCK}/model/amazon.nova-lite-v1%3A0/converse", {"messages": []},
         {"usage": {"inputTokens": 1, "outputTokens": 4, "cacheReadInputTokens": 2}},
         ("aws.bedrock", "chat", "amazon.nova-lite-v1:0", 3, 4)),
    Case(f"{BEDROCK}/model/anthropic.claude/invoke", {"messages": []}, ANTHROPICS,
         ("aws.bedrock", "invoke", "anthropic.claude", 3, 4)),
    Case("https://bedrock.us-east-1.amazonaws.com/model-invocation-job", {"modelId": "m"},
         NOTHING, ("aws.bedrock", "batches", "m", None, None)),
    Case("https://bedrock.us-east-1.amazonaws.com/model-invocation-job/arn%3A7", None,
         {"status": "Completed"}, ("aws.bedrock", "poll", "", None, None), "GET"),
    Case("https://api.cohere.com/v2/chat", CHAT, COHERES, ("cohere", "chat", "m", 3, 4)),
    Case("https://api.cohere.com/v1/chat", {"message": "hi"}, BILLED,
         ("cohere", "chat", "", 3, 4)),
    Case("https://api.cohere.com/v2/embed", {"model": "m", "texts": ["a"]}, BILLED,
         ("cohere", "embeddings", "m", 3, 4)),
    Case("https://api.cohere.com/v1/embed", {"model": "m", "texts": ["a"]}, BILLED,
         ("cohere", "embeddings", "m", 3, 4)),
    Case("https://api.cohere.com/v2/rerank", RERANK, NOTHING,
         ("cohere", "rerank", "m", None, None)),
    Case("https://api.cohere.com/v1/generate", {"prompt": "a"}, BILLED,
         ("cohere", "generate", "", 3, 4)),
    Case("https://api.cohere.com/v1/classify", {"inputs": ["a"]}, NOTHING,
         ("cohere", "classify", "", None, None)),
    Case("https://api.voyageai.com/v1/embeddings", {"model": "m", "input": ["a"]}, TOTAL,
         ("voyageai", "embeddings", "m", 3, None)),
    Case("https://api.voyageai.com/v1/rerank", RERANK, TOTAL,
         ("voyageai", "rerank", "m", 3, None)),
    Case("https://api.voyageai.com/v1/multimodalembeddings", {"model": "m", "inputs": []}, TOTAL,
         ("voyageai", "embeddings", "m", 3, None)),
    Case("https://api.voyageai.com/v1/contextualizedembeddings", {"model": "m", "inputs": []},
         TOTAL, ("voyageai", "embeddings", "m", 3, None)),
    Case("https://api.jina.ai/v1/embeddings", {"model": "m", "input": ["a"]}, TOTAL,
         ("jina", "embeddings", "m", 3, None)),
    Case("https://api.jina.ai/v1/rerank", RERANK, TOTAL, ("jina", "rerank", "m", 3, None)),
    Case("https://router.huggingface.co/v1/chat/completions", CHAT, OPENAIS,
         ("huggingface", "chat", "m", 3, 4)),
    Case("https://router.huggingface.co/hf-inference/models/me/mine/pipeline/feature-extraction",
         {"inputs": "a"}, NOTHING, ("huggingface", "inference", "me/mine", None, None)),
    Case("https://api-inference.huggingface.co/models/gpt2", {"inputs": "a"}, NOTHING,
         ("huggingface", "inference", "gpt2", None, None)),
    Case("https://api.replicate.com/v1/predictions", {"version": "v", "input": {}},
         {"status": "starting"}, ("replicate", "predictions", "", None, None)),
    Case("https://api.replicate.com/v1/models/meta/llama/predictions", {"input": {}}, REPLICATES,
         ("replicate", "predictions", "meta/llama", 3, 4)),
    Case("https://api.replicate.com/v1/predictions/7", None, REPLICATES,
         ("replicate", "poll", "", 3, 4), "GET"),
    Case("https://api.ai21.com/studio/v1/chat/completions", CHAT, OPENAIS,
         ("ai21", "chat", "m", 3, 4)),
    Case("https://api.cerebras.ai/v1/chat/completions", CHAT, OPENAIS,
         ("cerebras", "chat", "m", 3, 4)),
    Case("https://api.sambanova.ai/v1/chat/completions", CHAT, OPENAIS,
         ("sambanova", "chat", "m", 3, 4)),
    Case(f"{AZURE}/deployments/mine/chat/completions?api-version=1", {"messages": SAID}, OPENAIS,
         ("azure.ai.openai", "chat", "mine", 3, 4)),
    Case(f"{AZURE}/v1/responses?api-version=preview", {"model": "m", "input": "hi"}, ANTHROPICS,
         ("azure.ai.openai", "responses", "m", 3, 4)),
    Case(f"{AZURE}/batches/batch_7?api-version=1", None, {"status": "completed"},
         ("azure.ai.openai", "poll", "", None, None), "GET"),
    Case("https://openrouter.ai/api/v1/chat/completions", CHAT, OPENAIS,
         ("openrouter", "chat", "m", 3, 4)),
    Case("https://api.deepseek.com/chat/completions", CHAT, OPENAIS,
         ("deepseek", "chat", "m", 3, 4)),
    Case("https://api.x.ai/v1/chat/completions", CHAT, OPENAIS, ("x_ai", "chat", "m", 3, 4)),
    Case("https://api.x.ai/v1/chat/deferred-completion/7", None,
         {"object": "chat.completion", **OPENAIS}, ("x_ai", "poll", "", 3, 4), "GET"),
    Case("https://api.perplexity.ai/async/chat/completions", {"request": CHAT}, NOTHING,
         ("perplexity", "chat", "", None, None)),
    Case("https://api.perplexity.ai/async/chat/completions/7", None,
         {"status": "COMPLETED", "response": OPENAIS}, ("perplexity", "poll", "", 3, 4), "GET"),
    Case("https://api.mistral.ai/v1/conversations", {"inputs": "hi", "model": "m"}, OPENAIS,
         ("mistral_ai", "chat", "m", 3, 4)),
    Case("http://127.0.0.1:8000/v1/chat/completions", CHAT, OPENAIS,
         ("openai", "chat", "m", 3, 4)),
    Case("http://127.0.0.1:8000/v1/rerank", RERANK, TOTAL, ("cohere", "rerank", "m", 3, None)),
    Case("http://127.0.0.1:8080/completion", {"prompt": "a", "n_predict": 9}, NOTHING,
         ("llama_cpp", "completions", "", None, None)),
    Case("http://127.0.0.1:1234/api/v0/chat/completions", CHAT, OPENAIS,
         ("openai", "chat", "m", 3, 4)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _unseen() -> Iterator[None]:
    """As if no test had asked anybody before."""
    unseen_traffic._seen.clear()
    yield
    unseen_traffic.passed.clear()


def answering(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(answer))


def off(_: httpx.Request) -> httpx.Response:
    message = "the provider is off"
    raise httpx.ConnectError(message)


def sent(case: Case, answer: Callable[[httpx.Request], httpx.Response]) -> str:
    with scope.entered("step"), answering(answer) as client:
        body = {} if case.asked is None else {"json": case.asked}
        return client.request(case.method, case.url, **body).text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.url.split("//")[1][:70])
def test_what_a_provider_answers_comes_back_when_it_is_off(case: Case, recorded: Session) -> None:
    first = sent(case, lambda _: httpx.Response(200, json=case.answer))

    assert sent(case, off) == first
    (record,) = records_of(recorded)
    names = ("provider", "endpoint", "model", "tokens_in", "tokens_out")
    assert tuple(record.get(name) for name in names) == case.expected
    assert list(recorded.writes.news) == []


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://api.openai.com/v1/threads/t_1/runs", {}),
        ("https://router.huggingface.co/fal-ai/flux", {}),
        (f"{GEMINI}/webhooks", {}),
        ("https://api.replicate.com/v1/trainings", {}),
        ("https://mine.endpoints.huggingface.cloud/", {"inputs": "a"}),
    ],
)
def test_what_is_in_no_table_is_told_once_with_the_next_move(
    url: str, asked: Any, recorded: Session
) -> None:
    for _ in range(2):
        sent(Case(url, asked, {}, ("", "", "", None, None)), lambda _: httpx.Response(200, json={}))

    (told,) = recorded.writes.news
    place = told.partition("record_hosts ")[2].partition("`")[0]
    assert told.startswith(f"step 'step' asks things of {place} that are NOT recorded")
    assert place in url
    recorded.settings = replace(recorded.settings, record_hosts=place)
    first = sent(Case(url, asked, {}, ("", "", "", None, None)), lambda _: httpx.Response(200))
    assert sent(Case(url, asked, {}, ("", "", "", None, None)), off) == first


def test_what_costs_nothing_is_not_told_of(recorded: Session) -> None:
    for path in ("realtime/client_secrets", "fine_tuning/jobs/7/cancel"):
        case = Case(f"https://api.openai.com/v1/{path}", {}, {}, ("", "", "", None, None))
        sent(case, lambda _: httpx.Response(200, json={}))

    assert list(recorded.writes.news) == []


@pytest.mark.parametrize("kind", ["rawPredict", "invoke"])
def test_another_version_of_an_api_is_asked_anew_and_another_key_is_not(
    kind: str, recorded: Session
) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json=OPENAIS)

    url = f"{AZURE}/deployments/{kind}/chat/completions"
    for query in ("api-version=1", "api-version=2", "api-version=1&api-key=x"):
        sent(Case(f"{url}?{query}", {"messages": SAID}, {}, ("", "", "", None, None)), answer)

    assert len(asked) == 2


def _events(*events: str, kind: str = "text/event-stream") -> Callable[..., httpx.Response]:
    text = "".join(events)

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=text, headers={"content-type": kind})

    return answer


STREAMS = [
    (
        "https://api.cohere.com/v2/chat",
        CHAT,
        _events(
            'event: content-delta\ndata: {"type":"content-delta","delta":{"message":{}}}\n\n',
            f'event: message-end\ndata: {{"type":"message-end","delta":{json.dumps(COHERES)}}}\n\n',
        ),
    ),
    (
        "https://api.cohere.com/v1/chat",
        {"message": "hi"},
        _events(
            '{"event_type":"text-generation","text":"a"}\n',
            f'{{"event_type":"stream-end","response":{json.dumps(BILLED)}}}\n',
            kind="application/stream+json",
        ),
    ),
    (
        f"{CLAUDE}:streamRawPredict",
        {"messages": SAID},
        _events(
            'data: {"type":"message_start","message":{"usage":{"input_tokens":3}}}\n\n',
            'data: {"type":"message_delta","usage":{"output_tokens":4}}\n\n',
            'data: {"type":"message_stop"}\n\n',
        ),
    ),
    (
        f"{GEMINI}/interactions",
        {"model": "m", "input": "hi"},
        _events(
            'data: {"event_type":"content.delta"}\n\n',
            f'data: {{"event_type":"interaction.complete","interaction":{json.dumps(INTERACTION)}}}'
            "\n\n",
        ),
    ),
]


@pytest.mark.parametrize(("url", "asked", "answer"), STREAMS)
def test_a_stream_comes_back_with_its_tokens(
    url: str, asked: Any, answer: Callable[..., httpx.Response], recorded: Session
) -> None:
    case = Case(url, asked, {}, ("", "", "", None, None))
    first = sent(case, answer)

    assert sent(case, off) == first
    (record,) = records_of(recorded)
    assert (record["tokens_in"], record["tokens_out"], record["streamed"]) == (3, 4, True)


class _Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """An answer whose last event is longer than what comes at once."""

    def __init__(self) -> None:
        usage = '"usage":{"input_tokens":3,"output_tokens":4}'
        end = f'"response":{{"status":"completed","output":"{"x" * 9000}",{usage}}}'
        text = f'data: {{"type":"response.created"}}\n\ndata: {{"type":"response.completed",{end}}}'
        data = f"{text}\n\n".encode()
        self.pieces = [data[at : at + 1000] for at in range(0, len(data), 1000)]

    def __iter__(self) -> Any:
        yield from self.pieces

    async def __aiter__(self) -> Any:
        for piece in self.pieces:
            yield piece


def _in_pieces(_: httpx.Request) -> httpx.Response:
    headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
    return httpx.Response(200, headers=headers, stream=_Pieces())


def test_a_last_event_that_comes_in_pieces_is_part_of_the_answer(recorded: Session) -> None:
    asked = {"model": "m", "input": "hi", "stream": True}
    case = Case("https://api.openai.com/v1/responses", asked, {}, ("", "", "", None, None))
    first = sent(case, _in_pieces)

    assert sent(case, off) == first
    assert states_of(recorded) == ["done"]
    assert records_of(recorded)[0]["tokens_out"] == 4


def test_a_last_event_in_pieces_is_kept_of_an_async_client_that_leaves_after_it(
    recorded: Session,
) -> None:
    async def ask() -> int:
        transport = httpx.MockTransport(_in_pieces)
        url, asked = "https://api.openai.com/v1/responses", {"model": "m", "input": "hi"}
        async with (
            httpx.AsyncClient(transport=transport) as client,
            client.stream("POST", url, json=asked) as answer,
        ):
            read = 0
            async for piece in answer.aiter_bytes():
                read += len(piece)
                if read == sum(map(len, _Pieces().pieces)):
                    return read
        return 0

    with scope.entered("step"):
        assert asyncio.run(ask())

    assert states_of(recorded) == ["done"]


def test_what_is_not_there_yet_is_asked_for_again(recorded: Session) -> None:
    case = Case(
        "https://api.x.ai/v1/chat/deferred-completion/7", None, {}, ("", "", "", None, None), "GET"
    )
    whole = {"object": "chat.completion", **OPENAIS}

    assert sent(case, lambda _: httpx.Response(202)) == ""
    first = sent(case, lambda _: httpx.Response(200, json=whole))

    assert sent(case, off) == first != ""
    assert failures_of(recorded) == []


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_claude_on_vertex_is_replayed_through_its_sdk(streamed: bool, recorded: Session) -> None:
    import anthropic
    import httpx2

    events = [
        {"type": "message_start", "message": MESSAGE},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 4},
        },
        {"type": "message_stop"},
    ]
    text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        if not streamed:
            return httpx2.Response(200, json=MESSAGE)
        return httpx2.Response(200, text=text, headers={"content-type": "text/event-stream"})

    asked: list[str] = []
    for token in ("one", "two"):
        with (
            scope.entered("step"),
            anthropic.AnthropicVertex(
                access_token=token,
                project_id="p",
                region="us-east5",
                http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
            ) as client,
        ):
            said: Any = {"model": "claude-sonnet-4@1", "max_tokens": 9, "messages": SAID}
            made = client.messages.create(**said, stream=streamed)
            if streamed:
                list(made)

    assert len(asked) == 1
    (record,) = records_of(recorded)
    assert (record["provider"], record["endpoint"]) == ("gcp.vertex_ai", "messages")
    assert (record["tokens_in"], record["tokens_out"]) == (3, 4)


@pytest.mark.slow
def test_azures_sdk_is_replayed_by_its_deployment(recorded: Session) -> None:
    import httpx2

    def answer(_: httpx2.Request) -> httpx2.Response:
        asked.append(1)
        return httpx2.Response(200, json={"id": "1", "object": "chat.completion", **OPENAIS})

    asked: list[int] = []
    for _ in range(2):
        with (
            scope.entered("step"),
            openai.AzureOpenAI(
                azure_endpoint="https://mine.openai.azure.com",
                api_version="2024-10-21",
                api_key="offline",
                http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
            ) as client,
        ):
            client.chat.completions.create(model="mine", messages=SAID)  # type: ignore[arg-type]

    assert len(asked) == 1
    (record,) = records_of(recorded)
    assert (record["provider"], record["model"]) == ("azure.ai.openai", "mine")
