"""smolagents, on litellm and OpenAI's SDK."""

from __future__ import annotations

from typing import Any

import litellm
from smolagents import CodeAgent, LiteLLMModel, OpenAIServerModel, ToolCallingAgent, tool

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"
litellm.suppress_debug_info = True


def tools() -> list[Any]:
    return [tool(weather)]


@way
def code_agent_on_litellm() -> str:
    agent = CodeAgent(tools=tools(), model=LiteLLMModel("openai/m"), verbosity_level=0)
    return str(agent.run("How is the weather in Oslo?"))


@way
def tool_calling_agent_on_litellm() -> str:
    agent = ToolCallingAgent(tools=tools(), model=LiteLLMModel("openai/m"), verbosity_level=0)
    return str(agent.run(PROMPT))


@way
def tool_calling_agent_on_openai() -> str:
    agent = ToolCallingAgent(tools=tools(), model=OpenAIServerModel("m"), verbosity_level=0)
    return str(agent.run(PROMPT))


@way
def streamed() -> list[str]:
    model = OpenAIServerModel("m")
    agent = ToolCallingAgent(tools=tools(), model=model, stream_outputs=True, verbosity_level=0)
    return [type(step).__name__ for step in agent.run(PROMPT, stream=True)]


@way
def planned() -> str:
    model = LiteLLMModel("openai/m")
    agent = ToolCallingAgent(tools=tools(), model=model, planning_interval=2, verbosity_level=0)
    return str(agent.run(PROMPT))
