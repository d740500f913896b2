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
