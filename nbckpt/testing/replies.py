"""Requests and replies, independent of the format. Pure except for the prompt cache.

A format makes an `Ask` of a request's body and an answer of a `Reply`; between the two stands
the provider, which gives out serial numbers and asks the user's own function.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nbckpt.testing.schemas import value_for
from nbckpt.testing.wire import Json

CHARS_PER_TOKEN = 4
"""The providers' own rule of thumb for English text."""

MOST_PIECES = 1000
FILLING = " and so on"

WORDS = (
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty",
    "knoll", "lagoon", "meadow", "nook", "orchard", "prairie", "quarry", "ridge", "summit",
)  # fmt: skip


class BadRequestError(Exception):
    """The request is not what this API takes; the client is told so in the provider's words."""

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status


class ToolCall(NamedTuple):
    """A call of the user's tool, as an answer.

    Attributes
    ----------
    name
        A tool that the request offers.
    arguments
        What it is called with.
    """

    name: str
    arguments: Mapping[str, Any]


NOTHING: Json = {"type": "object", "properties": {}}
"""The schema of a tool that takes no arguments."""


class Tool(NamedTuple):
    """A tool that the request offers."""

    name: str
    schema: Json


class Call(NamedTuple):
    """A request, as its format reads it.

    Attributes
    ----------
    provider
        Whose words are spoken where several share a format.
    """

    provider: str
    path: str
    query: str
    body: Json


@dataclass(frozen=True, slots=True)
class Ask:
    """Content of a request, independent of the format.

    Attributes
    ----------
    call
        The request itself.
    prompt
        The user's last text.
    text
        All that goes in, for counting tokens and finding markers.
    tools
        Those that may be called now; none after a tool's result.
    schema
        The answer has to be JSON of this shape; empty: of any; None: it is text.
    thinks
        The answer comes with reasoning.
    cacheable
        Beginning of the prompt that the provider would cache; "" = none.
    """

    call: Call
    model: str
    prompt: str
    text: str
    streamed: bool = False
    tools: tuple[Tool, ...] = ()
    schema: Json | None = None
    thinks: bool = False
    cacheable: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Content of an answer, independent of the format.

    Attributes
    ----------
    n
        The answer's serial number.
    call
        The call of a tool, which takes the place of `text`.
    tokens_in
        All that went in, also the cached ones.
    tokens_out
        All that came out, also the reasoning.
    cached, written
        Of `tokens_in`: read from the provider's cache, and put there.
    reasoning
        Of `tokens_out`.
    """

    n: int
    text: str
    call: ToolCall | None
    thought: str
    tokens_in: int
    tokens_out: int
    cached: int
    written: int
    reasoning: int

    @property
    def pieces(self) -> list[str]:
        """The text word by word, as it is streamed; long ones in pieces of some words."""
        words = re.findall(r"\s*\S+|\s+$", self.text) or [self.text]
        step = 1 + len(words) // MOST_PIECES
        return ["".join(words[at : at + step]) for at in range(0, len(words), step)]

    @property
    def arguments(self) -> str:
        """Arguments of the tool's call, as JSON; empty without a call."""
        return json.dumps(self.call.arguments) if self.call else ""


@dataclass(slots=True)
class Cache:
    """Beginnings of prompts that were seen: the provider's prompt cache."""

    seen: set[bytes] = field(default_factory=set)

    def asked(self, beginning: str) -> bool:
        """True if `beginning` was kept before; it is kept now."""
        digest = hashlib.blake2b(beginning.encode()).digest()
        known = digest in self.seen
        self.seen.add(digest)
        return known


def tokens_of(text: str) -> int:
    """About how many tokens `text` is."""
    return max(1, len(text) // CHARS_PER_TOKEN)


def reply_to(ask: Ask, n: int, said: str | ToolCall | None, cache: Cache) -> Reply:
    """The `n`-th answer.

    Parameters
    ----------
    said
        What the user's function answers; None where there is none.
    """
    call = said if isinstance(said, ToolCall) else None
    if said is None and ask.tools:
        first = ask.tools[0]
        call = ToolCall(first.name, value_for(first.schema, f"{first.name} {n}", n))
    text = "" if call else said if isinstance(said, str) else default_text(ask, n)
    thought = f"Thinking about answer {n}." if ask.thinks else ""
    spoken = json.dumps(call.arguments) if call else text
    reasoning = 8 * len(thought.split())
    kept = tokens_of(ask.cacheable) if ask.cacheable else 0
    known = bool(kept) and cache.asked(ask.cacheable)
    return Reply(
        n=n,
        text=text,
        call=call,
        thought=thought,
        tokens_in=tokens_of(ask.text),
        tokens_out=max(1, len(spoken.split())) + reasoning,
        cached=kept if known else 0,
        written=0 if known else kept,
        reasoning=reasoning,
    )


def lengthened(reply: Reply, size: int) -> Reply:
    """`reply` with a text of at least `size` characters; JSON stays JSON."""
    missing = max(0, size - len(reply.text))
    filling = " " if reply.text.startswith("{") else FILLING
    return replace(reply, text=reply.text + filling * -(-missing // len(filling)))


def default_text(ask: Ask, n: int) -> str:
    """The `n`-th answer to a prompt: the same words for the same prompt, and the number."""
    if ask.schema is not None:
        schema = ask.schema or {"type": "object", "properties": {"answer": {"type": "string"}}}
        return json.dumps(value_for(schema, f"answer {n}", n))
    digest = hashlib.blake2b(ask.prompt.encode(), digest_size=8).digest()
    words = " ".join(WORDS[byte % len(WORDS)] for byte in digest)
    return f"Answer {n}: {words}."
