"""Gemini's content, whole and streamed, and how many tokens it would be."""

from __future__ import annotations

import re
from typing import Any

from nbckpt.testing.bodies import last_of, need_some, text_in
from nbckpt.testing.replies import NOTHING, Ask, Call, Reply, Tool
from nbckpt.testing.wire import Answer, Json, json_answer, sse_answer


def given(fields: Json | None, name: str) -> Any:
    """The field `name`, which clients may write in either way: aName or a_name."""
    snake = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    return None if fields is None else fields.get(name, fields.get(snake))


def ask(call: Call) -> Ask:
    """Read an `Ask` from the request; model and streaming stand in the path."""
    body = call.body
    contents = need_some(body, "contents")
    model, _, action = call.path.rsplit("/", 1)[-1].partition(":")
    config = given(body, "generationConfig")
    schema = given(config, "responseJsonSchema") or given(config, "responseSchema")
    as_json = given(config, "responseMimeType") == "application/json"
    return Ask(
        call=call,
        model=model,
        prompt=last_of([{"role": "user", **content} for content in contents]),
        text=text_in(given(body, "systemInstruction"), body.get("tools", []), contents),
        streamed=action == "streamGenerateContent",
        tools=tools_of(body, contents[-1]),
        schema=schema or ({} if as_json else None),
        thinks=any(thinking_of(body).values()),
    )


def thinking_of(body: Json) -> Json:
    """Options for the model's thinking."""
    config = given(given(body, "generationConfig"), "thinkingConfig")
    return {
        name: given(config, name) for name in ("includeThoughts", "thinkingBudget", "thinkingLevel")
    }


def tools_of(body: Json, last: Json) -> tuple[Tool, ...]:
    """The functions that may be called."""
    config = given(given(body, "toolConfig"), "functionCallingConfig")
    answered = any(given(part, "functionResponse") for part in last.get("parts") or ())
    if answered or given(config, "mode") == "NONE":
        return ()
    allowed = given(config, "allowedFunctionNames")
    declared = [
        function
        for tool in body.get("tools") or ()
        for function in given(tool, "functionDeclarations") or ()
    ]
    return tuple(
        Tool(each["name"], given(each, "parametersJsonSchema") or each.get("parameters") or NOTHING)
        for each in declared
        if allowed is None or each["name"] in allowed
    )


def answer(ask: Ask, reply: Reply) -> Answer:
    """The content, or what each event adds to it."""
    parts = parts_of(ask, reply)
    if not ask.streamed:
        joined = (
            [*parts[: -len(reply.pieces)], {"text": reply.text}] if reply.call is None else parts
        )
        return json_answer(told(ask, reply, joined, last=True))
    events = [told(ask, reply, [part], last=False) for part in parts[:-1]]
    events.append(told(ask, reply, parts[-1:], last=True))
    if "alt=sse" in ask.call.query:
        return sse_answer((None, event) for event in events)
    return json_answer(events)


def parts_of(ask: Ask, reply: Reply) -> list[Json]:
    """Parts of the reply, piece by piece."""
    thoughts: list[Json] = []
    if reply.thought and thinking_of(ask.call.body)["includeThoughts"]:
        thoughts = [{"text": reply.thought, "thought": True}]
    if reply.call:
        called = {"name": reply.call.name, "args": reply.call.arguments}
        return [*thoughts, {"functionCall": {"id": f"call{reply.n}", **called}}]
    return [*thoughts, *({"text": piece} for piece in reply.pieces)]


def told(ask: Ask, reply: Reply, parts: list[Json], *, last: bool) -> Json:
    """One event, or all; each tells what was used so far."""
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": reply.tokens_in, "totalTokenCount": reply.tokens_in}
    if last:
        usage["candidatesTokenCount"] = reply.tokens_out - reply.reasoning
        usage["totalTokenCount"] += reply.tokens_out
        if reply.reasoning:
            usage["thoughtsTokenCount"] = reply.reasoning
    named = {"modelVersion": ask.model, "responseId": f"offline{reply.n}"}
    return {"candidates": [candidate], "usageMetadata": usage, **named}


def ask_count(call: Call) -> Ask:
    """Read an `Ask` from a request to count tokens."""
    contents = need_some(given(call.body, "generateContentRequest") or call.body, "contents")
    return Ask(call=call, model="", prompt="", text=text_in(contents))


def count(_ask: Ask, reply: Reply) -> Answer:
    """Answer with the number of tokens in the content."""
    return json_answer({"totalTokens": reply.tokens_in})
