"""Requests that are model calls: the endpoint of each, its provider and its model. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from nbckpt.llm.endpoint_kinds import KINDS, RAW, Kind
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.provider_hosts import owner_of, sdk_of


class Endpoint(NamedTuple):
    """The endpoint of one request."""

    provider: str
    kind: Kind
    host: str
    path: str


_QUICK = {
    "POST": re.compile(
        r"completions?|/complete\b|/responses|/messages|[eE]mbed|api/(?:chat|generate)|/images/|/audio/"
        r"|moderations|/ocr|enerateContent|countTokens|[pP]redict|rerank|/v[12]/(?:chat|generate)"
        r"|/classify|/interactions|/batch|/model-invocation|/model/|/models/|/cachedContents"
        r"|/conversations|/vector_stores|/videos|/files|/uploads|cancel|/agents|/containers"
        r"|/fileSearchStores|/libraries"
    ),
    "GET": re.compile(
        r"/(?:async/chat|batches|batchPredictionJobs|deferred-completion|file_batches|files|interactions|jobs|operations"
        r"|model-invocation-job|predictions|responses|videos)/"
    ),
    "PATCH": re.compile(r"/agents/"),
    "DELETE": re.compile(
        r"/(?:agents|batches|jobs|cachedContents|containers|conversations|fileSearchStores|files"
        r"|interactions|libraries|responses|vector_stores)/"
    ),
}


def may_be_call(method: str, url: str) -> bool:
    """True if a request is worth a closer look: quick, for each request of any kind."""
    quick = _QUICK.get(method)
    return quick is not None and quick.search(url) is not None


def is_call(method: str, url: str, headers: Iterable[tuple[Any, Any]]) -> bool:
    """True if a request goes where model calls go, whatever its body asks."""
    if not may_be_call(method, url):
        return False
    host, _, kinds = _place_of(method, url)
    return bool(kinds) and any(map(_teller(host, headers), kinds))


def raw_endpoint(url: str, provider: str) -> Endpoint:
    """Endpoint on a host that the user names, for a path that no table has."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return Endpoint(provider or owner_of(host) or host, RAW, host, parts.path.rstrip("/"))


def endpoint_of(asked: HttpRequest, body: Mapping[str, Any] | None) -> Endpoint | None:
    """The endpoint that a request goes to; None if it is not a model call.

    Parameters
    ----------
    body
        None if it is no JSON object.
    """
    if not may_be_call(asked.method, asked.url):
        return None
    host, path, kinds = _place_of(asked.method, asked.url)
    tells = _teller(host, asked.headers)
    for kind in kinds:
        if tells(kind) and _takes(kind, body):
            return Endpoint(_provider(host, kind, asked.headers), kind, host, path)
    return None


def _teller(host: str, headers: Iterable[tuple[Any, Any]]) -> Callable[[Kind], bool]:
    """True for kinds of which a host or an SDK tells, where the path alone does not."""
    owner = owner_of(host)

    def tells(kind: Kind) -> bool:
        if not (kind.is_common or kind.is_own):
            return True
        who = sdk_of(headers) if owner is None else owner
        if owner is None and who in _WITH_OWN_PATHS:
            return who == kind.provider
        return who is not None and (not kind.is_own or who in ("", kind.provider))

    return tells


def _provider(host: str, kind: Kind, headers: Iterable[tuple[Any, Any]]) -> str:
    sdk = sdk_of(headers) if kind.is_common else None
    return owner_of(host) or sdk or kind.provider


class _Place(NamedTuple):
    """Host and path of a request, and the kinds of endpoints that have such a path."""

    host: str
    path: str
    kinds: tuple[Kind, ...]


@lru_cache(256)
def _place_of(method: str, url: str) -> _Place:
    parts = urlsplit(url)  # Mistral's SDK puts `#stream` behind the path
    path = parts.path.rstrip("/")
    found = (kind for kind in KINDS if kind.method == method and kind.path.search(path))
    return _Place(parts.hostname or "", path, tuple(found))


def _takes(kind: Kind, body: Mapping[str, Any] | None) -> bool:
    """True if a body is what an endpoint takes."""
    if body is None:
        return not kind.needs
    return all(any(name in body for name in names) for names in kind.needs)


def model_of(endpoint: Endpoint, body: Mapping[str, Any] | None) -> str:
    """The model that is asked: in the body, or in the path."""
    for name in ("model", "modelId"):
        if body is not None and isinstance(model := body.get(name), str):
            return model
    if endpoint.kind.is_own and (found := _OF_TWO_PARTS.search(endpoint.path)):
        return found[1]
    if found := _IN_PATH.search(endpoint.path):
        return unquote(found[1])
    return ""


_WITH_OWN_PATHS = ("huggingface", "replicate")
"""Providers whose SDKs ask for more than models, and for these at paths of their own."""
_IN_PATH = re.compile(r"/(?:models?|deployments)/([^/:]+)")
_OF_TWO_PARTS = re.compile(r"/(?:models|deployments)/([^/]+(?:/(?!pipeline/)[^/]+)?)")
"""Of Hugging Face and Replicate: whose it is, and its name."""
