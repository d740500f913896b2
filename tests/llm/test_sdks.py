"""Each SDK over httpx or httpx2, in each of its modes: what comes back with the provider stopped."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import httpx
import httpx2
import ollama
import openai
import pytest
from google import genai
from mistralai.client import Mistral
from pydantic import BaseModel

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider

pytestmark = pytest.mark.sampled(3)

SAID = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
ANTHROPIC_TOOLS = [{"name": "weather", "input_schema": SCHEMA}]
PIXEL = "data:image/png;base64," + "iVBORw0KGgo" * 20
CASES: dict[str, Callable[[Provider], Any]] = {}


class Verdict(BaseModel):
    answer: str
    score: int


def case(function: Callable[[Provider], Any]) -> Callable[[Provider], Any]:
    CASES[function.__name__.replace("_", " ")] = function
    return function


@case
def openai_chat(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.chat.completions.create(model="m", messages=SAID)


@case
async def openai_chat_async(_: Provider) -> Any:
    async with openai.AsyncOpenAI() as client:
        return await client.chat.completions.create(model="m", messages=SAID)


@case
def openai_chat_stream(_: Provider) -> Any:
    with openai.OpenAI() as client:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        return list(client.chat.completions.create(model="m", messages=SAID, **options))


@case
async def openai_chat_stream_async(_: Provider) -> Any:
    async with openai.AsyncOpenAI() as client:
        stream = await client.chat.completions.create(model="m", messages=SAID, stream=True)
        return [chunk async for chunk in stream]


@case
def openai_stream_helper_with_tools(_: Provider) -> Any:
    with (
        openai.OpenAI() as client,
        client.chat.completions.stream(model="m", messages=SAID, tools=TOOLS) as stream,
    ):
        events = [event.type for event in stream]
        return events, stream.get_final_completion()


@case
def openai_structured_output(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.chat.completions.parse(model="m", messages=SAID, response_format=Verdict)


@case
def openai_responses(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.responses.create(model="m", input="hi")


@case
def openai_responses_stream(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return list(client.responses.create(model="m", input="hi", stream=True))


@case
def openai_embeddings(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.embeddings.create(model="m", input=["a", "b"])


@case
def openai_image_made(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.images.generate(model="gpt-image-1", prompt="a cat")


@case
def openai_image_asked_about(_: Provider) -> Any:
    part = {"type": "image_url", "image_url": {"url": PIXEL}}
    with openai.OpenAI() as client:
        said = [{"role": "user", "content": [part]}]
        return client.chat.completions.create(model="m", messages=said)


@case
def openai_speech(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.audio.speech.create(model="tts-1", voice="alloy", input="hi").content


@case
def openai_transcription(_: Provider) -> Any:
    with openai.OpenAI() as client:
        return client.audio.transcriptions.create(model="whisper-1", file=("a.wav", b"RIFF" * 20))


@case
def openai_raw_response(_: Provider) -> Any:
    with openai.OpenAI() as client:
        raw = client.chat.completions.with_raw_response.create(model="m", messages=SAID)
        return raw.headers["x-request-id"], raw.status_code, raw.parse()


@case
def openai_compressed(provider: Provider) -> Any:
    provider.compress()
    with openai.OpenAI() as client:
        whole = client.chat.completions.create(model="m", messages=SAID)
        return whole, list(client.chat.completions.create(model="m", messages=SAID, stream=True))


@case
def anthropic_messages(_: Provider) -> Any:
    import anthropic

    with anthropic.Anthropic() as client:
        return client.messages.create(model="m", max_tokens=9, messages=SAID)


@case
async def anthropic_messages_async(_: Provider) -> Any:
    import anthropic

    async with anthropic.AsyncAnthropic() as client:
        return await client.messages.create(model="m", max_tokens=9, messages=SAID)


@case
def anthropic_stream(_: Provider) -> Any:
    import anthropic

    with anthropic.Anthropic() as client:
        return list(client.messages.create(model="m", max_tokens=9, messages=SAID, stream=True))


@case
async def anthropic_stream_helper_with_tools(_: Provider) -> Any:
    import anthropic

    async with (
        anthropic.AsyncAnthropic() as client,
        client.messages.stream(
            model="m", max_tokens=8, messages=SAID, tools=ANTHROPIC_TOOLS
        ) as stream,
    ):
        events = [event.type async for event in stream]
        return events, await stream.get_final_message()


@case
def anthropic_tokens_counted(_: Provider) -> Any:
    import anthropic

    with anthropic.Anthropic() as client:
        return client.messages.count_tokens(model="m", messages=SAID)


@case
def google_content(_: Provider) -> Any:
    with closing(genai.Client()) as client:
        return client.models.generate_content(model="m", contents="hi")


@case
def google_stream(_: Provider) -> Any:
    with closing(genai.Client()) as client:
        return list(client.models.generate_content_stream(model="m", contents="hi"))


@case
def google_embeddings(_: Provider) -> Any:
    with closing(genai.Client()) as client:
        return client.models.embed_content(model="m", contents="hi")


@case
def mistral_chat(provider: Provider) -> Any:
    with Mistral(api_key="offline", server_url=provider.url) as client:
        return client.chat.complete(model="m", messages=SAID)


@case
def mistral_stream(provider: Provider) -> Any:
    with Mistral(api_key="offline", server_url=provider.url) as client:
        return [event.data for event in client.chat.stream(model="m", messages=SAID)]


@case
async def mistral_chat_async(provider: Provider) -> Any:
    async with Mistral(api_key="offline", server_url=provider.url) as client:
        return await client.chat.complete_async(model="m", messages=SAID)


@case
async def mistral_stream_async(provider: Provider) -> Any:
    async with Mistral(api_key="offline", server_url=provider.url) as client:
        stream = await client.chat.stream_async(model="m", messages=SAID)
        return [event.data async for event in stream]


@case
def ollama_chat(_: Provider) -> Any:
    return ollama.Client().chat(model="m", messages=SAID)


@case
def ollama_stream(_: Provider) -> Any:
    return list(ollama.Client().chat(model="m", messages=SAID, stream=True))


@case
async def ollama_chat_async(_: Provider) -> Any:
    return await ollama.AsyncClient().chat(model="m", messages=SAID)


@case
def ollama_generate(_: Provider) -> Any:
    return ollama.Client().generate(model="m", prompt="hi")


@case
def langchain_openai_invoke_and_stream(_: Provider) -> Any:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="m")
    return model.invoke("hi").content, [chunk.content for chunk in model.stream("ho")]


@case
def langchain_openai_batch_in_threads(_: Provider) -> Any:
    from langchain_openai import ChatOpenAI

    return [answer.content for answer in ChatOpenAI(model="m").batch(["a", "b", "c", "d"])]


@case
async def langchain_anthropic_stream_async(_: Provider) -> Any:
    from langchain_anthropic import ChatAnthropic

    return [str(chunk.content) async for chunk in ChatAnthropic(model="m").astream("hi")]


@case
def raw_httpx(provider: Provider) -> Any:
    body = {"model": "m", "messages": SAID}
    answer = httpx.post(f"{provider.url}/v1/chat/completions", json=body)
    return answer.status_code, answer.json(), answer.elapsed is not None


@case
async def raw_httpx2_stream(provider: Provider) -> Any:
    body = {"model": "m", "messages": SAID, "stream": True}
    url = f"{provider.url}/v1/chat/completions"
    async with httpx2.AsyncClient() as client, client.stream("POST", url, json=body) as answer:
        return [chunk async for chunk in answer.aiter_raw()]


def told(value: Any) -> Any:
    """What a value is, with the types of all that is in it."""
    if isinstance(value, BaseModel):
        return type(value), value.model_dump()
    if isinstance(value, list | tuple):
        return type(value), [told(each) for each in value]
    return type(value), value


def run(function: Callable[[Provider], Any], provider: Provider) -> Any:
    if inspect.iscoroutinefunction(function):
        return asyncio.run(function(provider))
    return function(provider)


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """SDKs leave streams and clients to the collector, which would tell in another test."""
    import warnings

    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.filterwarnings("default")  # the SDKs' own
@pytest.mark.parametrize("name", CASES)
def test_the_same_comes_back_with_the_provider_stopped(
    name: str, provider: Provider, recorded: Session
) -> None:
    with ExitStack() as stack:
        stack.enter_context(scope.entered("step"))
        first = run(CASES[name], provider)
    answered = provider.answered
    provider.stop()

    with scope.entered("step"):
        again = run(CASES[name], provider)

    assert answered > 0
    assert told(again) == told(first)
