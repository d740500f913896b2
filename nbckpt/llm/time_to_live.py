"""A recording's time to live and its tags, read from what people write. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from nbckpt.config.amounts import seconds_of
from nbckpt.errors import UsageError

_TAG = re.compile(r"[\w.:/@+-]+")


def ttl_of(value: float | str | timedelta) -> float:
    """A time to live in seconds.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> ttl_of("7d") / 86400, ttl_of(30)
    (7.0, 30.0)
    """
    try:
        if isinstance(value, timedelta):
            seconds = value.total_seconds()
        else:
            seconds = (
                float(value) if not isinstance(value, str) else seconds_of(value, default_unit="s")
            )
    except (TypeError, UsageError):
        seconds = -1.0
    if not seconds >= 0:
        message = f"ttl is {value!r}: give seconds, or a text such as '12h' or '7d'"
        raise UsageError(message)
    return seconds


def tags_of(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags, each once.

    Raises
    ------
    UsageError
        If one cannot be typed as a word.
    """
    found: tuple[object, ...] = (tags,) if isinstance(tags, str) else tuple(tags)
    for tag in found:
        if not isinstance(tag, str) or not _TAG.fullmatch(tag):
            message = f"tag {tag!r}: a tag is a word, such as 'nightly'"
            raise UsageError(message)
    return tuple(dict.fromkeys(map(str, found)))
