"""Ollama's own SDK against the provider: each API, each mode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import ollama
import pytest

from nbckpt.testing import Provider

USER = [{"role": "user", "content": "Where does the river rise?"}]


def weather(city: str, days: int) -> str:
    """What the weather will be.

    Args:
        city: where
        days: how long
    """
    return f"{city} {days}"


@pytest.fixture
def client(provider: Provider) -> Iterator[ollama.Client]:
    with ollama.Client(provider.url) as client:
        yield client


def test_a_chat_tells_what_it_used(client: ollama.Client) -> None:
    said = client.chat(model="m", messages=USER)

    assert said.message.content.startswith("Answer 1: ")
    assert said.eval_count == len(said.message.content.split())
    assert said.done


def test_a_streamed_chat_is_the_same(client: ollama.Client) -> None:
    whole = client.chat(model="m", messages=USER)
    lines = list(client.chat(model="m", messages=USER, stream=True))

    words = "".join(each.message.content for each in lines)
    assert words == whole.message.content.replace("1", "2", 1)
    assert [each.done for each in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1].eval_count == whole.eval_count


def test_a_prompt_is_answered_whole_and_streamed(client: ollama.Client) -> None:
    whole = client.generate(model="m", prompt="Why?")
    lines = list(client.generate(model="m", prompt="Why?", stream=True))

    assert "".join(each.response for each in lines) == whole.response.replace("1", "2", 1)


def test_a_tool_is_called(client: ollama.Client) -> None:
    whole = client.chat(model="m", messages=USER, tools=[weather])
    lines = list(client.chat(model="m", messages=USER, tools=[weather], stream=True))

    called = [each.message.tool_calls[0].function for each in (whole, lines[0])]
    assert [each.arguments["days"] for each in called] == [1, 2]


def test_thinking_is_told(client: ollama.Client) -> None:
    said = client.chat(model="m", messages=USER, think=True)
    lines = list(client.chat(model="m", messages=USER, think=True, stream=True))

    assert said.message.thinking == "Thinking about answer 1."
    assert lines[0].message.thinking == "Thinking about answer 2."


def test_an_answer_has_the_shape_that_is_asked_for(client: ollama.Client) -> None:
    shape = {"type": "object", "properties": {"city": {"type": "string"}}}

    said = client.chat(model="m", messages=USER, format=shape)

    assert json.loads(said.message.content) == {"city": "answer 1"}


def test_embeddings_are_vectors(client: ollama.Client) -> None:
    made = client.embed(model="m", input=["river", "hill"])
    old = client.embeddings(model="m", prompt="river")

    assert len({tuple(each) for each in made.embeddings}) == 2
    assert old.embedding == made.embeddings[0]


def test_async_clients_get_the_same(provider: Provider) -> None:
    async def ask() -> tuple[str, str]:
        async with ollama.AsyncClient(provider.url) as client:
            whole = await client.chat(model="m", messages=USER)
            stream = await client.chat(model="m", messages=USER, stream=True)
            return whole.message.content, "".join([each.message.content async for each in stream])

    whole, streamed = asyncio.run(ask())

    assert streamed == whole.replace("1", "2", 1)


def test_a_bad_request_is_told_in_its_words(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="messages") as raised:
        client.chat(model="m", messages=[])

    assert raised.value.status_code == 400
