"""The writes of a session to its journal: those that are durable, under way, or refused.

A cell does not wait for the disk under ``%nbckpt auto on``, so a refusal comes when its checkpoint
is in the history already. It is then marked failed there, and reported at the next prompt. The
store tries refused records again before the next ones: when those are durable, so is it.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

from nbckpt.errors import StoreError
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Checkpoint, Record
from nbckpt.runtime.interrupts import result_of, whole
from nbckpt.storage.store import Store
from nbckpt.text.units import count_text
from nbckpt.timeline import events
from nbckpt.timeline.records import event_record, session_record
from nbckpt.timeline.timeline import Timeline

MOST_NEWS = 20


class Writer(NamedTuple):
    """The writer of a journal: the id of the session, and its notebook."""

    session: str
    notebook: str


class _Write(NamedTuple):
    """Something on its way to the disk; `checkpoint` is empty where it is none."""

    told: str
    checkpoint: str
    done: Future[None]


class PendingWrites(Own):
    """Writes the journal of one session, and follows what becomes of its writes.

    Parameters
    ----------
    begin
        Called before the first record is written.
    emit
        Called with ``written`` on the thread that writes, once the journal has an event.

    Attributes
    ----------
    news
        Sentences for the user about what became of writes that nobody waited for, oldest first.
        Who shows them takes them.
    has_begun
        Whether anything was written.
    shows
        Shows a sentence at once; None where nobody does.
    """

    def __init__(
        self,
        store: Store,
        timeline: Timeline,
        writer: Writer,
        *,
        begin: Callable[[], None],
        emit: Callable[[str], None],
    ) -> None:
        self.news: deque[str] = deque(maxlen=MOST_NEWS)
        self.has_begun = False
        self.shows: Callable[[str], None] | None = None
        self._store = store
        self._timeline = timeline
        self._writer = writer
        self._begin = begin
        self._emit = emit
        self._owed: deque[Record] = deque()
        self._open: list[_Write] = []
        self._refused: list[_Write] = []
        self._errors: deque[BaseException] = deque(maxlen=MOST_NEWS)
        self._settling = threading.Lock()  # cells of subshells run in threads

    @whole
    def append(self, records: list[Record], *, durable: bool = True) -> Future[None]:
        """Have records written to this session's journal; done when they are durable."""
        if not self.has_begun:
            self.has_begun = True
            self._begin()
            records = [session_record(*self._writer), *records]
        told = partial(self._note_refusal, _named(records)) if durable and records else None
        while self._owed:
            records = [*records, self._owed.popleft()]
        written = self._store.append(records, durable=durable)
        written.add_done_callback(self._remember)
        if told:
            written.add_done_callback(told)
        return written

    @whole
    def record_event(self, kind: str, **members: object) -> None:
        """Note something that happened, and tell of it; not waited for.

        Who listens is told once the journal has it: before, nobody can read it.
        """
        event = event_record(kind, self._writer.session, members)
        written = self.append([event], durable=False)
        written.add_done_callback(lambda _: self._emit("written"))
        events.tell(event)

    @whole
    def owe_event(self, kind: str, **members: object) -> None:
        """Tell of something that happened; the journal has it with the next record.

        For failures: the disk may be what fails, and is not asked again for this alone.
        """
        event = event_record(kind, self._writer.session, members)
        self._owed.append(event)
        events.tell(event)

    def notify(self, text: str) -> None:
        """Have the user hear something at the next prompt, once."""
        if text not in self.news:
            self.news.append(text)

    def tell(self, text: str) -> None:
        """Have the user hear something now or, where nobody shows it, at the next prompt."""
        if self.shows is None:
            self.notify(text)
        else:
            self.shows(text)

    def _note_refusal(self, name: str | None, written: Future[None]) -> None:
        if (error := written.exception()) is None:
            return
        if name is None:
            self.owe_event("write_failed", error=str(error))
        else:
            what = f"checkpoint {name!r}"
            self.owe_event("not_kept", name=name, what=what, error=str(error))

    @whole
    def wait(self, timeout_s: float | None = None) -> None:
        """Return when everything so far is durable.

        Raises
        ------
        StoreError
            If some of it could not be written.
        """
        problem: StoreError | None = None
        try:
            self._store.wait(timeout_s)
        except StoreError as error:
            if not any(error is one for one in self._errors):
                raise  # it is of another job, which the store does not try again
            problem = error
        self.settle()
        if problem is None and not self._refused:
            return
        try:
            result_of(self.try_again(), timeout_s)
        except TimeoutError:
            message = f"still writing to {self._store.path} after {timeout_s} s: wait again"
            raise problem or StoreError(message) from None
        finally:
            self.settle()

    def follow(self, what: Checkpoint | str, done: Future[None]) -> None:
        """Watch a checkpoint, or something that has a name, until it is durable."""
        if isinstance(what, str):
            self._open.append(_Write(what, "", done))
            return
        self._open.append(_Write(f"checkpoint {what.name!r}", what.id, done))

    def try_again(self) -> Future[None]:
        """Have what was refused tried again, as with each commit: by now all may be well."""
        again = self.append([])
        self._open.append(_Write("", "", again))
        return again

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


def _named(records: list[Record]) -> str | None:
    """The name of the checkpoint among these; None if there is none."""
    return next((str(r["name"]) for r in records if r["kind"] == "checkpoint"), None)


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
