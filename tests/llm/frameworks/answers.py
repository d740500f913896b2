"""What the model says to the frameworks: tools called in turns, and their formats of answers."""

from __future__ import annotations

import itertools
import json
import re
import time
from typing import Any

from nbckpt.testing import ToolCall
from tests.llm.frameworks.ways import CITIES

RESULTS = (
    '"role": "tool"', '"function_call_output"', '"type": "tool_result"', '"functionResponse"',
    '"function_response"', "Observation:",
)  # fmt: skip
"""Texts of which one stands in each result of a tool."""
SLOW = "You are slow."
SLOW_S = 0.5
"""What is asked with this in it ends after what was asked with it."""
_numbers = itertools.count(1)


def says(body: dict[str, Any]) -> str | ToolCall | None:
    """The model's reply; None for the usual one."""
    text = json.dumps(body)
    if SLOW in text:
        time.sleep(SLOW_S)
    if "[[ ## completed ## ]]" in text:
        return dspy_fields(body)
    cities = CITIES.split(", ")
    called = sum(map(conversation_of(body).count, RESULTS))
    if "final_answer" in text and "<code>" in text:
        return python_code(called)
    if CITIES in text and "weather" in tools_of(body):
        if called < len(cities):
            return ToolCall("weather", {"city": cities[called]})
        if "final_answer" in tools_of(body):
            return ToolCall("final_answer", {"answer": f"Sunny, after {called} calls."})
    return None


def conversation_of(body: dict[str, Any]) -> str:
    """The messages but those of the system, in which examples may stand."""
    said = body.get("messages") or body.get("contents") or body.get("input") or ""
    users = [one for one in said if isinstance(one, dict) and one.get("role") != "system"]
    return json.dumps(users)


def tools_of(body: dict[str, Any]) -> set[str]:
    """Names of the tools that a request offers."""
    tools = [inner for tool in body.get("tools") or () for inner in declared(tool)]
    return {str(tool.get("name")) for tool in tools}


def declared(tool: dict[str, Any]) -> list[dict[str, Any]]:
    """What stands in one tool of a request, whoever's format it is."""
    listed = tool.get("functionDeclarations") or tool.get("function_declarations")
    return listed or [tool.get("function") or tool]


def dspy_fields(body: dict[str, Any]) -> str:
    """The fields of a signature, as dspy's adapter for chats reads them."""
    last = str(body["messages"][-1]["content"])
    wanted = re.findall(r"\[\[ ## (\w+) ## \]\]", last.partition("Respond with")[2])
    done = len(re.findall(r"observation_\d+", last))
    cities = CITIES.split(", ")
    is_end = done >= len(cities)
    word = f"word {next(_numbers)}"
    values = {
        "next_tool_name": "finish" if is_end else "weather",
        "next_tool_args": "{}" if is_end else json.dumps({"city": cities[done]}),
        "score": "7",
        "completed": "",
    }
    return "\n\n".join(f"[[ ## {name} ## ]]\n{values.get(name, word)}" for name in wanted)


def python_code(called: int) -> str:
    """The code with which an agent of smolagents answers: a tool's call, then the end."""
    if not called:
        return f"Thought {next(_numbers)}.\n<code>\nprint(weather(city='Oslo'))\n</code>"
    return f"Thought.\n<code>\nfinal_answer('sunny {next(_numbers)}')\n</code>"
