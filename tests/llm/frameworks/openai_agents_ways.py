"""openai-agents, on OpenAI's SDK."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    SQLiteSession,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"
set_tracing_disabled(True)


class Verdict(BaseModel):
    answer: str
    score: int


def agent(**options: Any) -> Agent:
    return Agent(**{"name": "a", "model": "m", "tools": [function_tool(weather)], **options})


@way
async def run() -> str:
    return str((await Runner.run(agent(), PROMPT)).final_output)


@way
async def run_of_chat_completions() -> str:
    model = OpenAIChatCompletionsModel("m", AsyncOpenAI())
    return str((await Runner.run(agent(model=model), PROMPT)).final_output)


@way
async def stream() -> list[str]:
    run = Runner.run_streamed(agent(), PROMPT)
    kinds = [event.type async for event in run.stream_events()]
    return [*kinds, str(run.final_output)]


@way
async def structured_output() -> Any:
    run = await Runner.run(agent(tools=[], output_type=Verdict), "hi")
    return run.final_output.model_dump()


@way
async def session_of_two_turns() -> str:
    session = SQLiteSession("one")
    await Runner.run(agent(), PROMPT, session=session)
    return str((await Runner.run(agent(), "And then?", session=session)).final_output)


@way
async def handoff_to_another() -> list[str]:
    other = agent(name="other", tools=[])
    run = await Runner.run(agent(tools=[], handoffs=[handoff(other)]), "hi")
    return [run.last_agent.name, str(run.final_output)]


@way
async def agent_as_a_tool() -> str:
    inner = agent(name="inner", tools=[]).as_tool("ask", "Ask another.")
    return str((await Runner.run(agent(tools=[inner]), "hi")).final_output)


@way
async def runs_at_once() -> list[str]:
    runs = [Runner.run(agent(tools=[]), f"hi {n}") for n in range(5)]
    return [str(run.final_output) for run in await asyncio.gather(*runs)]
