"""pydantic-ai, on the SDKs of OpenAI, Anthropic, Google and Mistral."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from mistralai.client import Mistral
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.mistral import MistralModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.mistral import MistralProvider

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    answer: str
    score: int


def agent_of(model: Any, **options: Any) -> Any:
    return Agent(model, tools=[weather], **options)


def google() -> GoogleModel:
    url = os.environ["GOOGLE_GEMINI_BASE_URL"]
    return GoogleModel("m", provider=GoogleProvider(api_key="offline", base_url=url))


@way
async def run() -> str:
    return str((await Agent(OpenAIChatModel("m")).run("hi")).output)


@way
async def run_with_tools() -> str:
    return str((await agent_of(OpenAIChatModel("m")).run(PROMPT)).output)


@way
async def tools_of_responses() -> str:
    return str((await agent_of(OpenAIResponsesModel("m")).run(PROMPT)).output)


@way
async def tools_of_anthropic() -> str:
    return str((await agent_of("anthropic:m").run(PROMPT)).output)


@way
async def tools_of_google() -> str:
    return str((await agent_of(google()).run(PROMPT)).output)


@way
async def tools_of_mistral() -> str:
    client = Mistral(api_key="offline", server_url=os.environ["PROVIDER"])
    model = MistralModel("m", provider=MistralProvider(mistral_client=client))
    return str((await agent_of(model).run(PROMPT)).output)


@way
async def stream() -> list[str]:
    async with Agent(OpenAIChatModel("m")).run_stream("hi") as answer:
        return [text async for text in answer.stream_text(delta=True)]


@way
async def structured_output() -> Any:
    agent = Agent(OpenAIChatModel("m"), output_type=Verdict)
    return (await agent.run("hi")).output.model_dump()


@way
async def history_of_two_runs() -> str:
    agent = agent_of(OpenAIChatModel("m"))
    first = await agent.run(PROMPT)
    return str((await agent.run("And then?", message_history=first.all_messages())).output)


@way
async def agents_at_once() -> list[str]:
    agent = Agent(OpenAIChatModel("m"))
    return [str(one.output) for one in await asyncio.gather(*[agent.run(f"{n}") for n in range(5)])]


@way
async def agent_as_a_tool() -> str:
    inner, outer = Agent(OpenAIChatModel("m")), Agent(OpenAIChatModel("m"))

    @outer.tool_plain
    async def weather(city: str) -> str:
        return str((await inner.run(f"The weather of {city}?")).output)

    return str((await outer.run(PROMPT)).output)
