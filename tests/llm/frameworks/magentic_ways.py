"""magentic, on OpenAI's SDK."""

from typing import Any

from magentic import StreamedStr, prompt, prompt_chain
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather


class Verdict(BaseModel):
    answer: str
    score: int


@prompt("Say {text}.")
def said(text: str) -> str: ...


@prompt("Say {text}.")
async def said_async(text: str) -> str: ...


@prompt("Judge {text}.")
def judged(text: str) -> Verdict: ...


@prompt("Say {text}.")
def streamed(text: str) -> StreamedStr: ...


@prompt_chain("How is the weather in {cities}?", functions=[weather])
def told(cities: str) -> str: ...


@way
def text() -> str:
    return said("hi")


@way
async def text_async() -> str:
    return await said_async("hi")


@way
def structured_output() -> Any:
    return judged("hi").model_dump()


@way
def stream() -> list[str]:
    return list(streamed("hi"))


@way
def tools_in_turns() -> str:
    return told(CITIES)
