"""Text of what can be seen of an object, the same for an equal one in the same process."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from nbckpt.fingerprint.values.plain import ATOMS

DEPTH = 4
MOST_ITEMS = 200
MOST_LETTERS = 20_000

_TOLD_BY = {("ssl", "SSLContext"): "cert_store_stats"}
"""Classes that tell what they hold by a method alone."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|\b[0-9]{12,}\b")

MOST_TOLD = 60
"""Letters of a value in a sentence."""


def text_of(value: Any, depth: int = DEPTH) -> str:
    """Text of what can be seen of a value; empty where that is only its place in memory.

    Raises
    ------
    Exception
        Whatever its own code raises.
    """
    kind = type(value)
    if kind in ATOMS:
        return repr(value)[:MOST_LETTERS]
    if depth < 0:
        return ""
    if kind in {list, tuple, deque}:
        items = [text_of(item, depth - 1) for item in list(value)[:MOST_ITEMS]]
        return f"{kind.__name__} of {len(value)}: {items}"
    if kind in {set, frozenset}:
        items = sorted(text_of(item, depth - 1) for item in value)[:MOST_ITEMS]
        return f"{kind.__name__} of {len(value)}: {items}"
    if kind is dict:
        pairs = [
            (text_of(k, 0), text_of(v, depth - 1)) for k, v in list(value.items())[:MOST_ITEMS]
        ]
        return f"dict of {len(value)}: {pairs}"
    if (kind.__module__, kind.__name__) in _TOLD_BY:
        return str(getattr(value, _TOLD_BY[kind.__module__, kind.__name__])())
    if tells_itself(kind):
        return _ADDRESS.sub("0x…", repr(value)[:MOST_LETTERS])
    base = next((one for one in (list, dict, set, tuple) if issubclass(kind, one)), None)
    return f"{kind.__name__} of {base.__len__(value)}" if base is not None else ""


def tells_itself(kind: type) -> bool:
    """True if objects of a class have a text of their own."""
    told: object = kind.__repr__
    return told is not object.__repr__


def are_alike(one: str, other: str) -> bool:
    """True if two texts say the same; where there are sets in them, in whatever order."""
    return one == other or ("{" in one and sorted(one) == sorted(other))


def shortened(text: str, other: str) -> str:
    """The part of a text that is not the other's."""
    if len(text) <= MOST_TOLD:
        return text
    pairs = enumerate(zip(text, other, strict=False))
    begin = max(0, next((n for n, (a, b) in pairs if a != b), min(len(text), len(other))) - 20)
    end = begin + MOST_TOLD
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"
