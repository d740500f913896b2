"""Which requests are model calls, of whom, and what their answers say of tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbckpt.llm.bodies import has_broken_event
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.nearest import Near, format_nearest
from nbckpt.llm.providers import endpoint_of
from nbckpt.llm.summary import summary_of
from nbckpt.llm.usage import usage_of
from nbckpt.text.content_encodings import decoded


class _Anything(dict[str, Any]):
    """A body with all members."""

    def __contains__(self, _: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.openai.com/v1/chat/completions", ("openai", "chat")),
        ("https://api.openai.com/v1/responses", ("openai", "responses")),
        ("https://api.mistral.ai/v1/chat/completions#stream", ("mistral_ai", "chat")),
        ("https://api.anthropic.com/v1/messages", ("anthropic", "messages")),
        ("https://api.anthropic.com/v1/messages/count_tokens", ("anthropic", "count_tokens")),
        (
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            ("azure.ai.openai", "chat"),
        ),
        (
            "https://us-central1-aiplatform.googleapis.com/v1/models/m:streamGenerateContent",
            ("gcp.vertex_ai", "generate"),
        ),
        ("http://localhost:11434/api/chat", ("ollama", "chat")),
        ("http://localhost:11434/api/embed", ("ollama", "embeddings")),
        ("https://api.mistral.ai/v1/agents/completions", ("mistral_ai", "chat")),
        ("https://api.openai.com/v1/fine_tuning/jobs", None),
        ("https://api.openai.com/v1/chat/completions/abc", None),
        ("https://example.com/completions-of-orders", None),
    ],
)
def test_an_endpoint_is_known_by_its_path_and_its_provider_by_the_host(
    url: str, expected: tuple[str, str] | None
) -> None:
    found = endpoint_of(HttpRequest("POST", url, (), b""), _Anything())

    assert (found and (found.provider, found.kind.name)) == expected
    assert endpoint_of(HttpRequest("GET", url, (), b""), None) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            [{"usage": {"prompt_tokens": 9, "completion_tokens": 5,
              "prompt_tokens_details": {"cached_tokens": 4},
              "completion_tokens_details": {"reasoning_tokens": 2}}}],
            (9, 5, 4, 2),
        ),
        (
            [{"response": {"usage": {"input_tokens": 9, "output_tokens": 5,
              "output_tokens_details": {"reasoning_tokens": 0}}}}],
            (9, 5, None, 0),
        ),
        (
            [{"message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 4,
              "cache_creation_input_tokens": 2, "output_tokens": 1}}},
             {"usage": {"output_tokens": 7}}],
            (9, 7, 4, None),
        ),
        (
            [{"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4,
              "thoughtsTokenCount": 3}}],
            (9, 7, None, 3),
        ),
        ([{"done": True, "prompt_eval_count": 9, "eval_count": 5}], (9, 5, None, None)),
        ([{"usage": None}, "text", 3], (None, None, None, None)),
    ],
)  # fmt: skip
def test_tokens_are_what_the_provider_tells(
    values: list[Any], expected: tuple[int | None, ...]
) -> None:
    assert usage_of(values)[:4] == expected


def test_what_was_said_last_sums_a_request_up() -> None:
    parts = [{"type": "text", "text": "What\n is  this?"}, {"type": "image_url", "image_url": {}}]
    body = {"messages": [{"role": "user", "content": "before"}, {"role": "user", "content": parts}]}

    assert summary_of(body) == "What is this?"
    assert summary_of({"contents": [{"parts": [{"text": "hi"}]}]}) == "hi"
    assert len(summary_of({"input": "x" * 1000})) == 200
    assert summary_of(None) == ""


def test_the_nearest_recordings_come_first_with_what_differs() -> None:
    asked = {"model": "a", "temperature": 1, "input": "hi"}
    far = Near("far", 0, {"model": "b", "temperature": 2, "input": "ho"})
    near = Near("near", 0, {**asked, "model": "b"})

    text = format_nearest(asked, [far, near, Near("unknown", 0, None)])

    assert text.startswith('nearest: near differs in model: "b" → "a", and')
    assert format_nearest(asked, []) == "nothing was recorded in this step"


def test_encodings_are_undone_or_left_alone() -> None:
    import gzip
    import zlib

    import zstandard

    text = json.dumps({"a": 1}).encode() * 50

    assert decoded(gzip.compress(text), "gzip") == text
    assert decoded(zlib.compress(text), "deflate") == text
    assert decoded(zlib.compress(text)[2:-4], "deflate") == text
    assert decoded(zstandard.compress(text), "zstd") == text
    assert decoded(text, "") == text
    assert decoded(text, "unheard-of") is None
    assert decoded(b"no gzip", "gzip") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'data: {"a": 1}\n\ndata: [DONE]\n\n', False),
        (b'event: x\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: note\r\n\r\n', False),
        (b'{"a": 1}\n{"done": true}\n', False),
        (b'data: {"a": 1}\n\ndata: {"b": \n\ndata: [DONE]\n\n', True),
        (b'{"a": 1}\n{"b"\n{"done": true}\n', True),
    ],
)
def test_an_event_that_is_broken_off_is_known(text: bytes, expected: bool) -> None:
    assert has_broken_event(text) == expected
