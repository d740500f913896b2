"""litellm, over its own HTTP handlers and OpenAI's SDK."""

from __future__ import annotations

import os
from typing import Any

import litellm
from litellm import Router

from tests.llm.frameworks.ways import CITIES, way, weather

SAID = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
MOST = 9
"""Turns after which the model has to have said something."""
litellm.suppress_debug_info = True


def text(answer: Any) -> str:
    return str(answer.choices[0].message.content)


def turns_of(model: str, **options: Any) -> str:
    said: list[Any] = [{"role": "user", "content": f"How is the weather in {CITIES}?"}]
    for _ in range(MOST):
        answer = litellm.completion(model, said, tools=TOOLS, **options).choices[0].message
        if not answer.tool_calls:
            return str(answer.content)
        said.append(answer)
        for call in answer.tool_calls:
            result = {"role": "tool", "tool_call_id": call.id, "name": "weather"}
            said.append({**result, "content": weather(call.function.arguments)})
    raise AssertionError("the model asks for tools again and again")


@way
def completion() -> str:
    return text(litellm.completion("openai/m", SAID))


@way
async def completion_async() -> str:
    return text(await litellm.acompletion("anthropic/claude-m", SAID))


@way
def stream() -> list[str]:
    chunks = litellm.completion("openai/m", SAID, stream=True)
    return [str(chunk.choices[0].delta.content) for chunk in chunks]


@way
async def stream_async_of_gemini() -> list[str]:
    chunks = await litellm.acompletion("gemini/m", SAID, stream=True)
    return [str(chunk.choices[0].delta.content) async for chunk in chunks]


@way
def tools_in_turns() -> str:
    return turns_of("openai/m")


@way
def tools_in_turns_of_anthropic() -> str:
    return turns_of("anthropic/claude-m")


@way
def tools_in_turns_of_gemini() -> str:
    return turns_of("gemini/m")


@way
def tools_in_turns_of_mistral() -> str:
    return turns_of("mistral/m", api_base=os.environ["MISTRAL_API_BASE"])


@way
def tools_in_turns_of_ollama() -> str:
    return turns_of("ollama_chat/m")


@way
def responses() -> str:
    return str(litellm.responses(input="hi", model="openai/m").output[0].content[0].text)


@way
def batch_in_threads() -> list[str]:
    said = [[{"role": "user", "content": f"hi {n}"}] for n in range(8)]
    return [text(answer) for answer in litellm.batch_completion(model="openai/m", messages=said)]


@way
def embeddings() -> list[float]:
    found: list[float] = litellm.embedding("openai/m", input=["a"]).data[0]["embedding"]
    return found


@way
async def router() -> str:
    named = {"model": "openai/m", "api_base": os.environ["OPENAI_BASE_URL"]}
    models = [{"model_name": "any", "litellm_params": named} for _ in range(3)]
    return text(await Router(model_list=models).acompletion("any", SAID))
