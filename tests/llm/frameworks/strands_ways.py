"""strands, on the SDKs of OpenAI and Anthropic."""

from __future__ import annotations

from typing import Any

import httpx2  # noqa: F401 - strands has a thread import it, and openai takes a half of it for whole
from pydantic import BaseModel
from strands import Agent, tool
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.multiagent import GraphBuilder

from tests.llm.frameworks.ways import CITIES, limited, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    """A verdict."""

    answer: str
    score: int


def agent(model: Any = None, **options: Any) -> Agent:
    return Agent(model=model or OpenAIModel(model_id="m"), callback_handler=None, **options)


@way
def run() -> str:
    return str(agent()("hi"))


@way
def tools() -> str:
    return str(agent(tools=[tool(weather)])(PROMPT))


@way
def tools_of_anthropic() -> str:
    model = AnthropicModel(model_id="m", max_tokens=99)
    return str(agent(model, tools=[tool(weather)])(PROMPT))


@way
async def tools_async() -> str:
    return str(await agent(tools=[tool(weather)]).invoke_async(PROMPT))


@way
async def stream() -> list[str]:
    parts = agent(tools=[tool(weather)]).stream_async(PROMPT)
    return [part["data"] async for part in parts if "data" in part]


@way
def two_turns() -> list[str]:
    one = agent(tools=[tool(weather)])
    return [str(one(PROMPT)), str(one("And then?"))]


@way
def structured_output() -> Any:
    return agent()("hi", structured_output_model=Verdict).structured_output.model_dump()


@limited("the last agent is told what the others said in the order in which they ended")
def graph_of_agents() -> list[str]:
    graph = GraphBuilder()
    for name in ("slow", "quick", "last"):
        graph.add_node(agent(name=name, system_prompt=f"You are {name}."), name)
    graph.add_edge("slow", "last")
    graph.add_edge("quick", "last")
    graph.set_entry_point("slow")
    graph.set_entry_point("quick")
    results = graph.build()("hi").results
    return [f"{name}: {results[name].result}" for name in sorted(results)]
