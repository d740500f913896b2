"""Content of an answer's bytes: JSON and events read. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nbckpt.llm import event_frames

_BETWEEN = re.compile(rb"\r?\n\r?\n")


def events_in(data: bytes, media_type: str = "") -> Iterator[Any]:
    """The JSON values of a stream: of server-sent events, of frames, or one a line."""
    if event_frames.is_framed(media_type):
        yield from event_frames.events_in(data)
        return
    for line in data.splitlines():
        text = line[5:].strip() if line.startswith(b"data:") else line.strip()
        if text[:1] in (b"{", b"["):
            try:
                yield json.loads(text)
            except ValueError:
                continue


def telling_events(data: bytes, media_type: str) -> list[Any]:
    """Those events of a stream that say what it took."""
    if event_frames.is_framed(media_type):
        return list(event_frames.events_in(data))
    lines = data.splitlines()
    first = next((line for line in lines if b"{" in line), b"")
    telling = [first, *(line for line in lines if any(word in line for word in _TELLING))]
    return list(events_in(b"\n".join(telling)))


_TELLING = (b"usage", b"eval_count", b"billed_units")


def has_broken_event(data: bytes, media_type: str = "") -> bool:
    """True if an event of a stream was broken off: JSON, of a line too, or a frame."""
    if event_frames.is_framed(media_type):
        return not event_frames.frames_of(data).is_whole
    for event in _BETWEEN.split(data):
        lines = event.splitlines()
        told = [line[5:].strip() for line in lines if line.startswith(b"data:")]
        texts = [b"".join(told)] if told else [line.strip() for line in lines]
        if any(text[:1] == b"{" and text[-1:] != b"}" for text in texts):
            return True
    return False
