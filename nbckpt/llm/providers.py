"""Table of the requests that are model calls, and of the ends of their answers. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Kind(NamedTuple):
    """An endpoint that several providers speak.

    Attributes
    ----------
    provider
        Whose it is where the host says nothing, under its OpenTelemetry name.
    path
        What the path ends with.
    needs
        Members of a JSON body without which it is something else that has such a path. Of what
        stands in one tuple, one is enough.
    ends
        What is in the last event of a stream and in no other.
    enough
        What is in a stream that has said everything, though more may come.
    is_json
        Whether an answer that is no stream is JSON.
    takes_any
        Whether whatever comes back with a good status is an answer.
    """

    name: str
    provider: str
    path: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...] = ()
    ends: re.Pattern[bytes] | None = None
    enough: re.Pattern[bytes] | None = None
    is_json: bool = True
    takes_any: bool = False


class Endpoint(NamedTuple):
    """The endpoint of one request."""

    provider: str
    kind: Kind
    host: str
    path: str


_DONE = re.compile(rb"\ndata: ?\[DONE\]")
_LAST_LINE = re.compile(rb'"done": ?true')
_MESSAGE_STOP = re.compile(rb'"type": ?"message_stop"')
_STOP_REASON = re.compile(rb'"stop_reason": ?"')
_RESPONSE_END = re.compile(rb'"type": ?"response\.(?:completed|incomplete)"')
_FINISH_REASON = re.compile(rb'"finishReason": ?"')
FAILED = re.compile(
    rb'\n(?:event: ?error\b|data: ?\{"(?:error"|type": ?"(?:error|response\.failed)")|\{"error")'
)
"""Pattern of the error in a stream that fails after it has begun."""


def _kind(name: str, provider: str, path: str, *needs: str, **more: Any) -> Kind:
    wanted = tuple(tuple(need.split("|")) for need in needs)
    return Kind(name, provider, re.compile(rf"(?:^|/){path}$"), wanted, **more)


KINDS = (
    _kind("chat", "openai", "chat/completions", "messages", ends=_DONE),
    _kind("responses", "openai", "responses", "model|prompt", "input|prompt", ends=_RESPONSE_END),
    _kind(
        "messages", "anthropic", "messages", "model", "messages",
        ends=_MESSAGE_STOP, enough=_STOP_REASON,
    ),
    _kind("count_tokens", "anthropic", "messages/count_tokens", "model", "messages"),
    _kind("embeddings", "openai", "embeddings", "model", "input"),
    _kind("embeddings", "ollama", "api/embed(?:dings)?", "model", "input|prompt"),
    _kind("chat", "ollama", "api/chat", "model", "messages", ends=_LAST_LINE),
    _kind("generate", "ollama", "api/generate", "model", ends=_LAST_LINE),
    _kind("chat", "mistral_ai", "agents/completions", "agent_id", "messages", ends=_DONE),
    _kind("completions", "openai", "(?:fim/)?completions", "model", "prompt", ends=_DONE),
    _kind("images", "openai", "images/(?:generations|edits|variations)"),
    _kind("speech", "openai", "audio/speech", "input", is_json=False),
    _kind("transcription", "openai", "audio/(?:transcriptions|translations)", is_json=False),
    _kind("moderations", "openai", "moderations", "input"),
    _kind("ocr", "mistral_ai", "ocr", "model", "document"),
    _kind("generate", "gcp.gemini", r"[^/]+:(?:streamG|g)enerateContent", enough=_FINISH_REASON),
    _kind("embeddings", "gcp.gemini", r"[^/]+:(?:batchE|e)mbedContents?"),
    _kind("count_tokens", "gcp.gemini", r"[^/]+:countTokens"),
    _kind("images", "gcp.gemini", r"imagen[^/]*:predict"),
)  # fmt: skip

HOSTS = (
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("openrouter.ai", "openrouter"),
    ("api.together.xyz", "together"),
    ("api.fireworks.ai", "fireworks"),
)
"""Ending of a host's name, and the provider that it belongs to."""

RAW = Kind("raw", "", re.compile(""), ends=_DONE, is_json=False, takes_any=True)
"""Whatever is asked of a host that the user names."""

_UNKNOWN = (
    "api.ai21.com", "api.cerebras.ai", "api.cohere.ai", "api.cohere.com", "api.replicate.com",
    "api.sambanova.ai", "api.voyageai.com", "router.huggingface.co",
)  # fmt: skip
"""Hosts of models whose paths are in no table."""

_NAMES = "|".join(re.escape(name) for name in (*(ending for ending, _ in HOSTS), *_UNKNOWN))
_WATCHED = re.compile(
    rf"(?:^|[/.@-])(?:{_NAMES}|bedrock-runtime[a-z0-9.-]*\.amazonaws\.com)(?=[:/?#]|$)"
)

_QUICK = re.compile(
    r"completions|/responses|/messages|[eE]mbed|api/(?:chat|generate)|/images/|/audio/|moderations|/ocr"
    r"|enerateContent|countTokens|:predict"
)


def may_be_call(method: str, url: str) -> bool:
    """True if a request is worth a closer look: quick, for each request of any kind."""
    return method == "POST" and _QUICK.search(url) is not None


def watched(place: str) -> bool:
    """True if a URL, or the name of a host, is one of a provider of models."""
    return _WATCHED.search(place) is not None


def is_known(host: str) -> bool:
    """True if a table tells which requests to a host are model calls."""
    return _owner_of(host) is not None


def raw_endpoint(url: str, provider: str) -> Endpoint:
    """Endpoint on a host that the user names, for a path that no table has."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return Endpoint(provider or _owner_of(host) or host, RAW, host, parts.path.rstrip("/"))


def endpoint_of(method: str, url: str) -> Endpoint | None:
    """The endpoint that a request goes to; None if that is none of a model's."""
    if not may_be_call(method, url):
        return None
    parts = urlsplit(url)  # Mistral's SDK puts `#stream` behind the path
    path = parts.path.rstrip("/")
    for kind in KINDS:
        if kind.path.search(path):
            host = parts.hostname or ""
            return Endpoint(_provider(host, kind), kind, host, path)
    return None


def is_asked_as(endpoint: Endpoint, body: Mapping[str, Any] | None) -> bool:
    """True if a body is what the endpoint takes; `body` is None if it is no JSON object."""
    if body is None:
        return not endpoint.kind.needs
    return all(any(name in body for name in names) for names in endpoint.kind.needs)


def model_of(endpoint: Endpoint, body: Mapping[str, Any] | None) -> str:
    """The model that is asked: in the body, or in the path."""
    if body is not None and isinstance(model := body.get("model"), str):
        return model
    if found := re.search(r"/(?:models|deployments)/([^/:]+)", endpoint.path):
        return found[1]
    return ""


def _provider(host: str, kind: Kind) -> str:
    return _owner_of(host) or kind.provider


def _owner_of(host: str) -> str | None:
    for ending, provider in HOSTS:
        if host == ending or host.endswith((f".{ending}", f"-{ending}")):
            return provider
    return None
