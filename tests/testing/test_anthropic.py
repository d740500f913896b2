"""Anthropic's own SDK against the provider: each API, each mode."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from nbckpt.testing import Provider

if TYPE_CHECKING:  # its import takes 3,154 modules: only these tests shall have them
    from anthropic import Anthropic

USER = [{"role": "user", "content": "Where does the river rise?"}]
GIVEN = {"model": "m", "max_tokens": 100, "messages": USER}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOL = {"name": "weather", "input_schema": CITY}


@pytest.fixture
def client(provider: Provider) -> Iterator[Anthropic]:
    from anthropic import Anthropic

    with Anthropic(base_url=provider.url, api_key="none", max_retries=0) as client:
        yield client


@pytest.mark.slow
def test_a_message_tells_what_it_used(client: Anthropic) -> None:
    said = client.messages.create(**GIVEN)

    assert said.content[0].text.startswith("Answer 1: ")
    assert said.stop_reason == "end_turn"
    assert said.usage.input_tokens == len(USER[0]["content"]) // 4
    assert said.usage.output_tokens == len(said.content[0].text.split())


def test_a_stream_gathers_to_the_same_message(client: Anthropic) -> None:
    whole = client.messages.create(**GIVEN)
    with client.messages.stream(**GIVEN) as stream:
        words = list(stream.text_stream)
        gathered = stream.get_final_message()

    assert "".join(words) == whole.content[0].text.replace("1", "2", 1)
    assert len(words) > 5
    assert gathered.usage == whole.usage


def test_raw_events_come_in_their_order(client: Anthropic) -> None:
    kinds = [event.type for event in client.messages.create(**GIVEN, stream=True)]

    assert [*dict.fromkeys(kinds)] == [
        "message_start", "content_block_start", "content_block_delta",
        "content_block_stop", "message_delta", "message_stop",
    ]  # fmt: skip


def test_a_tool_is_called_until_it_has_answered(client: Anthropic) -> None:
    called = client.messages.create(**GIVEN, tools=[TOOL])
    call = called.content[0]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    turns = [*USER, {"role": "assistant", "content": called.content}]
    messages = [*turns, {"role": "user", "content": [result]}]
    said = client.messages.create(**{**GIVEN, "messages": messages}, tools=[TOOL])

    assert (called.stop_reason, call.input) == ("tool_use", {"city": "weather 1", "days": 1})
    assert said.content[0].text.startswith("Answer 2: ")


def test_a_tool_is_called_in_a_stream(client: Anthropic) -> None:
    with client.messages.stream(**GIVEN, tools=[TOOL]) as stream:
        call = stream.get_final_message().content[0]

    assert call.input == {"city": "weather 1", "days": 1}


def test_thinking_comes_before_the_text(client: Anthropic) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    given = {**GIVEN, "max_tokens": 4000, "thinking": thinking}

    whole = client.messages.create(**given)
    with client.messages.stream(**given) as stream:
        gathered = stream.get_final_message()

    for said, n in ((whole, 1), (gathered, 2)):
        assert [block.type for block in said.content] == ["thinking", "text"]
        assert said.content[0].thinking == f"Thinking about answer {n}."
        assert said.content[0].signature == f"sig{n}"
    assert whole.usage.output_tokens > len(whole.content[1].text.split())


def test_what_is_marked_is_written_to_the_cache_and_read_from_it(client: Anthropic) -> None:
    system = [{"type": "text", "text": "Be brief. " * 600, "cache_control": {"type": "ephemeral"}}]

    used = [client.messages.create(**GIVEN, system=system).usage for _ in range(2)]

    written, read = used
    assert (written.cache_read_input_tokens, read.cache_creation_input_tokens) == (0, 0)
    assert written.cache_creation_input_tokens == read.cache_read_input_tokens == 1500
    assert written.input_tokens == read.input_tokens < 20


def test_tokens_are_counted(client: Anthropic) -> None:
    counted = client.messages.count_tokens(model="m", messages=USER)

    assert counted.input_tokens == client.messages.create(**GIVEN).usage.input_tokens


def test_async_clients_get_the_same(provider: Provider) -> None:
    from anthropic import AsyncAnthropic

    async def ask() -> tuple[str, str]:
        async with AsyncAnthropic(base_url=provider.url, api_key="none") as client:
            whole = await client.messages.create(**GIVEN)
            async with client.messages.stream(**GIVEN) as stream:
                words = [word async for word in stream.text_stream]
            return whole.content[0].text, "".join(words)

    whole, streamed = asyncio.run(ask())

    assert streamed == whole.replace("1", "2", 1)


def test_a_bad_request_is_told_in_its_words(client: Anthropic) -> None:
    import anthropic

    with pytest.raises(anthropic.BadRequestError, match="max_tokens: Field required") as raised:
        client.post(
            "/v1/messages",
            body={"model": "m", "messages": USER},
            cast_to=anthropic.types.Message,
        )

    assert raised.value.body["error"]["type"] == "invalid_request_error"
