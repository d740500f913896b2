"""Ollama's chat and generate: streamed unless they are told not to be."""

from __future__ import annotations

from nbckpt.testing.bodies import last_of, need, need_some, text_in
from nbckpt.testing.replies import NOTHING, Ask, Call, Reply, Tool
from nbckpt.testing.wire import Answer, Json, json_answer, ndjson_answer

CREATED = "2026-01-01T00:00:00.000000Z"


def ask_chat(call: Call) -> Ask:
    """Read an `Ask` from a chat."""
    messages = need_some(call.body, "messages")
    tools = () if messages[-1].get("role") == "tool" else tools_of(call.body)
    text = text_in(messages, call.body.get("tools", []))
    return _ask(call, last_of(messages), text, tools)


def ask_generate(call: Call) -> Ask:
    """Read an `Ask` from a request with a single prompt."""
    prompt = need(call.body, "prompt", str)
    return _ask(call, prompt, text_in(call.body.get("system", ""), prompt), ())


def _ask(call: Call, prompt: str, text: str, tools: tuple[Tool, ...]) -> Ask:
    shape = call.body.get("format")
    return Ask(
        call=call,
        model=need(call.body, "model", str),
        prompt=prompt,
        text=text,
        streamed=bool(call.body.get("stream", True)),
        tools=tools,
        schema=shape if isinstance(shape, dict) else {} if shape == "json" else None,
        thinks=bool(call.body.get("think")),
    )


def tools_of(body: Json) -> tuple[Tool, ...]:
    """The tools that may be called."""
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return tuple(Tool(each["name"], each.get("parameters") or NOTHING) for each in functions)


def chat(ask: Ask, reply: Reply) -> Answer:
    """The message, or its lines."""

    def line(text: str, more: Json) -> Json:
        return {"message": {"role": "assistant", "content": text, **more}}

    thought: Json = {"thinking": reply.thought} if reply.thought else {}
    if reply.call:
        called = {"name": reply.call.name, "arguments": reply.call.arguments}
        whole = line("", {**thought, "tool_calls": [{"function": called}]})
        return _answer(ask, reply, [whole], whole)
    lines = [line("", thought)] * bool(thought) + [line(piece, {}) for piece in reply.pieces]
    return _answer(ask, reply, lines, line(reply.text, thought))


def generate(ask: Ask, reply: Reply) -> Answer:
    """The text, or its lines."""
    thought = {"thinking": reply.thought} if reply.thought else {}
    lines: list[Json] = [{"response": "", **thought}] * bool(thought)
    lines += [{"response": piece} for piece in reply.pieces]
    return _answer(ask, reply, lines, {"response": reply.text, **thought})


def _answer(ask: Ask, reply: Reply, lines: list[Json], whole: Json) -> Answer:
    base = {"model": ask.model, "created_at": CREATED}
    done = {
        "done": True,
        "done_reason": "stop",
        "total_duration": 2_000_000,
        "load_duration": 1_000,
        "prompt_eval_count": reply.tokens_in,
        "prompt_eval_duration": 1_000_000,
        "eval_count": reply.tokens_out,
        "eval_duration": 1_000_000,
    }
    if not ask.streamed:
        return json_answer({**base, **whole, **done})
    empty = (
        {"response": ""}
        if "response" in whole
        else {"message": {"role": "assistant", "content": ""}}
    )
    said = [{**base, **line, "done": False} for line in lines]
    return ndjson_answer([*said, {**base, **empty, **done}])
