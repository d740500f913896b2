"""Keys of requests, whatever stands in a body."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbckpt.llm import providers, request_keys, scope
from nbckpt.llm.http_request import HttpRequest
from nbckpt.session.session import Session
from nbckpt.testing import Provider

URLS = (
    "https://api.openai.com/v1/chat/completions",
    "https://api.openai.com/v1/responses",
    "https://api.anthropic.com/v1/messages",
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
    "https://api.mistral.ai/v1/chat/completions",
)
NAMES = (
    *("type", "function", "id", "call_id", "tool_call_id", "functionCall", "metadata", "user"),
    *("messages", "tools", "parameters", "stream", "model", "temperature", "contents", "input"),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "a", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


def key_of(url: str, body: Any) -> str:
    enough = {"model": "m", "messages": [], "contents": [], "input": "a"}
    data = json.dumps(enough | body).encode()
    asked = HttpRequest("POST", url, [("content-type", "application/json")], data)
    canonical = request_keys.canonical(asked)
    endpoint = providers.endpoint_of(asked, canonical.members)
    if endpoint is None:  # its members say that it is no call
        return ""
    return request_keys.key_of(asked, endpoint, canonical, frozenset({"user", "tools.type"}))


@given(st.sampled_from(URLS), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5))
@settings(deadline=None)
def test_any_body_has_a_key_that_does_not_depend_on_the_order_of_its_members(
    url: str, body: dict[str, Any]
) -> None:
    reversed_body = dict(reversed(body.items()))

    assert key_of(url, body) == key_of(url, reversed_body)


NULLABLE = {"type": "object", "properties": {"unit": {"type": ["string", "null"]}}}


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "find", "parameters": NULLABLE}}],
        [{"type": "function", "name": "find", "strict": True, "parameters": NULLABLE}],
        [{"name": "find", "input_schema": NULLABLE}],
    ],
    ids=["chat", "responses", "anthropic"],
)
def test_a_tool_whose_schema_takes_several_types_is_recorded(
    provider: Provider, recorded: Session, tools: list[Any]
) -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "tool", "tool_call_id": "call_1", "content": "b"},
    ]
    asked = {"model": "m", "messages": messages, "tools": tools}

    for _ in range(2):
        with scope.entered("step"):
            httpx.post(f"{provider.url}/v1/chat/completions", json=asked)

    assert len(provider.requests) == 1


SIGNED = {
    "amazon": (
        "https://b.s3.amazonaws.com/{name}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={by}"
        "&X-Amz-Date={by}&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature={by}"
        "&versionId={version}"
    ),
    "azure": (
        "https://a.blob.core.windows.net/{name}?se={by}&sp=r&sv=2026-01-05&sr=b&sig={by}"
        "&versionId={version}"
    ),
    "azure, of another name": (
        "https://files.ex.com/{name}?sig={by}&sp=r&sv={by}&se={by}&sr=b&versionId={version}"
    ),
    "amazon, version 2": (
        "https://b.s3.amazonaws.com/{name}?AWSAccessKeyId={by}&Signature={by}&Expires={by}"
        "&versionId={version}"
    ),
    "cloudfront, by a policy": (
        "https://d.cloudfront.net/{name}?versionId={version}&Policy={by}&Signature={by}"
        "&Key-Pair-Id=k"
    ),
    "cloudfront": (
        "https://d.cloudfront.net/{name}?versionId={version}&Expires={by}&Signature={by}"
        "&Key-Pair-Id=k"
    ),
    "google": (
        "https://storage.googleapis.com/b/{name}?X-Goog-Algorithm=GOOG4&X-Goog-Credential={by}"
        "&X-Goog-Date={by}&X-Goog-Expires=60&X-Goog-SignedHeaders=host&X-Goog-Signature={by}"
        "&versionId={version}"
    ),
}


@pytest.mark.parametrize("store", sorted(SIGNED))
def test_an_address_is_the_same_whoever_signed_it_and_when(store: str) -> None:
    def key(**parts: str) -> str:
        address = SIGNED[store].format(**{"name": "a.png", "by": "1", "version": "1", **parts})
        part = {"type": "image_url", "image_url": {"url": address}}
        return key_of(URLS[0], {"messages": [{"role": "user", "content": [part]}]})

    assert key(by="1") == key(by="2")
    assert len({key(), key(name="b.png"), key(version="2")}) == 3


def test_an_address_that_nobody_signed_counts_whole() -> None:
    def key(address: str) -> str:
        return key_of(URLS[0], {"input": address})

    assert key("https://a.com/?se=1&sv=2") != key("https://a.com/?se=2&sv=2")
    assert key("see https://a.com/?sig=1") != key("see https://a.com/?sig=2")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("policy=17&signature=a", "policy=18&signature=b"),
        ("expires=2025-01&signature=a", "expires=2026-01&signature=b"),
        ("Expires=2025-01&Signature=a", "Expires=2026-01&Signature=b"),
        ("st=2&se=1&sp=10&sig=a", "st=5&se=1&sp=99&sig=b"),
        ("sig=a", "sig=b"),
        ("X-Amz-Date=1&sig=a", "X-Amz-Date=2&sig=a"),
    ],
)
def test_parameters_named_like_a_signature_s_count(one: str, other: str) -> None:
    def key(query: str) -> str:
        return key_of(URLS[0], {"input": f"https://ex.com/doc?{query}"})

    assert key(one) != key(other)


def test_a_document_at_an_address_signed_anew_is_read_once(
    provider: Provider, recorded: Session
) -> None:
    def read(signature: str) -> str:
        address = f"https://a.blob.core.windows.net/a.pdf?se={signature}&sig={signature}"
        part = {"type": "document", "source": {"type": "url", "url": address}}
        said = [{"role": "user", "content": [part]}]
        body = {"model": "m", "max_tokens": 9, "messages": said}
        return httpx.post(f"{provider.url}/v1/messages", json=body).text

    with scope.entered("step"):
        first = read("one")
    with scope.entered("step"):
        again = read("two")

    assert again == first
    assert provider.answered == 1
