"""Which requests are worth a look, and which go to a model's host and are no model call."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

from nbckpt.hosts import Host, hosts_of
from nbckpt.llm import current, providers

METHODS = ("POST", "GET")
"""Of requests to hosts that the user names."""

passed: Counter[str] = Counter()
"""Host of a provider → requests that went through a seam and were no model calls."""

noticed: set[str] = set()
"""Hosts to which a request has gone through a seam."""


def is_worth(method: str, url: str) -> bool:
    """Whether a request may be one to record: quick, for each request of any kind."""
    if providers.may_be_call(method, url) or named(method, url) is not None:
        noticed.add(urlsplit(url).hostname or "")
        return True
    if providers.watched(url):
        host = urlsplit(url).hostname or ""
        noticed.add(host)
        passed[host] += 1
    return False


def named(method: str, url: str) -> Host | None:
    """The host of the configuration that a request goes to."""
    text = current.setting("record_hosts")
    if not text or method not in METHODS:
        return None
    return next((host for host in hosts_of(text) if host.has(url)), None)
