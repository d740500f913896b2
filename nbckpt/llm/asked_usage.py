"""Asks for the tokens that a stream took, where its caller did not, and takes them out of it.

OpenAI's chat streams tell what they took only if ``stream_options`` asks for it: in one event more,
and in a member of every other one. Who called gets the stream that was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.providers import Endpoint
from nbckpt.llm.request_keys import Canonical

_KINDS = frozenset({"chat", "completions"})
_TELL_ANYWAY = frozenset({"mistral_ai", "perplexity"})
"""Providers whose streams always say it."""
_OPTION = "stream_options"
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_NULL = re.compile(rb',\s*"usage":\s*null|"usage":\s*null\s*,\s*')
"""Nothing of a text: in that the quotation marks have a backslash."""

UNKNOWN = frozenset({400, 422})
"""Statuses of a server that takes no such option."""
_refusing: set[str] = set()
"""Hosts that have refused it."""


def body_asking(endpoint: Endpoint, asked: HttpRequest, body: Canonical) -> bytes | None:
    """The body of a request that asks for usage, too; None if it is to be sent as it is."""
    kind, members = endpoint.kind, body.members
    if (
        members is None
        or kind.name not in _KINDS
        or kind.provider != "openai"
        or endpoint.provider in _TELL_ANYWAY
        or members.get("stream") is not True
        or _host_of(asked) in _refusing
        or _is_signed(asked)
    ):
        return None
    options = members.get(_OPTION)
    if options is None and _OPTION not in members:
        text = asked.body.rstrip()
        if text.endswith(b"}"):
            return text[:-1] + b',"stream_options":{"include_usage":true}}'
    if isinstance(options, dict | None) and not (options or {}).get("include_usage"):
        asking = {**members, _OPTION: {**(options or {}), "include_usage": True}}
        return json.dumps(asking, separators=(",", ":")).encode()
    return None


_SIGNATURES = frozenset(
    {"content-digest", "content-md5", "digest", "signature", "x-amz-content-sha256", "x-signature"}
)
_SIGNING = ("aws4", "digest", "hmac", "signature")


def _is_signed(asked: HttpRequest) -> bool:
    """True if a request says what its body is, so that another body would not be its own."""
    names = {name for name, _ in asked.headers}
    return not _SIGNATURES.isdisjoint(names) or asked.header("authorization").lower().startswith(
        _SIGNING
    )


def is_refusal(answer: bytes) -> bool:
    """True if an answer with an error speaks of what was asked for more."""
    return _OPTION.encode() in answer or b"include_usage" in answer


def refused_by(asked: HttpRequest) -> None:
    """Ask this host no more."""
    _refusing.add(_host_of(asked))


def _host_of(asked: HttpRequest) -> str:
    return asked.url.partition("://")[2].partition("/")[0]


class AskedUsage:
    """Takes out of one stream what was asked for besides.

    Attributes
    ----------
    event
        The one that says what the stream took, as JSON; None as long as it has not come.
    decode
        Undoes the encoding of a server that encodes though it was asked not to.
    """

    def __init__(self) -> None:
        self.event: dict[str, Any] | None = None
        self.decode: Callable[[bytes], bytes] = bytes
        self._held = b""

    def without(self, data: bytes) -> bytes:
        """The whole events of what has come and was not given yet, without what was asked for."""
        data = self._held + self.decode(data)
        end = 0
        events = []
        for found in _END.finditer(data):
            events.append(self._taken(data[end : found.end()]))
            end = found.end()
        self._held = data[end:]
        return b"".join(events)

    def rest(self) -> bytes:
        """What is left when the stream has ended."""
        held, self._held = self._held, b""
        return self._taken(held)

    def _taken(self, event: bytes) -> bytes:
        if b'"usage"' not in event:
            return event
        line = next((n for n in event.splitlines() if n.startswith(b"data:")), b"")
        try:
            value = json.loads(line[5:])
        except ValueError:
            return event
        if isinstance(value, dict) and isinstance(value.get("usage"), dict):
            if not value.get("choices"):
                self.event = value
                return b""
            return event
        return _NULL.sub(b"", event)
