"""Anthropic's messages, and how many tokens they would be."""

from __future__ import annotations

from collections.abc import Iterator

from nbckpt.testing.bodies import last_of, need, need_some, text_in
from nbckpt.testing.replies import Ask, BadRequestError, Call, Reply, Tool
from nbckpt.testing.wire import Answer, Json, json_answer, sse_answer

SLICE = 6
"""Characters of a tool's arguments in one event."""


def ask(call: Call) -> Ask:
    """Read an `Ask` from the request."""
    body = call.body
    model, messages = need(body, "model", str), need_some(body, "messages")
    if "max_tokens" not in body and not call.path.endswith("/count_tokens"):
        message = "max_tokens: Field required"
        raise BadRequestError(message, "max_tokens")
    thinking = (body.get("thinking") or {}).get("type")
    return Ask(
        call=call,
        model=model,
        prompt=last_of(messages),
        text=text_in(body.get("tools", []), body.get("system", ""), messages),
        streamed=bool(body.get("stream")),
        tools=tools_of(body, messages),
        schema=schema_of(body),
        thinks=thinking in ("enabled", "adaptive"),
        cacheable=marked(
            [*(body.get("tools") or ()), *blocks(body.get("system")), *blocks_of(messages)]
        ),
    )


def schema_of(body: Json) -> Json | None:
    """The shape that the answer must have."""
    shape = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return shape.get("schema") if shape.get("type") == "json_schema" else None


def tools_of(body: Json, messages: list[Json]) -> tuple[Tool, ...]:
    """The tools that may be called; the one that must be called alone."""
    choice = body.get("tool_choice") or {}
    answered = any(
        block.get("type") == "tool_result" for block in blocks(messages[-1].get("content"))
    )
    if answered or choice.get("type") == "none":
        return ()
    own = [tool for tool in body.get("tools") or () if "input_schema" in tool]
    return tuple(
        Tool(tool["name"], tool["input_schema"])
        for tool in own
        if choice.get("name") in (None, tool["name"])
    )


def blocks(content: object) -> list[Json]:
    """The blocks of a content, which may be a text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def blocks_of(messages: list[Json]) -> list[Json]:
    """The blocks of all messages."""
    return [block for message in messages for block in blocks(message.get("content"))]


def marked(content: list[Json]) -> str:
    """All that stands before the last mark to cache."""
    marks = [at for at, block in enumerate(content) if block.get("cache_control")]
    return text_in(content[: marks[-1] + 1]) if marks else ""


def answer(ask: Ask, reply: Reply) -> Answer:
    """The message, or its events."""
    if ask.streamed:
        return sse_answer((str(event["type"]), event) for event in events(ask, reply))
    return json_answer({**message(ask, reply), "content": content(reply), "usage": usage(reply)})


def count(_ask: Ask, reply: Reply) -> Answer:
    """Answer with the number of tokens in the messages."""
    return json_answer({"input_tokens": reply.tokens_in})


def message(ask: Ask, reply: Reply) -> Json:
    """The message without what it says."""
    return {
        "id": f"msg_{reply.n:06d}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "stop_reason": stop(reply),
        "stop_sequence": None,
    }


def stop(reply: Reply) -> str:
    """Why the answer ends."""
    return "tool_use" if reply.call else "end_turn"


def usage(reply: Reply) -> Json:
    """Tokens that are paid; cached ones are not part of the input."""
    return {
        "input_tokens": max(1, reply.tokens_in - reply.cached - reply.written),
        "cache_creation_input_tokens": reply.written,
        "cache_read_input_tokens": reply.cached,
        "output_tokens": reply.tokens_out,
        "service_tier": "standard",
    }


def content(reply: Reply) -> list[Json]:
    """Content blocks of the whole reply."""
    said: list[Json] = []
    if reply.thought:
        said.append({"type": "thinking", "thinking": reply.thought, "signature": f"sig{reply.n}"})
    if reply.call:
        name, arguments = reply.call
        said.append(
            {"type": "tool_use", "id": f"toolu_{reply.n:06d}", "name": name, "input": arguments}
        )
    else:
        said.append({"type": "text", "text": reply.text})
    return said


def events(ask: Ask, reply: Reply) -> Iterator[Json]:
    """The events of a stream."""
    begun = {**message(ask, reply), "content": [], "stop_reason": None}
    yield {
        "type": "message_start",
        "message": {**begun, "usage": {**usage(reply), "output_tokens": 1}},
    }
    yield {"type": "ping"}
    for at, block in enumerate(content(reply)):
        empty, deltas = told(block, reply)
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    ended = {"stop_reason": stop(reply), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": usage(reply)}
    yield {"type": "message_stop"}


def told(block: Json, reply: Reply) -> tuple[Json, list[Json]]:
    """A block as it begins, and what its events add."""
    match block["type"]:
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use":
            text = reply.arguments
            parts = [text[start : start + SLICE] for start in range(0, len(text), SLICE)]
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": part} for part in ["", *parts]
            ]
    return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in reply.pieces]
