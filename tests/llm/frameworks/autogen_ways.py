"""autogen, on OpenAI's SDK."""

from __future__ import annotations

from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_core.models import UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


def client(model: str = "gpt-4o-mini") -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(model=model)


def agent(name: str = "a", **options: Any) -> AssistantAgent:
    return AssistantAgent(name, client(), **options)


def texts_of(result: Any) -> list[str]:
    return [f"{one.source}: {one.to_text()}" for one in result.messages]


@way
async def model() -> str:
    return str((await client().create([UserMessage(content="hi", source="user")])).content)


@way
async def model_streamed() -> list[str]:
    said = [UserMessage(content="hi", source="user")]
    return [str(getattr(part, "content", part)) async for part in client().create_stream(said)]


@way
async def agent_with_tools() -> list[str]:
    result = await agent(tools=[weather], max_tool_iterations=9).run(task=PROMPT)
    return texts_of(result)[-1:]


@way
async def reflected_and_streamed() -> str:
    one = agent(tools=[weather], reflect_on_tool_use=True, model_client_stream=True)
    kinds = [type(part).__name__ async for part in one.run_stream(task=PROMPT)]
    return " ".join(kinds)


@way
async def team_in_turns() -> list[str]:
    team = RoundRobinGroupChat(
        [agent("one"), agent("two")], termination_condition=MaxMessageTermination(5)
    )
    return texts_of(await team.run(task="hi"))


@way
async def team_that_a_model_leads() -> list[str]:
    agents = [agent(name, description=name) for name in ("one", "two")]
    team = SelectorGroupChat(
        agents, model_client=client(), termination_condition=MaxMessageTermination(4)
    )
    return texts_of(await team.run(task="hi"))
