"""Mistral's own SDK against the provider: each API, each mode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from mistralai.client import Mistral, errors

from nbckpt.testing import Provider

USER = [{"role": "user", "content": "Where does the river rise?"}]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": CITY}}


@pytest.fixture
def client(provider: Provider) -> Iterator[Mistral]:
    with Mistral(server_url=provider.url, api_key="none") as client:
        yield client


def test_a_chat_tells_what_it_used(client: Mistral) -> None:
    said = client.chat.complete(model="m", messages=USER)

    assert said.choices[0].message.content.startswith("Answer 1: ")
    assert said.usage.completion_tokens == len(said.choices[0].message.content.split())


def test_a_streamed_chat_is_the_same_and_tells_what_it_used(client: Mistral) -> None:
    whole = client.chat.complete(model="m", messages=USER)
    with client.chat.stream(model="m", messages=USER) as stream:
        events = [event.data for event in stream]

    words = "".join(each.choices[0].delta.content for each in events)
    assert words == whole.choices[0].message.content.replace("1", "2", 1)
    assert events[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_a_tool_is_called_whole_and_in_a_stream(client: Mistral) -> None:
    whole = client.chat.complete(model="m", messages=USER, tools=[TOOL])
    with client.chat.stream(model="m", messages=USER, tools=[TOOL]) as stream:
        calls = [call for event in stream for call in event.data.choices[0].delta.tool_calls or ()]

    called = whole.choices[0].message.tool_calls[0]
    assert json.loads(called.function.arguments) == {"city": "weather 1", "days": 1}
    assert [json.loads(each.function.arguments)["days"] for each in calls] == [2]


def test_embeddings_are_vectors(client: Mistral) -> None:
    made = client.embeddings.create(model="mistral-embed", inputs=["river", "hill"])

    assert len({tuple(each.embedding) for each in made.data}) == 2


def test_async_calls_get_the_same(provider: Provider) -> None:
    async def ask() -> tuple[str, str]:
        async with Mistral(server_url=provider.url, api_key="none") as client:
            whole = await client.chat.complete_async(model="m", messages=USER)
            stream = await client.chat.stream_async(model="m", messages=USER)
            words = [event.data.choices[0].delta.content async for event in stream]
            return whole.choices[0].message.content, "".join(words)

    whole, streamed = asyncio.run(ask())

    assert streamed == whole.replace("1", "2", 1)


def test_a_bad_request_is_told_in_its_words(client: Mistral) -> None:
    with pytest.raises(errors.HTTPValidationError) as raised:
        client.chat.complete(model="m", messages=[])

    assert raised.value.status_code == 422
