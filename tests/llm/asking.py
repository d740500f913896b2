"""Requests that tests send, and what was recorded of them."""

from __future__ import annotations

from typing import Any

import httpx
import openai

from nbckpt.model import Record
from nbckpt.session.session import Session
from nbckpt.timeline.recordings import RECORDING


def ask(client: openai.OpenAI, prompt: str = "hi", **options: Any) -> str:
    """The answer to a prompt."""
    said = [{"role": "user", "content": prompt}]
    answer = client.chat.completions.create(model="m", messages=said, **options)
    return str(answer.choices[0].message.content)


def post(url: str, body: dict[str, Any], **options: Any) -> httpx.Response:
    """The answer to a raw request."""
    return httpx.post(f"{url}/v1/chat/completions", json=body, **options)


def body(prompt: str = "hi", **more: Any) -> dict[str, Any]:
    """A chat request."""
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], **more}


def records_of(session: Session, kind: str = RECORDING) -> list[Record]:
    """What has been written, when all of it is durable."""
    session.wait()
    session.refresh()
    return list(session.store.records(kind))


def states_of(session: Session) -> list[str]:
    """The states of all recordings."""
    return [record["state"] for record in records_of(session)]


def failures_of(session: Session) -> list[str]:
    """Why calls were not answered."""
    return [e["error"] for e in records_of(session, "event") if e["event"] == "model_call_failed"]
