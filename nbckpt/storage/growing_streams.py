"""Streams that only grew since they were last put: their old chunks are neither cut nor hashed.

A list to which each cell appends is pickled whole by each, and all of the stream but its end is
what it was. To compare it is ten times as quick as to cut and hash it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nbckpt.storage.index_frames import Name

LEAST_BYTES = 32 * 1024
MOST_BYTES = 8 * 1024 * 1024
MOST_STREAMS = 4
HEAD_BYTES = 256
"""The beginning of a stream, which holds the name of its variable, tells which one it is."""


class _Grown(NamedTuple):
    """All chunks of a stream but the last, which ended because the stream did."""

    prefix: bytes
    names: list[Name]


class Growing:
    """Remembers the streams that were put last, a few megabytes of them."""

    def __init__(self) -> None:
        self._latest: OrderedDict[bytes, _Grown] = OrderedDict()

    def known(self, stream: bytes, has: Callable[[Name], bool]) -> tuple[list[Name], int]:
        """The names of the chunks at the beginning that are as they were, and where these end.

        Cutting goes on there: a cut depends on nothing before the one before it.
        """
        latest = self._latest.get(stream[:HEAD_BYTES])
        if (
            latest is None
            or not stream.startswith(latest.prefix)
            or not all(map(has, latest.names))
        ):
            return [], 0
        return list(latest.names), len(latest.prefix)

    def learn(self, stream: bytes, names: Sequence[Name], last_bytes: int) -> None:
        """Remember a stream whose chunks have these names, and the last of them this size."""
        if not LEAST_BYTES <= len(stream) <= MOST_BYTES:
            return
        head = stream[:HEAD_BYTES]
        self._latest[head] = _Grown(stream[: len(stream) - last_bytes], list(names[:-1]))
        self._latest.move_to_end(head)
        while len(self._latest) > MOST_STREAMS:
            self._latest.popitem(last=False)
