"""crewai, on OpenAI's SDK; in a running loop, as a cell of a kernel is in, it has async calls only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from crewai import LLM, Agent, Crew, Process, Task
from crewai.flow.flow import Flow, listen, start
from crewai.tools import tool
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"Say how the weather is in {CITIES}."


class Verdict(BaseModel):
    answer: str
    score: int


def agent(role: str = "reporter", **options: Any) -> Agent:
    told = {"role": role, "goal": "tell the weather", "backstory": "none"}
    return Agent(**told, llm=LLM("openai/gpt-4o-mini"), **options)


def task(of: Agent, prompt: str = PROMPT, **options: Any) -> Task:
    return Task(description=prompt, expected_output="a line", agent=of, **options)


def crew_of(*tasks: Task, **options: Any) -> Crew:
    return Crew(agents=[one.agent for one in tasks], tasks=list(tasks), tracing=False, **options)


@way
def model() -> str:
    return str(LLM("openai/gpt-4o-mini").call("hi"))


@way
async def crew() -> str:
    return str(await crew_of(task(agent())).kickoff_async())


@way
def crew_in_a_thread() -> str:
    with ThreadPoolExecutor() as pool:
        return str(pool.submit(crew_of(task(agent())).kickoff).result())


@way
async def crew_with_tools() -> str:
    return str(await crew_of(task(agent(tools=[tool(weather)]))).kickoff_async())


@way
async def tasks_one_after_the_other() -> list[str]:
    first, second = task(agent(), "Say a."), task(agent("editor"), "Make it better.")
    return [str(one) for one in (await crew_of(first, second).kickoff_async()).tasks_output]


@way
async def tasks_at_once() -> list[str]:
    at_once = [task(agent(f"r{n}"), f"Say {n}.", async_execution=True) for n in range(3)]
    last = task(agent("editor"), "Sum up.", context=at_once)
    return [str(one) for one in (await crew_of(*at_once, last).kickoff_async()).tasks_output]


@way
async def hierarchy() -> str:
    crew = crew_of(task(agent()), process=Process.hierarchical, manager_llm=LLM("openai/gpt-4o"))
    return str(await crew.kickoff_async())


@way
async def structured_output() -> Any:
    crew = crew_of(task(agent(), "Judge.", output_pydantic=Verdict))
    return (await crew.kickoff_async()).pydantic.model_dump()


@way
async def flow() -> str:
    class Two(Flow):
        @start()
        def first(self) -> str:
            return str(LLM("openai/gpt-4o-mini").call("hi"))

        @listen(first)
        def second(self, said: str) -> str:
            return str(LLM("openai/gpt-4o-mini").call(f"Go on: {said}"))

    return str(await Two(tracing=False).kickoff_async())
