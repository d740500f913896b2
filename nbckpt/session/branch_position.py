"""Where a session stands: on which branch of a store, and what it knows of the others."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from nbckpt.config.validate import require_text
from nbckpt.errors import StoreError
from nbckpt.model import Checkpoint, Record
from nbckpt.runtime import clock, telemetry
from nbckpt.runtime.interrupts import result_of, whole
from nbckpt.session.parquet_tables import TableKeeper
from nbckpt.session.pending_writes import Writing
from nbckpt.storage.store import Store
from nbckpt.timeline import events
from nbckpt.timeline.records import event_record, head_record, session_record
from nbckpt.timeline.references import resolve
from nbckpt.timeline.timeline import Timeline

if TYPE_CHECKING:
    import duckdb

MAIN = "main"
SOON_S = 0.02
"""Seconds after a refresh in which writes of others are not looked for."""

_Own = TypeVar("_Own", bound="Standing")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def verb(
    method: Callable[Concatenate[_Own, _P], _R],
) -> Callable[Concatenate[_Own, _P], _R]:
    """`method`, which one thread is in at once, and which no interrupt leaves half done."""

    @wraps(method)
    def alone(self: _Own, /, *args: _P.args, **named: _P.kwargs) -> _R:
        with self.store.turn.taken():
            return method(self, *args, **named)

    return alone


class Held(NamedTuple):
    """State when a look began: the clock, and the bytes that had been put by then."""

    since: float
    added_bytes: int


class Standing:
    """A place in the history of a store, and the journal of who stands there.

    Attributes
    ----------
    position
        Id of the checkpoint that the namespace comes from; None in a new process.
    is_at_position
        Whether nothing has run or was restored since the namespace was that of `position`: a cheap
        yes, or it is not known.
    before, before_branch
        Where it was before it last moved: what ``-`` means.
    origin
        Id of where it came from, if that descends from `position`: on its line is what follows.
    listeners
        Called with what happened: ``checkpoint``, ``progress``, ``moved``, ``tag``, ``refreshed``
        (others have written) or ``pruned``, on the thread where it happened; and ``written``, on
        the thread that writes, once the journal has an event.
    began_at
        When it began, in seconds since 1970.
    begun
        Whether it has written anything.
    held
        When the look began that a checkpoint is being made of.
    refusal
        What the disk said of a checkpoint that was waited for.
    """

    def __init__(self, store: Store, notebook: str, branch: str | None) -> None:
        self.id = os.urandom(6).hex()
        self.began_at = clock.now()
        self.store = store
        self.notebook = notebook
        self.branch = branch or MAIN
        self.timeline = Timeline()
        self.writing = Writing(self.timeline)
        self.tables = TableKeeper(store)
        self.position: str | None = None
        self.is_at_position = False
        self.before: str | None = None
        self.before_branch: str | None = None
        self.origin: str | None = None
        self.listeners: list[Callable[[str], None]] = []
        self.begun = False
        self.held: Held | None = None
        self.refusal: StoreError | None = None
        self._owed: deque[Record] = deque()
        telemetry.measure(store)
        self._generation = store.generation
        self._refreshed_at = 0.0
        self._refreshing = threading.RLock()  # a view asks from a thread of its own
        self.refresh()
        self._usual_branch: str | None = None
        if branch is None:
            self._usual_branch = self.branch = usual_branch(self.timeline, notebook)

    # -- the history ------------------------------------------------------------------------

    @whole
    def refresh(self) -> None:
        """Take in what other sessions have written, and what became of this one's own writes."""
        with self._refreshing:
            news = self._take_in()
            self._refreshed_at = time.perf_counter()
        if news:
            self.tell(news)

    @property
    def is_on_usual_branch(self) -> bool:
        """True if nobody has said which branch to work on."""
        return self.branch == self._usual_branch

    def choose_branch(self) -> None:
        """Before the first checkpoint: another notebook may have taken the branch meanwhile."""
        if self.position is None and not self.begun and self.is_on_usual_branch:
            self.refresh()
            self._usual_branch = self.branch = usual_branch(self.timeline, self.notebook)

    def catch_up(self) -> None:
        """Take in what others have written, unless that was done a moment ago.

        Of cells that follow one another, each would read the session's own journal again, which
        took a tenth of a trivial one.
        """
        if time.perf_counter() - self._refreshed_at < SOON_S:
            self.writing.settle()
        else:
            self.refresh()

    def _take_in(self) -> str:
        revision, records = self.timeline.revision, self.store.refresh()
        is_pruned = self._generation != self.store.generation
        if is_pruned:
            self._generation = self.store.generation
            self._fold_anew()
        else:
            self.timeline.apply_all(records)
        self.writing.settle()
        if is_pruned:
            return "pruned"
        return "refreshed" if self.timeline.revision != revision else ""

    def _fold_anew(self) -> None:
        """Fold what a prune has left; who stood on something that went stands before it."""
        places = ("position", "before", "origin")
        lines = {place: self.timeline.line(getattr(self, place)) for place in places}
        self.timeline.clear(but=self.writing.unfinished)
        self.timeline.apply_all(self.store.all_records())
        kept = self.timeline.checkpoints
        for place, line in lines.items():
            setattr(self, place, next((i for i in line if i in kept), None))

    @contextmanager
    def holding(self: _Own, name: str = "") -> Iterator[_Own]:
        """Keep every prune away from what stands between a look and its record.

        What a draft relies on, its parent and the blobs that were there already, must not go
        before the record is written. No code of the user's may run meanwhile.

        Parameters
        ----------
        name
            Of the checkpoint that is being made, for what is told if the disk refuses.
        """
        with self.store.turn.taken(), self.store.writing():
            if self._generation != self.store.generation:
                self.refresh()
            outer, self.held = (
                self.held,
                self.held or Held(time.perf_counter(), self.store.added_bytes),
            )
            try:
                yield self
            except StoreError as problem:
                if problem is not self.refusal:  # else the write itself has told
                    what = f"checkpoint {name!r}" if name else "a checkpoint"
                    self.owe_event("not_kept", name=name, what=what, error=str(problem))
                raise
            finally:
                self.held = outer

    @property
    def head(self) -> Checkpoint | None:
        """The newest checkpoint of this branch."""
        return self.timeline.head(self.branch)

    def get(self, ref: str) -> Checkpoint:
        """The checkpoint that `ref` names.

        Raises
        ------
        CheckpointNotFoundError
            If there is none; the message says what there is.
        """
        self.refresh()
        return resolve(
            self.timeline, ref, branch=self.branch, here=self.position, before=self.before
        )

    def history(self) -> list[Checkpoint]:
        """The checkpoints of this branch, newest first."""
        self.refresh()
        newest = self.position or (self.head.id if self.head else None)
        return self.timeline.ancestry(newest) if newest else []

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """The answer of DuckDB to `query`, over `checkpoints`, `variables` and so on."""
        from nbckpt.storage.query import Place, relation

        require_text(query, "a query")
        with suppress(StoreError):  # a disk that takes nothing can be asked; prompts tell of it
            self.wait()
        self.refresh()
        place = Place(self.branch, self.position, self.before)
        return relation(self.store, self.timeline, query, place=place, make=self.tables.record)

    # -- writing ----------------------------------------------------------------------------

    @whole
    def append(self, records: list[Record], *, durable: bool = True) -> Future[None]:
        """Have records written to this session's journal; done when they are durable."""
        if not self.begun:
            self.begun = True
            self.begins()
            records = [session_record(self.id, self.notebook), *records]
        told = partial(self._note_refusal, _named(records)) if durable and records else None
        while self._owed:
            records = [*records, self._owed.popleft()]
        written = self.store.append(records, durable=durable)
        self.writing.remember(written)
        if told:
            written.add_done_callback(told)
        return written

    def _note_refusal(self, name: str | None, written: Future[None]) -> None:
        if (error := written.exception()) is None:
            return
        if name is None:
            self.owe_event("write_failed", error=str(error))
        else:
            what = f"checkpoint {name!r}"
            self.owe_event("not_kept", name=name, what=what, error=str(error))

    def begins(self) -> None:
        """Called before the first record is written."""

    @whole
    def head_record(self, checkpoint: Checkpoint) -> Record:
        """The record that moves this branch to a checkpoint."""
        head = self.head
        return head_record(
            self.branch,
            checkpoint,
            head.id if head else None,
            notebook=self.notebook,
            at=self.timeline.later_than_all(clock.now()),
        )

    @whole
    def move_head(self, checkpoint: Checkpoint, *, told: str = "") -> None:
        """Move this branch to a checkpoint; under `told` the user hears if the disk refuses."""
        record = self.head_record(checkpoint)
        written = self.append([record], durable=bool(told))
        if told:
            self.writing.follow(told, written)
        self.timeline.apply(record)

    def follows(self, checkpoint: Checkpoint) -> bool:
        """True if a checkpoint was made next after that whose namespace this is known to be."""
        return self.is_at_position and checkpoint.parent == self.position

    @whole
    def stand_on(self, checkpoint: Checkpoint) -> None:
        """Take note that the namespace is that of `checkpoint`; the branch comes to it.

        But for one that is ahead on its line: there is what the notebook made before.
        """
        self.position, self.is_at_position = checkpoint.id, True
        head = self.head
        if head is None or not self.timeline.is_ancestor(checkpoint.id, head.id):
            self.move_head(checkpoint)

    @whole
    def record_event(self, kind: str, **members: object) -> None:
        """Note something that happened, and tell of it; not waited for.

        Who listens is told once the journal has it: before, nobody can read it.
        """
        event = event_record(kind, self.id, members)
        written = self.append([event], durable=False)
        written.add_done_callback(lambda _: self.tell("written"))
        events.tell(event)

    @whole
    def owe_event(self, kind: str, **members: object) -> None:
        """Tell of something that happened; the journal has it with the next record.

        For failures: the disk may be what fails, and is not asked again for this alone.
        """
        event = event_record(kind, self.id, members)
        self._owed.append(event)
        events.tell(event)

    def tell(self, what: str) -> None:
        """Let who listens know that something happened."""
        for listener in list(self.listeners):
            try:
                listener(what)
            except Exception as problem:  # a view that fails is no reason for a cell to
                told = f"a listener failed at {what!r}: {type(problem).__name__}: {problem}"
                if told not in self.writing.news:
                    self.writing.news.append(told)

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
            self.store.wait(timeout_s)
        except StoreError as error:
            if not self.writing.was_refused(error):
                raise
            problem = error
        self.writing.settle()
        if problem is None and not self.writing.refused:
            return
        # What was refused is tried again with each commit: by now all may be well.
        again = self.append([])
        self.writing.try_again(again)
        try:
            result_of(again, timeout_s)
        except TimeoutError:
            message = f"still writing to {self.store.path} after {timeout_s} s: wait again"
            raise problem or StoreError(message) from None
        finally:
            self.writing.settle()


def _named(records: list[Record]) -> str | None:
    """The name of the checkpoint among these; None if there is none."""
    return next((str(r["name"]) for r in records if r["kind"] == "checkpoint"), None)


def usual_branch(timeline: Timeline, notebook: str) -> str:
    """The branch that a notebook works on: where it was last, else `main`, if that is free.

    Several notebooks of one folder share a store. The first has `main`; another's branch has its
    name, so that `%resume` never brings one notebook's variables into another.
    """
    if own := timeline.last_branch_of(notebook):
        return own
    head = timeline.head(MAIN)
    is_free = head is None or not head.notebook or not notebook
    return MAIN if is_free else notebook
