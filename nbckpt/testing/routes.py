"""Which path speaks which format. A base address may have any folders before the path."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from nbckpt.testing.formats import anthropic, openai_chat
from nbckpt.testing.replies import Ask, Call, Reply
from nbckpt.testing.wire import Answer, Request


class Route(NamedTuple):
    """One endpoint of one provider.

    Attributes
    ----------
    ask
        What a request asks for; raises `BadRequestError`.
    answer
        The answer to it in this format.
    """

    provider: str
    path: re.Pattern[str]
    ask: Callable[[Call], Ask]
    answer: Callable[[Ask, Reply], Answer]


def _route(
    provider: str,
    path: str,
    ask: Callable[[Call], Ask],
    answer: Callable[[Ask, Reply], Answer],
) -> Route:
    return Route(provider, re.compile(f"(?:^|/){path}$"), ask, answer)


ROUTES = (
    _route("openai", "chat/completions", openai_chat.ask, openai_chat.answer),
    _route("anthropic", "messages", anthropic.ask, anthropic.answer),
    _route("anthropic", "messages/count_tokens", anthropic.ask, anthropic.count),
)


def route_of(path: str) -> Route | None:
    """The endpoint at `path`."""
    return next((route for route in ROUTES if route.path.search(path)), None)


def provider_of(request: Request, route: Route | None) -> str:
    """Whose words the answer is in, also where there is no such endpoint."""
    provider = route.provider if route else _by_place(request.path)
    mistral = "mistral" in request.headers.get("user-agent", "") or "/mistral/" in request.path
    return "mistral" if provider == "openai" and mistral else provider


def _by_place(path: str) -> str:
    if "/messages" in path:
        return "anthropic"
    if "/models/" in path and ":" in path:
        return "gemini"
    return "ollama" if "/api/" in path else "openai"
