"""instructor, on OpenAI's SDK, Anthropic's and litellm."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import instructor
import litellm
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, field_validator

from tests.llm.frameworks.ways import way

SAID: Any = [{"role": "user", "content": "hi"}]
litellm.suppress_debug_info = True


class Verdict(BaseModel):
    answer: str
    score: int


class Patient(BaseModel):
    """What is answered only when a first answer was refused."""

    answer: str

    @field_validator("answer")
    @classmethod
    def refused_once(cls, answer: str) -> str:
        tried.append(answer)
        if len(tried) == 1:
            raise ValueError("once more")
        return answer


tried: list[str] = []


@way
def tools() -> Any:
    client = instructor.from_openai(OpenAI())
    return client.create(model="m", messages=SAID, response_model=Verdict).model_dump()


@way
async def tools_async() -> Any:
    client = instructor.from_openai(AsyncOpenAI())
    asked = [client.create(model="m", messages=SAID, response_model=Verdict) for _ in range(3)]
    return sorted(one.answer for one in await asyncio.gather(*asked))


@way
def json_schema() -> Any:
    client = instructor.from_openai(OpenAI(), mode=instructor.Mode.JSON_SCHEMA)
    return client.create(model="m", messages=SAID, response_model=Verdict).model_dump()


@way
def partial_stream() -> Any:
    client = instructor.from_openai(OpenAI())
    parts = client.create_partial(model="m", messages=SAID, response_model=Verdict)
    return [part.model_dump() for part in parts]


@way
def iterable() -> Any:
    client = instructor.from_openai(OpenAI())
    found = client.create(model="m", messages=SAID, response_model=Iterable[Verdict])
    return [one.model_dump() for one in found]


@way
def retried() -> Any:
    tried.clear()
    client = instructor.from_openai(OpenAI())
    asked = {"model": "m", "messages": SAID, "max_retries": 2}
    return client.create(response_model=Patient, **asked).model_dump()


@way
def of_litellm() -> Any:
    client = instructor.from_litellm(litellm.completion)
    return client.create(model="openai/m", messages=SAID, response_model=Verdict).model_dump()
