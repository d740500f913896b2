"""Texts that must never be written: keys, and secrets in the environment. Pure."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable
from itertools import compress
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.request_keys import KEYS_IN_URLS
from nbckpt.text.secret_texts import is_private, secrets_of_environment
from nbckpt.timeline.recordings import Headers

_SECRET_HEADER = re.compile(r"auth|cookie|key|token|secret|signature", re.IGNORECASE)
_SHORTEST = 8
"""Characters of the shortest secret: `TOKENIZERS_PARALLELISM=false` is not one."""

_OF_THE_CONNECTION = frozenset(
    ["alt-svc", "connection", "keep-alive", "nel", "report-to", "set-cookie", "date", "server"]
)


def secrets_of(asked: HttpRequest, more: Iterable[str] = ()) -> list[bytes]:
    """The texts that must not be written: of the environment, and what the request goes with.

    Parameters
    ----------
    more
        Others, which count as these do.
    """
    found = {*more, *secrets_of_environment()}
    found |= {value for name, value in os.environ.items() if is_private(name, value)}
    for name, value in asked.headers:
        if _SECRET_HEADER.search(name):
            found.add(value)
            found.add(value.partition(" ")[2])  # `Bearer …`
    query = parse_qsl(urlsplit(asked.url).query)
    found |= {value for name, value in query if name.lower() in KEYS_IN_URLS}
    texts = {text for text in found if len(text) >= _SHORTEST}
    # As they are, and as they stand in JSON; longer ones first, for one may be part of another.
    forms = {form for text in texts for form in (text, json.dumps(text)[1:-1])}
    return sorted((form.encode("utf-8", "replace") for form in forms), key=len, reverse=True)


def redacted(data: bytes, secrets: Iterable[bytes]) -> bytes:
    """`data` with stars where a secret was, as many as it had bytes."""
    for secret in secrets:
        if secret in data:
            data = data.replace(secret, b"*" * len(secret))
    return data


def redacted_text(text: str, secrets: Iterable[bytes]) -> str:
    """`text` with stars where a secret was."""
    return redacted(text.encode("utf-8", "replace"), secrets).decode("utf-8", "replace")


def without_keys(url: str, secrets: Iterable[bytes], fields: Collection[str] = frozenset()) -> str:
    """A URL without the keys and `fields` in it, and without user and password."""
    parts = urlsplit(url)
    pairs = [pair for pair in parts.query.split("&") if pair]
    names = [pair.partition("=")[0] for pair in pairs]
    kept = [n.lower() not in KEYS_IN_URLS and n not in fields for n in names]
    query = "&".join(compress(pairs, kept))
    host = parts.netloc.rpartition("@")[2]
    return redacted_text(urlunsplit((parts.scheme, host, parts.path, query, "")), secrets)


def harmless(headers: Headers, secrets: Iterable[bytes]) -> list[tuple[str, str]]:
    """The headers of an answer that may be kept: no cookies, no keys, nothing of the connection."""
    return [
        (name, redacted_text(value, secrets))
        for name, value in headers
        if name.lower() not in _OF_THE_CONNECTION and not _is_secret(name.lower())
    ]


def _is_secret(name: str) -> bool:
    # Of `x-ratelimit-remaining-tokens` the name says token, and the value is a figure.
    return not name.startswith(("x-ratelimit-", "anthropic-ratelimit-")) and bool(
        _SECRET_HEADER.search(name)
    )
