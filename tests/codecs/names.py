"""The names in a stream that are nbckpt's, found without loading it."""

from __future__ import annotations

import pickletools
from collections.abc import Sequence
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
    """nbckpt's names in the stream of a blob."""
    segments, _ = segments_of([memoryview(part) for part in parts])
    pushed: list[object] = []  # only ever grows: what is called lies near its end
    memo: list[object] = []
    stored, paths = set(), set()
    for opcode, argument, _ in pickletools.genops(b"".join(segments)):
        match opcode.name:
            case "MEMOIZE":
                memo.append(pushed[-1])
            case "BINGET" | "LONG_BINGET":
                pushed.append(memo[argument or 0])
            case "STACK_GLOBAL":
                path = f"{pushed[-2]}:{pushed[-1]}"
                if path.startswith("nbckpt") and path != STORED:
                    paths.add(path)
                pushed.append(path)
            case "TUPLE1" if pushed[-2:-1] == [STORED]:
                stored.add(str(pushed[-1]))
            case "TUPLE1" | "REDUCE":
                pass
            case _:
                pushed.append(argument if isinstance(argument, str) else None)
    return Names(frozenset(stored), frozenset(paths))
