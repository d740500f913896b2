"""Hosts whose calls the user wants recorded, and fields that are not to be written. Pure."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

_METHODS = ("POST", "GET")
_HOST = r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]"
_FIELD = r"[^\s\"'\\,\[\]{}]+"


class Host(NamedTuple):
    """A host as users name it.

    Attributes
    ----------
    name
        In lower case; with ``*.`` before it, each host under it, and itself.
    port
        None: any.
    path
        What a path begins with.
    provider
        Whose models answer there; empty if nothing was said.
    """

    name: str
    port: int | None
    path: str
    provider: str

    def has(self, url: str) -> bool:
        """True if a request to `url` goes there."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        is_there = host == self.name.strip("[]")
        if self.name.startswith("*."):
            is_there = host == self.name[2:] or host.endswith(self.name[1:])
        if not is_there or (self.port is not None and self.port != parts.port):
            return False
        rest = parts.path[len(self.path) :]
        return parts.path.startswith(self.path) and (not rest or rest[0] in "/:" or not self.path)


@lru_cache(8)
def hosts_of(text: str) -> tuple[Host, ...]:
    """The hosts of a text: ``HOST[:PORT][/PATH][=PROVIDER]``, with commas, or a JSON list of those.

    Raises
    ------
    ValueError
        If one cannot be meant.

    Examples
    --------
    >>> hosts_of("api.example.com/v1=mistral_ai, localhost:8000")[0].path
    '/v1'
    >>> [host.name for host in hosts_of('["*.example.com"]')]
    ['*.example.com']
    """
    return tuple(map(_host, _listed(text)))


def host_named(text: str, method: str, url: str) -> Host | None:
    """The host of a text to which a request goes; None for methods that ask no model."""
    if not text or method not in _METHODS:
        return None
    return next((host for host in hosts_of(text) if host.has(url)), None)


@lru_cache(8)
def fields_of(text: str) -> frozenset[str]:
    """The names of a text, with commas, or of a JSON list.

    Raises
    ------
    ValueError
        If one cannot be the name of a field.

    Examples
    --------
    >>> sorted(fields_of("user_ssn, account"))
    ['account', 'user_ssn']
    """
    fields = _listed(text)
    for field in fields:
        if not re.fullmatch(_FIELD, field):
            raise ValueError(field)
    return frozenset(fields)


def _listed(text: str) -> list[str]:
    if not re.match(r"\s*\[\s*[\"\]]", text):
        return [part.strip() for part in text.split(",") if part.strip()]
    values = json.loads(text)
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise ValueError(text)
    return [value.strip() for value in values]


def _host(text: str) -> Host:
    place, _, provider = text.partition("=")
    place = re.sub(r"^https?://", "", place.strip())
    authority, slash, path = place.partition("/")
    name, _, port = authority.rpartition(":") if _has_port(authority) else (authority, "", "")
    is_host = re.fullmatch(_HOST, name, re.IGNORECASE)
    is_odd = not is_host or re.search(r"[\s?#]", path) or re.search(r"\s", provider)
    if is_odd or ("=" in text and not provider.strip()):
        raise ValueError(text)
    return Host(
        name.lower(), int(port) if port else None, (slash + path).rstrip("/"), provider.strip()
    )


def _has_port(authority: str) -> bool:
    return re.search(r":\d+$", authority) is not None and "]" not in authority.rpartition(":")[2]
