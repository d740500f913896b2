"""OpenAI's own SDK against the provider: each API, each mode."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseOutputText
from pydantic import BaseModel

from nbckpt.testing import Provider

USER = [{"role": "user", "content": "Where does the river rise?"}]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": CITY}}
FUNCTION = {"type": "function", "name": "weather", "parameters": CITY}


class Place(BaseModel):
    city: str
    height: float
    known: bool
    names: list[str]


@pytest.fixture
def client(provider: Provider) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_chat_tells_what_it_used(client: OpenAI) -> None:
    said = client.chat.completions.create(model="gpt-5-mini", messages=USER)

    assert said.choices[0].message.content.startswith("Answer 1: ")
    assert said.usage.prompt_tokens == len("Where does the river rise?") // 4
    assert said.usage.completion_tokens == len(said.choices[0].message.content.split())
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens


def test_a_streamed_chat_comes_word_by_word(client: OpenAI) -> None:
    options = {"include_usage": True}

    chunks = list(
        client.chat.completions.create(
            model="m", messages=USER, stream=True, stream_options=options
        )
    )

    words = [each.choices[0].delta.content for each in chunks if each.choices]
    assert "".join(filter(None, words)).startswith("Answer 1: ")
    assert len(words) > 5
    assert chunks[-1].usage.completion_tokens == len("".join(filter(None, words)).split())


def test_usage_is_streamed_only_when_it_is_asked_for(client: OpenAI) -> None:
    chunks = client.chat.completions.create(model="m", messages=USER, stream=True)

    assert all(each.usage is None and each.choices for each in chunks)


def test_several_choices_are_several(client: OpenAI) -> None:
    said = client.chat.completions.create(model="m", messages=USER, n=3)
    chunks = client.chat.completions.create(model="m", messages=USER, n=2, stream=True)

    assert len({each.message.content for each in said.choices}) == 3
    assert {each.choices[0].index for each in chunks} == {0, 1}


def test_a_tool_is_called_until_it_has_answered(client: OpenAI) -> None:
    called = client.chat.completions.create(model="m", messages=USER, tools=[TOOL])
    call = called.choices[0].message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    messages = [*USER, called.choices[0].message.model_dump(exclude_none=True), result]
    said = client.chat.completions.create(model="m", messages=messages, tools=[TOOL])

    assert called.choices[0].finish_reason == "tool_calls"
    assert json.loads(call.function.arguments) == {"city": "weather 1", "days": 1}
    assert said.choices[0].message.content.startswith("Answer 2: ")


def test_a_tool_is_called_in_a_stream(client: OpenAI) -> None:
    with client.chat.completions.stream(model="m", messages=USER, tools=[TOOL]) as stream:
        message = stream.get_final_completion().choices[0].message

    assert json.loads(message.tool_calls[0].function.arguments) == {"city": "weather 1", "days": 1}


def test_a_tool_that_must_not_be_called_is_not(client: OpenAI) -> None:
    said = client.chat.completions.create(
        model="m", messages=USER, tools=[TOOL], tool_choice="none"
    )

    assert said.choices[0].message.tool_calls is None


def test_an_answer_has_the_shape_that_is_asked_for(client: OpenAI) -> None:
    said = client.chat.completions.parse(model="m", messages=USER, response_format=Place)
    response = client.responses.parse(model="m", input="Where?", text_format=Place)

    assert said.choices[0].message.parsed == Place(
        city="answer 1", height=1, known=True, names=["answer 1"]
    )
    assert response.output_parsed.city == "answer 2"


def test_reasoning_is_counted(client: OpenAI) -> None:
    said = client.chat.completions.create(model="m", messages=USER, reasoning_effort="low")
    response = client.responses.create(model="m", input="Why?", reasoning={"effort": "low"})

    reasoned = said.usage.completion_tokens_details.reasoning_tokens
    assert 0 < reasoned < said.usage.completion_tokens
    assert response.usage.output_tokens_details.reasoning_tokens > 0
    assert response.output[0].summary[0].text == "Thinking about answer 2."


def test_a_long_beginning_is_cached_from_the_second_time_on(client: OpenAI) -> None:
    system = {"role": "system", "content": "Be brief. " * 600}

    used = [
        client.chat.completions.create(model="m", messages=[system, *USER]).usage for _ in range(2)
    ]

    cached = [each.prompt_tokens_details.cached_tokens for each in used]
    assert cached == [0, 1024]
    assert used[0].prompt_tokens > 1024


def test_a_response_is_the_same_whole_and_streamed(client: OpenAI) -> None:
    whole = client.responses.create(model="m", input="Why?")
    events = list(client.responses.create(model="m", input="Why?", stream=True))

    assert whole.output_text.startswith("Answer 1: ")
    assert events[-1].response.output_text == whole.output_text.replace("1", "2", 1)
    deltas = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert "".join(deltas) == events[-1].response.output_text
    assert [each.sequence_number for each in events] == list(range(len(events)))


def test_a_response_is_gathered_by_the_sdk(client: OpenAI) -> None:
    with client.responses.stream(model="m", input="Why?", reasoning={"effort": "low"}) as stream:
        gathered = stream.get_final_response()

    assert isinstance(gathered.output[1].content[0], ResponseOutputText)
    assert gathered.output_text.startswith("Answer 1: ")


def test_a_response_calls_a_function_until_it_has_answered(client: OpenAI) -> None:
    called = client.responses.create(model="m", input="Why?", tools=[FUNCTION])
    call = called.output[0]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    said = client.responses.create(
        model="m", input=[{"role": "user", "content": "Why?"}, result], tools=[FUNCTION]
    )
    with client.responses.stream(model="m", input="Why?", tools=[FUNCTION]) as stream:
        streamed = stream.get_final_response().output[0]

    assert json.loads(call.arguments) == {"city": "weather 1", "days": 1}
    assert said.output_text.startswith("Answer 2: ")
    assert json.loads(streamed.arguments) == {"city": "weather 3", "days": 3}


def test_embeddings_are_the_same_as_numbers_and_in_base64(client: OpenAI) -> None:
    given = {"model": "text-embedding-3-small", "input": ["river", "hill"]}

    coded = client.embeddings.create(**given)
    plain = client.embeddings.create(**given, encoding_format="float")
    short = client.embeddings.create(**given, dimensions=8)

    assert [each.embedding for each in coded.data] == [each.embedding for each in plain.data]
    assert coded.data[0].embedding != coded.data[1].embedding
    assert sum(each * each for each in coded.data[0].embedding) == pytest.approx(1)
    assert len(short.data[0].embedding) == 8
    assert coded.usage.total_tokens > 0


def test_images_are_pictures(client: OpenAI) -> None:
    from base64 import b64decode

    from PIL import Image

    made = client.images.generate(model="gpt-image-1", prompt="a river", n=2)

    pictures = [Image.open(io.BytesIO(b64decode(each.b64_json))) for each in made.data]
    assert [each.getpixel((0, 0)) for each in pictures] == [(1, 0, 128), (1, 1, 128)]
    assert made.usage.output_tokens > 0


def test_an_edited_image_is_sent_as_a_form(client: OpenAI, provider: Provider) -> None:
    client.images.edit(model="gpt-image-1", image=("a.png", b"\x89PNG"), prompt="bluer")

    assert provider.requests[0].body["prompt"] == "bluer"
    assert b"\x89PNG" in provider.requests[0].body.values()


def test_speech_is_a_sound_and_its_transcript_a_text(client: OpenAI) -> None:
    import wave

    spoken = client.audio.speech.create(
        model="tts-1", voice="alloy", input="Hello there", response_format="wav"
    ).content
    heard = client.audio.transcriptions.create(model="whisper-1", file=("a.wav", spoken))
    text = client.audio.transcriptions.create(
        model="whisper-1", file=("a.wav", spoken), response_format="text"
    )
    streamed = client.audio.transcriptions.create(
        model="gpt-4o-transcribe", file=("a.wav", spoken), stream=True
    )

    with wave.open(io.BytesIO(spoken)) as sound:
        assert sound.getframerate() == 24_000
    assert heard.text.startswith("Answer 2: ")
    assert text.startswith("Answer 3: ")
    assert list(streamed)[-1].text.startswith("Answer 4: ")


def test_speech_streams(client: OpenAI) -> None:
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="Hello " * 100
    ) as response:
        chunks = list(response.iter_bytes())

    assert response.headers["content-type"] == "audio/mpeg"
    assert len(chunks) > 1


def test_async_clients_get_the_same(provider: Provider) -> None:
    async def ask() -> tuple[str, str]:
        async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none") as client:
            whole = await client.chat.completions.create(model="m", messages=USER)
            stream = await client.chat.completions.create(model="m", messages=USER, stream=True)
            words = [each.choices[0].delta.content or "" async for each in stream]
            return whole.choices[0].message.content, "".join(words)

    whole, streamed = asyncio.run(ask())

    assert streamed == whole.replace("1", "2", 1)


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": []}, "messages"),
        ({"messages": USER}, "model"),
        ({"model": 3, "messages": USER}, "model"),
    ],
)
def test_a_bad_request_names_the_parameter(
    provider: Provider, client: OpenAI, given: dict[str, object], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.post("/chat/completions", body=given, cast_to=httpx.Response)

    assert raised.value.param == param
    assert raised.value.type == "invalid_request_error"
    assert provider.requests == []
