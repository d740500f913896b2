"""google-genai: its automatic function calling, chats, streams and embeddings."""

from __future__ import annotations

from typing import Any

from google import genai
from google.genai import types
from pydantic import BaseModel

from tests.llm.frameworks.ways import CITIES, way, weather

PROMPT = f"How is the weather in {CITIES}?"


class Verdict(BaseModel):
    answer: str
    score: int


CLIENT = genai.Client()


def config(**options: Any) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(**options)


@way
def automatic_function_calling() -> str:
    models = CLIENT.models
    return str(
        models.generate_content(model="m", contents=PROMPT, config=config(tools=[weather])).text
    )


@way
async def automatic_function_calling_async() -> str:
    models, options = CLIENT.aio.models, config(tools=[weather])
    return str((await models.generate_content(model="m", contents=PROMPT, config=options)).text)


@way
def automatic_function_calling_streamed() -> list[str]:
    models, options = CLIENT.models, config(tools=[weather])
    stream = models.generate_content_stream(model="m", contents=PROMPT, config=options)
    return [str(part.text) for part in stream]


@way
def chat_of_two_turns() -> list[str]:
    chat = CLIENT.chats.create(model="m", config=config(tools=[weather]))
    return [str(chat.send_message(prompt).text) for prompt in (PROMPT, "And then?")]


@way
def structured_output() -> Any:
    options = config(response_mime_type="application/json", response_schema=Verdict)
    answer = CLIENT.models.generate_content(model="m", contents="hi", config=options)
    return answer.parsed.model_dump()


@way
def embeddings() -> list[float]:
    found = CLIENT.models.embed_content(model="m", contents=["a", "b"])
    return [number for one in found.embeddings for number in one.values]
