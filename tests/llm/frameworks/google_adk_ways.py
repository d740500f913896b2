"""google-adk, on Google's SDK."""

from __future__ import annotations

from typing import Any

from google.adk.agents import Agent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    answer: str
    score: int


def agent(name: str = "a", **options: Any) -> Agent:
    return Agent(name=name, model="gemini-2.5-flash", **options)


async def asked(agent: Any, *prompts: str, **options: Any) -> list[str]:
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    texts = []
    for prompt in prompts:
        said = types.Content(role="user", parts=[types.Part(text=prompt)])
        events = runner.run_async(
            user_id="u", session_id=session.id, new_message=said, run_config=RunConfig(**options)
        )
        async for event in events:
            parts = event.content.parts if event.content and event.content.parts else []
            texts += [f"{event.author}: {part.text}" for part in parts if part.text]
    return texts


@way
async def agent_with_tools() -> list[str]:
    return await asked(agent(tools=[weather]), PROMPT)


@way
async def two_turns() -> list[str]:
    return await asked(agent(tools=[weather]), PROMPT, "And then?")


@way
async def streamed() -> list[str]:
    return await asked(agent(tools=[weather]), PROMPT, streaming_mode=StreamingMode.SSE)


@way
async def structured_output() -> list[str]:
    return await asked(agent(output_schema=Verdict), "hi")


@way
async def one_after_the_other() -> list[str]:
    first, second = agent("first", output_key="said"), agent("second", instruction="Better: {said}")
    return await asked(SequentialAgent(name="all", sub_agents=[first, second]), "hi")


@way
async def at_once() -> list[str]:
    agents = [agent(f"a{n}", instruction=f"You are {n}.") for n in range(3)]
    return sorted(await asked(ParallelAgent(name="all", sub_agents=agents), "hi"))


@way
async def in_a_loop() -> list[str]:
    return await asked(LoopAgent(name="all", sub_agents=[agent()], max_iterations=3), "hi")


@way
async def agent_as_a_tool() -> list[str]:
    return await asked(agent(tools=[AgentTool(agent("inner"))]), "hi")
