"""mistralai: chats, streams, tools in turns, embeddings."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from mistralai.client import Mistral
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

SAID: list[Any] = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]


class Verdict(BaseModel):
    answer: str
    score: int


def client() -> Mistral:
    return Mistral(api_key="offline", server_url=os.environ["PROVIDER"])


@way
def chat() -> str:
    return str(client().chat.complete(model="m", messages=SAID).choices[0].message.content)


@way
async def chat_async() -> list[str]:
    chat = client().chat
    asked = [
        chat.complete_async(model="m", messages=[{"role": "user", "content": f"hi {n}"}])
        for n in range(5)
    ]
    return [str(one.choices[0].message.content) for one in await asyncio.gather(*asked)]


@way
def stream() -> list[str]:
    events = client().chat.stream(model="m", messages=SAID)
    return [str(event.data.choices[0].delta.content) for event in events]


@way
def tools_in_turns() -> str:
    chat = client().chat
    said: list[Any] = [{"role": "user", "content": f"How is the weather in {CITIES}?"}]
    for _ in range(9):
        answer = chat.complete(model="m", messages=said, tools=TOOLS).choices[0].message
        if not answer.tool_calls:
            break
        said.append(answer)
        for call in answer.tool_calls:
            result = {"role": "tool", "tool_call_id": call.id, "name": "weather"}
            said.append({**result, "content": weather(str(call.function.arguments))})
    return str(answer.content)


@way
def structured_output() -> Any:
    answer = client().chat.parse(Verdict, model="m", messages=SAID)
    return answer.choices[0].message.parsed.model_dump()


@way
def embeddings() -> list[float]:
    found: list[float] = client().embeddings.create(model="m", inputs=["a"]).data[0].embedding
    return found
