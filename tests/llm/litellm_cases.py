"""litellm, which does not fit beside openai 3: `test_other_versions` runs this where it fits."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

import litellm
import openai
import pytest
from pydantic import BaseModel

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import states_of
from tests.llm.test_sdks import SAID, TOOLS

pytestmark = pytest.mark.filterwarnings("default")  # the SDKs' own
litellm.suppress_debug_info = True

MODELS = ["openai/m", "anthropic/claude-m", "gemini/m", "mistral/m", "ollama_chat/m"]
WAYS: dict[str, Callable[[Any], Any]] = {}


def way(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    WAYS[function.__name__.replace("_", " ")] = function
    return function


@way
def completion(asked: Any) -> Any:
    return litellm.completion(**asked)


@way
def stream(asked: Any) -> Any:
    return list(litellm.completion(**asked, stream=True))


@way
async def completion_async(asked: Any) -> Any:
    return await litellm.acompletion(**asked)


@way
async def stream_async(asked: Any) -> Any:
    return [chunk async for chunk in await litellm.acompletion(**asked, stream=True)]


@way
def tools(asked: Any) -> Any:
    return litellm.completion(**asked, tools=TOOLS)


def asked_of(model: str, provider: Provider) -> dict[str, Any]:
    path = "/v1" if model.startswith(("openai", "mistral")) else ""
    place = {"api_base": provider.url + path, "api_key": "offline-key"}
    return {"model": model, "messages": SAID, "max_tokens": 99, **place}


def told(value: Any) -> Any:
    """What a value is, without the ids and times that the library makes up on each call."""
    if isinstance(value, list):
        return [told(each) for each in value]
    assert isinstance(value, BaseModel)
    members = json.loads(value.model_dump_json(exclude={"id", "created"}))
    for choice in members.get("choices", ()):
        for call in (choice.get("message") or choice.get("delta") or {}).get("tool_calls") or ():
            call.pop("id", None)
    return type(value), members


def run(function: Callable[[Any], Any], asked: dict[str, Any]) -> Any:
    with scope.entered("step"):
        return (
            asyncio.run(function(asked))
            if inspect.iscoroutinefunction(function)
            else function(asked)
        )


def test_this_is_openai_2() -> None:
    assert openai.__version__.startswith("2.")


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("model", MODELS)
def test_the_same_comes_back_with_the_provider_stopped(
    model: str, name: str, provider: Provider, recorded: Session
) -> None:
    asked = asked_of(model, provider)
    first = run(WAYS[name], asked)
    assert provider.answered == 1
    assert states_of(recorded) == ["done"]
    provider.stop()

    assert told(run(WAYS[name], asked)) == told(first)


def test_embeddings_come_back_with_the_provider_stopped(
    provider: Provider, recorded: Session
) -> None:
    def embed(asked: dict[str, Any]) -> Any:
        return litellm.embedding(model="openai/m", input=["a", "b"], **asked)

    place = {"api_base": f"{provider.url}/v1", "api_key": "offline-key"}
    first = run(embed, place)
    provider.stop()

    assert run(embed, place).data == first.data
