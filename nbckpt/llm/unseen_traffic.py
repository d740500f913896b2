"""Requests that are worth a look, and traffic to models that no seam sees."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from nbckpt.config.record_hosts import host_named
from nbckpt.llm import current, providers, scope
from nbckpt.llm.provider_hosts import owner_of, watched

passed: Counter[str] = Counter()
"""Host of a provider → requests that went through a seam and were no model calls."""

_seen: set[str] = set()
"""Places to which a request has gone through a seam."""

_MOST = 10_000
_ADDRESSES = re.compile(
    r"(?:OPENAI|ANTHROPIC|AZURE|GEMINI|GOOGLE_GEMINI|MISTRAL|OLLAMA|COHERE|GROQ|XAI)\w*"
    r"_(?:BASE_URL|BASE|ENDPOINT|HOST|URL)"
)
"""Names of the environment under which SDKs look for another address."""
_SDKS = frozenset(
    {
        *("anthropic", "boto3", "cohere", "google.genai", "groq", "langchain_core", "litellm"),
        *("llama_index", "mistralai", "ollama", "openai"),
    }
)
"""Libraries with which a notebook asks models."""
_FREE = re.compile(r"[/:](?:cancel|client_secrets|oauth2?|revoke|sessions|sts|tokens?)(?:/|$)")
"""In paths of what costs nothing, and is of no use a second time."""


def is_worth(
    method: str, url: str, headers: Callable[[], Iterable[tuple[Any, Any]]] = tuple
) -> bool:
    """True if a request may be one to record: quick, for each request of any kind.

    Parameters
    ----------
    headers
        Gives those of the request.
    """
    if len(_seen) < _MOST:
        _seen.add(_place_of(url))
    if providers.may_be_call(method, url) and providers.is_call(method, url, headers()):
        return True
    if host_named(current.setting("record_hosts"), method, url) is not None:
        return True
    if watched(url):
        parts = urlsplit(url)
        passed[parts.hostname or ""] += 1
        if method == "POST" and not _FREE.search(parts.path):
            _tell_unknown(parts.hostname or "", parts.path)
    return False


def _tell_unknown(host: str, path: str) -> None:
    """Tell, once, that what is asked of a provider is in no table."""
    if owner_of(host) is not None:  # most of what it is asked is recorded: what is not has a path
        host += "".join(f"/{part}" for part in path.partition(":")[0].split("/")[1:3])
    notify(
        host,
        f"asks things of {host} that are NOT recorded, and paid in each run if they cost anything:"
        f" `%nbckpt config record_hosts {host}` has them recorded",
    )


def connected(host: object, port: object, way: str = "") -> None:
    """Take note of a connection; of one to a model's host that no seam has seen is told, once.

    Parameters
    ----------
    way
        By which nothing is ever seen, wherever it is made.
    """
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if not isinstance(name, str) or len(_seen) >= _MOST:
        return
    place = _joined(name, port)
    if (place in _seen and not way) or not _is_models(name, place):
        return
    told = f"calls {name} by {way or 'a way'} that nbckpt does not see: if it asks a model there, "
    told += "that is NOT recorded and paid in each run; ask in a function with `@nbckpt.step`"
    notify(place, told, is_anywhere=bool(way))


def process_started(way: str) -> None:
    """Tell, once, that a step works in another process, which may ask models there unseen.

    Parameters
    ----------
    way
        By which it starts, as `multiprocessing` and loky call it, or the program.
    """
    if sys.modules.keys().isdisjoint(_SDKS):
        return
    notify(
        f"processes ({way})",
        f"works in processes of its own ({way}): what they ask of models is NOT recorded, and"
        " paid in each run; use threads, `nbckpt.map`, or a Python in whose environment nbckpt is"
        " installed",
    )


def notify(place: str, what: str, *, is_anywhere: bool = False) -> None:
    """Say, once for each place, that the step that runs does something that no seam sees.

    Parameters
    ----------
    is_anywhere
        Whether that is to be said outside of steps, too.
    """
    if (parent := current.parent()) is not None:
        parent.notify_unseen(place, what, is_anywhere=is_anywhere)
        return
    here, recorder = scope.here(), current.recorder()
    if recorder is None or (here.mode or recorder.mode) == "off":
        return
    if here.scope is not None:
        recorder.outcomes.notify_missed(place, f"step {here.scope.step!r} {what}")
    elif is_anywhere:
        recorder.outcomes.notify_missed(place, f"this notebook {what}")


def _is_models(name: str, place: str) -> bool:
    if watched(name):
        return True
    own = (value for key, value in os.environ.items() if _ADDRESSES.fullmatch(key))
    if place in {_place_of(value if "://" in value else f"http://{value}") for value in own}:
        return True
    text = current.setting("record_hosts")
    return host_named(text, "POST", f"https://{name}/") is not None


def _place_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        return _joined(parts.hostname or "", parts.port)
    except ValueError:  # a port that is none: the library will say so
        return ""


def _joined(name: str, port: object) -> str:
    usual = (None, 80, 443, "80", "443", "http", "https", "")
    return name.lower() if port in usual else f"{name.lower()}:{port}"
