"""The names in a stream that are nbckpt's, found without loading it."""

from __future__ import annotations

import pickletools
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from nbckpt.codecs.streams import segments_of

STORED = "nbckpt:stored"
"""A module and a name in it, with a colon between them."""


class Names(NamedTuple):
    """Names of nbckpt's in a stream.

    Attributes
    ----------
    stored
        Those that it calls `STORED` with.
    paths
        Those that it looks for in a module, without `STORED`.
    """

    stored: frozenset[str]
    paths: frozenset[str]


def names_in(parts: Sequence[bytes | memoryview]) -> Names:
    """nbckpt's names in the stream of a blob, and in pickles that stand in it as bytes."""
    segments, _ = segments_of([memoryview(part) for part in parts])
    stored: set[str] = set()
    paths: set[str] = set()
    inner: list[bytes] = []
    _collect(b"".join(segments), stored, paths, inner)
    while inner:
        with suppress(ValueError, IndexError):  # bytes that are no pickle
            _collect(inner.pop(), stored, paths, inner)
    return Names(frozenset(stored), frozenset(paths))


def _collect(stream: bytes, stored: set[str], paths: set[str], inner: list[bytes]) -> None:
    pushed: list[object] = []  # only ever grows: what is called lies near its end
    memo: list[object] = []
    for opcode, argument, _ in pickletools.genops(stream):
        match opcode.name:
            case "MEMOIZE":
                memo.append(pushed[-1])
            case "BINGET" | "LONG_BINGET":
                pushed.append(memo[argument or 0])
            case "STACK_GLOBAL" | "GLOBAL":
                words = str(argument).split() if argument else pushed[-2:]
                path = ":".join(map(str, words))
                if path.startswith("nbckpt") and path != STORED:
                    paths.add(path)
                pushed.append(path)
            case "TUPLE1" if pushed[-2:-1] == [STORED]:
                stored.add(str(pushed[-1]))
            case "TUPLE1" | "REDUCE":
                pass
            case _:
                pushed.append(argument if isinstance(argument, str) else None)
        if isinstance(argument, bytes) and argument[:1] == b"\x80" and argument[-1:] == b".":
            inner.append(argument)
