"""agno, on the SDKs of OpenAI and Anthropic."""

from __future__ import annotations

from typing import Any

from agno.agent import Agent
from agno.models.anthropic import Claude
from agno.models.openai import OpenAIChat, OpenAIResponses
from agno.team import Team
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, limited, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    answer: str
    score: int


def agent(model: Any = None, **options: Any) -> Agent:
    return Agent(model=model or OpenAIChat("m"), telemetry=False, **options)


@way
def run() -> str:
    return str(agent().run("hi").content)


@way
def tools() -> str:
    return str(agent(tools=[weather]).run(PROMPT).content)


@way
async def tools_async() -> str:
    return str((await agent(tools=[weather]).arun(PROMPT)).content)


@way
def tools_of_responses() -> str:
    return str(agent(OpenAIResponses("m"), tools=[weather]).run(PROMPT).content)


@way
def tools_of_anthropic() -> str:
    return str(agent(Claude("claude-m"), tools=[weather]).run(PROMPT).content)


@way
def stream() -> list[str]:
    return [str(part.content) for part in agent().run("hi", stream=True)]


@way
def structured_output() -> Any:
    return agent(output_schema=Verdict).run("hi").content.model_dump()


@way
def history_of_two_turns() -> list[str]:
    from agno.db.in_memory import InMemoryDb

    one = agent(db=InMemoryDb(), add_history_to_context=True)
    return [str(one.run(prompt, session_id="s").content) for prompt in ("hi", "And then?")]


@way
def team() -> str:
    members = [agent(name=name, role=f"Tells {name}.") for name in ("one", "two")]
    return str(Team(members=members, model=OpenAIChat("m"), telemetry=False).run("hi").content)


@limited("the time stands in its prompt")
def with_the_time() -> str:
    return str(agent(add_datetime_to_context=True).run("hi").content)
