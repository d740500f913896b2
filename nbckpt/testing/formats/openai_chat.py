"""OpenAI's chat completions; Mistral's too, which differ in little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nbckpt.testing.bodies import last_of, need, need_some, text_in
from nbckpt.testing.replies import NOTHING, Ask, Call, Reply, Tool
from nbckpt.testing.wire import Answer, Json, json_answer, sse_answer

EPOCH = 1_760_000_000
"""When the first answer was made: fixed, so that equal tests see equal answers."""

CACHED_CHARS = 4096
"""OpenAI keeps beginnings of 1,024 tokens and more."""

SLICE = 6
"""Characters of a tool's arguments in one chunk."""


def ask(call: Call) -> Ask:
    """Read an `Ask` from the request."""
    body = call.body
    model, messages = need(body, "model", str), need_some(body, "messages")
    text = text_in(messages, body.get("tools", []))
    shape = body.get("response_format") or {}
    schema = (
        shape.get("json_schema", {}).get("schema", {}) if "json" in shape.get("type", "") else None
    )
    return Ask(
        call=call,
        model=model,
        prompt=last_of(messages),
        text=text,
        streamed=bool(body.get("stream")),
        tools=tools_of(body, answered=messages[-1].get("role") == "tool"),
        schema=schema,
        thinks=body.get("reasoning_effort") not in (None, "none")
        or body.get("prompt_mode") == "reasoning",
        cacheable=text[:CACHED_CHARS] if len(text) >= CACHED_CHARS else "",
    )


def tools_of(body: Json, *, answered: bool) -> tuple[Tool, ...]:
    """The tools that may be called; the one that must be called alone."""
    choice = body.get("tool_choice")
    if answered or choice == "none":
        return ()
    functions = [tool["function"] for tool in body.get("tools") or () if "function" in tool]
    tools = tuple(Tool(each["name"], each.get("parameters") or NOTHING) for each in functions)
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    return tuple(tool for tool in tools if named in (None, tool.name))


def answer(ask: Ask, reply: Reply) -> Answer:
    """The completion, or its chunks."""
    base = {"id": f"chatcmpl-{reply.n}", "created": EPOCH + reply.n, "model": ask.model}
    if ask.streamed:
        return sse_answer((None, event) for event in events(ask, base, reply))
    choices = [
        {
            "index": at,
            "message": message(ask, each),
            "logprobs": None,
            "finish_reason": finish(reply),
        }
        for at, each in enumerate(choices_of(ask, reply))
    ]
    return json_answer(
        {**base, "object": "chat.completion", "choices": choices, "usage": usage(reply)}
    )


def choices_of(ask: Ask, reply: Reply) -> list[Reply]:
    """As many answers as are asked for; those of no given shape differ."""
    more = range(2, 1 + int(ask.call.body.get("n") or 1))
    ends = ["" if ask.schema is not None else f" ({at})" for at in more]
    return [reply, *(replace(reply, text=reply.text + end) for end in ends)]


def message(ask: Ask, reply: Reply) -> Json:
    """The assistant's message."""
    said: Json = {"role": "assistant", "content": None if reply.call else reply.text}
    if reply.call:
        said["tool_calls"] = [tool_call(reply)]
    if ask.call.provider != "mistral":
        said |= {"refusal": None, "annotations": []}
    return said


def tool_call(reply: Reply) -> Json:
    """The tool's call, whole."""
    name = reply.call.name if reply.call else ""
    # Mistral takes ids of nine letters and digits only.
    return {
        "id": f"call{reply.n:05d}",
        "type": "function",
        "function": {"name": name, "arguments": reply.arguments},
    }


def finish(reply: Reply) -> str:
    """Why the answer ends."""
    return "tool_calls" if reply.call else "stop"


def usage(reply: Reply) -> Json:
    """Tokens that are paid."""
    return {
        "prompt_tokens": reply.tokens_in,
        "completion_tokens": reply.tokens_out,
        "total_tokens": reply.tokens_in + reply.tokens_out,
        "prompt_tokens_details": {"cached_tokens": reply.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": reply.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def events(ask: Ask, base: Json, reply: Reply) -> Iterator[Any]:
    """The chunks of a stream, and its end."""
    base = {**base, "object": "chat.completion.chunk"}
    # Mistral tells the usage in each stream, with its last choice.
    mistral = ask.call.provider == "mistral"
    told = mistral or bool((ask.call.body.get("stream_options") or {}).get("include_usage"))
    choices = choices_of(ask, reply)

    def chunk(at: int, delta: Json, end: str | None = None) -> Json:
        part = {"index": at, "delta": delta, "logprobs": None, "finish_reason": end}
        chunk = {**base, "choices": [part]}
        if mistral:
            return {**chunk, "usage": usage(reply)} if end else chunk
        return {**chunk, "usage": None} if told else chunk

    for at in range(len(choices)):
        yield chunk(at, {"role": "assistant", "content": ""})
    for at, each in enumerate(choices):
        for delta in deltas(each, whole=mistral):
            yield chunk(at, delta)
        yield chunk(at, {"content": ""} if mistral else {}, finish(reply))
    if told and not mistral:
        yield {**base, "choices": [], "usage": usage(reply)}
    yield "[DONE]"


def deltas(reply: Reply, *, whole: bool) -> Iterator[Json]:
    """Delta of each chunk; Mistral sends a tool's call whole."""
    if reply.call is None:
        for piece in reply.pieces:
            yield {"content": piece}
        return
    call = {"index": 0, **tool_call(reply)}
    if whole:
        yield {"content": "", "tool_calls": [call]}
        return
    yield {"tool_calls": [{**call, "function": {"name": reply.call.name, "arguments": ""}}]}
    for start in range(0, len(reply.arguments), SLICE):
        part = reply.arguments[start : start + SLICE]
        yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
