"""Google's own SDK against the provider: each API, each mode."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from nbckpt.testing import Provider

MODEL = "gemini-2.5-flash"


class Place(BaseModel):
    city: str
    height: float
    above: list[str]


@pytest.fixture
def client(provider: Provider) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=provider.url)
    with genai.Client(api_key="none", http_options=options) as client:
        yield client


def weather(city: str, days: int) -> str:
    """What the weather will be."""
    return f"rain in {city} for {days} days"


def test_content_tells_what_it_used(client: genai.Client) -> None:
    said = client.models.generate_content(model=MODEL, contents="Where?")

    assert said.text.startswith("Answer 1: ")
    used = said.usage_metadata
    assert used.candidates_token_count == len(said.text.split())
    assert used.total_token_count == used.prompt_token_count + used.candidates_token_count
    assert said.model_version == MODEL


def test_streamed_content_is_the_same(client: genai.Client) -> None:
    whole = client.models.generate_content(model=MODEL, contents="Where?")
    events = list(client.models.generate_content_stream(model=MODEL, contents="Where?"))

    assert "".join(each.text for each in events) == whole.text.replace("1", "2", 1)
    assert len(events) > 5
    assert events[-1].candidates[0].finish_reason == "STOP"
    assert events[-1].usage_metadata == whole.usage_metadata


def test_a_function_is_called_and_its_result_answered(client: genai.Client) -> None:
    config = types.GenerateContentConfig(tools=[weather])

    said = client.models.generate_content(model=MODEL, contents="Weather?", config=config)

    assert said.text.startswith("Answer 2: ")
    result = said.automatic_function_calling_history[-1].parts[0].function_response
    assert result.response == {"result": "rain in weather 1 for 1 days"}


def test_a_function_is_called_in_a_stream(client: genai.Client) -> None:
    declared = types.FunctionDeclaration.from_callable(client=client, callable=weather)
    tool = types.Tool(function_declarations=[declared])
    config = types.GenerateContentConfig(tools=[tool])

    events = list(
        client.models.generate_content_stream(model=MODEL, contents="Weather?", config=config)
    )

    assert events[-1].function_calls[0].args == {"city": "weather 1", "days": 1}


def test_an_answer_has_the_shape_that_is_asked_for(client: genai.Client) -> None:
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_schema=Place
    )

    said = client.models.generate_content(model=MODEL, contents="Where?", config=config)

    assert said.parsed == Place(city="answer 1", height=1, above=["answer 1"])


def test_thoughts_are_told_and_counted(client: genai.Client) -> None:
    config = types.GenerateContentConfig(
        thinking_config=types.ThinkingConfig(include_thoughts=True)
    )

    said = client.models.generate_content(model=MODEL, contents="Why?", config=config)

    thought, text = said.candidates[0].content.parts
    assert (thought.thought, thought.text) == (True, "Thinking about answer 1.")
    assert text.text.startswith("Answer 1: ")
    assert said.usage_metadata.thoughts_token_count > 0


def test_embeddings_are_of_the_width_that_is_asked_for(client: genai.Client) -> None:
    config = types.EmbedContentConfig(output_dimensionality=8)

    made = client.models.embed_content(
        model="gemini-embedding-001", contents=["river", "hill"], config=config
    )

    assert [len(each.values) for each in made.embeddings] == [8, 8]
    assert made.embeddings[0] != made.embeddings[1]


def test_tokens_are_counted(client: genai.Client) -> None:
    counted = client.models.count_tokens(model=MODEL, contents="Where does it rise?")

    assert counted.total_tokens == len("Where does it rise?") // 4


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
def test_async_clients_get_the_same(provider: Provider) -> None:
    async def ask() -> tuple[str, str]:
        options = types.HttpOptions(base_url=provider.url)
        async with genai.Client(api_key="none", http_options=options).aio as client:
            whole = await client.models.generate_content(model=MODEL, contents="Why?")
            stream = await client.models.generate_content_stream(model=MODEL, contents="Why?")
            return whole.text, "".join([each.text async for each in stream])

    whole, streamed = asyncio.run(ask())

    assert streamed == whole.replace("1", "2", 1)


def test_a_bad_request_is_told_in_its_words(client: genai.Client) -> None:
    config = types.GenerateContentConfig(
        http_options=types.HttpOptions(extra_body={"contents": [3]})
    )

    with pytest.raises(errors.ClientError) as raised:
        client.models.generate_content(model=MODEL, contents="Why?", config=config)

    assert (raised.value.code, raised.value.status) == (400, "INVALID_ARGUMENT")


def test_an_overload_is_told_in_its_words(provider: Provider, client: genai.Client) -> None:
    provider.fail(times=None, status=503)

    with pytest.raises(errors.ServerError) as raised:
        client.models.generate_content(model=MODEL, contents="Why?")

    assert raised.value.status == "UNAVAILABLE"
