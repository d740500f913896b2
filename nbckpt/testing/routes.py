"""Formats by path. A base address may have any folders before the path."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from nbckpt.testing.formats import (
    anthropic,
    gemini,
    ollama,
    openai_chat,
    openai_media,
    openai_responses,
    vectors,
)
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


MODELS = r"(?:models|tunedModels|endpoints)/[^/]+"

ROUTES = (
    _route("openai", "chat/completions", openai_chat.ask, openai_chat.answer),
    _route("openai", "responses", openai_responses.ask, openai_responses.answer),
    _route("openai", "embeddings", vectors.ask, vectors.openai),
    _route("openai", "images/generations", openai_media.ask_image, openai_media.image),
    _route("openai", "images/edits", openai_media.ask_image, openai_media.image),
    _route("openai", "audio/speech", openai_media.ask_speech, openai_media.speech),
    _route("openai", "audio/transcriptions", openai_media.ask_transcript, openai_media.transcript),
    _route("openai", "audio/translations", openai_media.ask_transcript, openai_media.transcript),
    _route("anthropic", "messages", anthropic.ask, anthropic.answer),
    _route("anthropic", "messages/count_tokens", anthropic.ask, anthropic.count),
    _route("gemini", f"{MODELS}:(?:g|streamG)enerateContent", gemini.ask, gemini.answer),
    _route("gemini", f"{MODELS}:countTokens", gemini.ask_count, gemini.count),
    _route("gemini", f"{MODELS}:(?:e|batchE)mbedContents?", vectors.gemini_ask, vectors.gemini),
    _route("ollama", "api/chat", ollama.ask_chat, ollama.chat),
    _route("ollama", "api/generate", ollama.ask_generate, ollama.generate),
    _route("ollama", "api/embed", vectors.ask, vectors.ollama),
    _route("ollama", "api/embeddings", vectors.ask, vectors.ollama_one),
)


def route_of(path: str) -> Route | None:
    """The endpoint at `path`; the later of two, since Ollama's end as OpenAI's do."""
    return next((route for route in reversed(ROUTES) if route.path.search(path)), None)


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
