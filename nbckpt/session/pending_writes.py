"""Writes of a session: those that are durable, under way, or refused by the disk.

A cell does not wait for the disk under ``%nbckpt auto on``, so a refusal comes when its checkpoint
is in the history already. It is then marked failed there, and reported at the next prompt. The
store tries refused records again before the next ones: when those are durable, so is it.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from concurrent.futures import Future
from typing import NamedTuple

from nbckpt.model import Checkpoint, Record
from nbckpt.runtime.interrupts import whole
from nbckpt.text.units import count_text
from nbckpt.timeline.timeline import Timeline

MOST_NEWS = 20


class _Write(NamedTuple):
    """Something on its way to the disk; `checkpoint` is empty where it is none."""

    told: str
    checkpoint: str
    done: Future[None]


class Writing:
    """Follows the writes of one session.

    Attributes
    ----------
    news
        Sentences for the user about what became of writes that nobody waited for, oldest first.
        Who shows them takes them.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.news: deque[str] = deque(maxlen=MOST_NEWS)
        self._timeline = timeline
        self._open: list[_Write] = []
        self._refused: list[_Write] = []
        self._errors: deque[BaseException] = deque(maxlen=MOST_NEWS)
        self._settling = threading.Lock()  # cells of subshells run in threads

    def follow(self, what: Checkpoint | str, done: Future[None]) -> None:
        """Watch a checkpoint, or something that has a name, until it is durable."""
        if isinstance(what, str):
            self._open.append(_Write(what, "", done))
            return
        self._open.append(_Write(f"checkpoint {what.name!r}", what.id, done))

    def try_again(self, done: Future[None]) -> None:
        """Watch a write that takes along what was refused, and nothing of its own."""
        self._open.append(_Write("", "", done))

    def remember(self, done: Future[None]) -> None:
        """Know again what the disk says of a write, if it refuses it."""
        done.add_done_callback(self._remember)

    def was_refused(self, error: BaseException) -> bool:
        """True if `error` is of a write, which the store tries again, and not of another job."""
        return any(error is one for one in self._errors)

    def _remember(self, done: Future[None]) -> None:
        if error := done.exception():
            self._errors.append(error)

    @property
    def unfinished(self) -> frozenset[str]:
        """Ids of the checkpoints that are being written."""
        return frozenset(write.checkpoint for write in self._open if write.checkpoint)

    @property
    def refused(self) -> bool:
        """True if the disk refused something that is not durable since."""
        return bool(self._refused)

    @whole
    def settle(self, *, raised: str = "") -> None:
        """Take note of what has become durable or was refused since the last call.

        Parameters
        ----------
        raised
            Id of a checkpoint whose refusal is no news, because the caller raises it.
        """
        with self._settling:
            self._settle(raised)

    def _settle(self, raised: str) -> None:
        refused: list[_Write] = []
        while self._open and self._open[0].done.done():  # one thread writes them in order
            write = self._open.pop(0)
            if write.done.exception() is not None:
                refused += [write] if write.told else []
                continue
            self._written(self._refused)
            self._refused, refused = [], []
        for write in refused:
            self._mark("refused", write, reason=f"not written: {write.done.exception()}")
        self._refused += refused
        untold = [write for write in refused if not write.checkpoint or write.checkpoint != raised]
        if untold:
            error = untold[0].done.exception()
            self.news.append(f"{_listed(untold)} NOT kept: {error}; {_TRIED_AGAIN}")

    def text(self) -> str:
        """Text on the session's checkpoints that are not durable; empty if all are."""
        parts = []
        if n := len(self.unfinished):
            parts.append(f"{count_text(n, 'checkpoint')} being written")
        if names := [write for write in self._refused if write.checkpoint]:
            parts.append(f"{_listed(names)} NOT kept; {_TRIED_AGAIN}")
        return "; ".join(parts)

    def _written(self, writes: list[_Write]) -> None:
        for write in writes:
            self._mark("written", write)
        if writes:
            self.news.append(f"{_listed(writes)} kept now")

    def _mark(self, kind: str, write: _Write, **members: str) -> None:
        if write.checkpoint:
            record: Record = {"kind": kind, "checkpoint": write.checkpoint}
            self._timeline.apply({**record, **members})


_TRIED_AGAIN = "this is tried again with the next checkpoint"


def _listed(writes: list[_Write]) -> str:
    """`checkpoint 'a' and the rewind to 'b' are`; what is told alike is counted."""
    counts = Counter(write.told for write in writes)
    names = [told if n == 1 else f"{told} ({n} times)" for told, n in counts.items()]
    if len(writes) == 1:
        return f"{names[0]} is"
    if len(names) == 1:
        return f"{names[0]} are"
    return f"{', '.join(names[:-1])} and {names[-1]} are"
