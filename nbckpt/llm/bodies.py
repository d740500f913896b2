"""Content of an answer's bytes: JSON and events read. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_BETWEEN = re.compile(rb"\r?\n\r?\n")


def events_in(data: bytes) -> Iterator[Any]:
    """The JSON values of a stream: of server-sent events, or one a line."""
    for line in data.splitlines():
        text = line[5:].strip() if line.startswith(b"data:") else line.strip()
        if text[:1] in (b"{", b"["):
            try:
                yield json.loads(text)
            except ValueError:
                continue


def has_broken_event(data: bytes) -> bool:
    """True if JSON in a stream was broken off: of a server-sent event, or of a line."""
    for event in _BETWEEN.split(data):
        lines = event.splitlines()
        told = [line[5:].strip() for line in lines if line.startswith(b"data:")]
        texts = [b"".join(told)] if told else [line.strip() for line in lines]
        if any(text[:1] == b"{" and text[-1:] != b"}" for text in texts):
            return True
    return False
