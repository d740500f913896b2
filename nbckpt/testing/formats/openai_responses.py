"""OpenAI's responses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from nbckpt.testing.bodies import last_of, need, text_in
from nbckpt.testing.formats.openai_chat import CACHED_CHARS, EPOCH, SLICE
from nbckpt.testing.replies import NOTHING, Ask, BadRequestError, Call, Reply, Tool
from nbckpt.testing.wire import Answer, Json, json_answer, sse_answer


def ask(call: Call) -> Ask:
    """Read an `Ask` from the request."""
    body = call.body
    model, items = need(body, "model", str), items_of(body)
    text = text_in(body.get("instructions", ""), body.get("tools", []), items)
    shape = (body.get("text") or {}).get("format") or {}
    effort = (body.get("reasoning") or {}).get("effort")
    return Ask(
        call=call,
        model=model,
        prompt=last_of(items),
        text=text,
        streamed=bool(body.get("stream")),
        tools=tools_of(body, answered=items[-1].get("type") == "function_call_output"),
        schema=shape.get("schema", {}) if "json" in shape.get("type", "") else None,
        thinks=effort not in (None, "none"),
        cacheable=text[:CACHED_CHARS] if len(text) >= CACHED_CHARS else "",
    )


def items_of(body: Json) -> list[Json]:
    """The input as items, which may be one text."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        message = "Missing required parameter: 'input'."
        raise BadRequestError(message, "input")
    return given


def tools_of(body: Json, *, answered: bool) -> tuple[Tool, ...]:
    """The functions that may be called; the one that must be called alone."""
    choice = body.get("tool_choice")
    if answered or choice == "none":
        return ()
    named = choice.get("name") if isinstance(choice, dict) else None
    return tuple(
        Tool(tool["name"], tool.get("parameters") or NOTHING)
        for tool in body.get("tools") or ()
        if tool.get("type") == "function" and named in (None, tool["name"])
    )


def answer(ask: Ask, reply: Reply) -> Answer:
    """The response, or its events."""
    whole = response(ask, reply)
    if not ask.streamed:
        return json_answer(whole)
    numbers = itertools.count()
    return sse_answer(
        (name, {"type": name, "sequence_number": next(numbers), **rest})
        for name, rest in events(whole, reply)
    )


def response(ask: Ask, reply: Reply) -> Json:
    """The response, whole."""
    body = ask.call.body
    return {
        "id": f"resp_{reply.n:06d}",
        "object": "response",
        "created_at": EPOCH + reply.n,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": ask.model,
        "output": output(reply),
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": usage(reply),
        "user": None,
    }


def output(reply: Reply) -> list[Json]:
    """Output items of a reply: reasoning, and a message or a call."""
    items: list[Json] = []
    if reply.thought:
        summary = [{"type": "summary_text", "text": reply.thought}]
        items.append({"id": f"rs_{reply.n:06d}", "type": "reasoning", "summary": summary})
    if reply.call:
        called = {"name": reply.call.name, "arguments": reply.arguments, "status": "completed"}
        ids = {"id": f"fc_{reply.n:06d}", "call_id": f"call_{reply.n:06d}"}
        items.append({**ids, "type": "function_call", **called})
    else:
        said = {"id": f"msg_{reply.n:06d}", "type": "message", "role": "assistant"}
        items.append({**said, "status": "completed", "content": [part(reply.text)]})
    return items


def part(text: str) -> Json:
    """A part of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def usage(reply: Reply) -> Json:
    """Tokens that are paid."""
    return {
        "input_tokens": reply.tokens_in,
        "input_tokens_details": {
            "cached_tokens": reply.cached,
            "cache_write_tokens": reply.written,
        },
        "output_tokens": reply.tokens_out,
        "output_tokens_details": {"reasoning_tokens": reply.reasoning},
        "total_tokens": reply.tokens_in + reply.tokens_out,
    }


def events(whole: Json, reply: Reply) -> Iterator[tuple[str, Json]]:
    """The events of a stream by name."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for at, item in enumerate(whole["output"]):
        place = {"output_index": at}
        yield "response.output_item.added", {**place, "item": empty(item)}
        yield from grown(item, {"item_id": item["id"], **place}, reply)
        yield "response.output_item.done", {**place, "item": item}
    yield "response.completed", {"response": whole}


def empty(item: Json) -> Json:
    """An item as it begins."""
    match item["type"]:
        case "reasoning":
            return {**item, "summary": []}
        case "function_call":
            return {**item, "arguments": "", "status": "in_progress"}
    return {**item, "content": [], "status": "in_progress"}


def grown(item: Json, place: Json, reply: Reply) -> Iterator[tuple[str, Json]]:
    """Names and data of the events that add to an item."""
    match item["type"]:
        case "reasoning":
            summary, place = item["summary"][0], {**place, "summary_index": 0}
            name = "response.reasoning_summary"
            yield f"{name}_part.added", {**place, "part": {**summary, "text": ""}}
            yield f"{name}_text.delta", {**place, "delta": summary["text"]}
            yield f"{name}_text.done", {**place, "text": summary["text"]}
            yield f"{name}_part.done", {**place, "part": summary}
        case "function_call":
            name, text = "response.function_call_arguments", item["arguments"]
            for start in range(0, len(text), SLICE):
                yield f"{name}.delta", {**place, "delta": text[start : start + SLICE]}
            yield f"{name}.done", {**place, "name": item["name"], "arguments": text}
        case _:
            place = {**place, "content_index": 0}
            yield "response.content_part.added", {**place, "part": part("")}
            for piece in reply.pieces:
                yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {**place, "text": reply.text, "logprobs": []}
            yield "response.content_part.done", {**place, "part": part(reply.text)}
