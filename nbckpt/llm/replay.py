"""Lookup of the recording that answers a call, and the message where there is none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbckpt.config.record_hosts import fields_of
from nbckpt.digests import Digest
from nbckpt.errors import TRUST_IT, NbckptError
from nbckpt.llm import nearest
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.llm.fields import hidden
from nbckpt.llm.flights import Landed
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.moved_answers import MovedAnswers
from nbckpt.llm.near_misses import NearMisses
from nbckpt.llm.occurrence import KnownOccurrences
from nbckpt.llm.question import Question
from nbckpt.llm.recordings_index import Asking, Index, newest
from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.runtime.gc_pause import switched_off
from nbckpt.timeline.recordings import RECORDING, recording_from

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_COMPARED = 50


class ReplayLookup:
    """The recordings of a session's store, found by the calls that they answer.

    Attributes
    ----------
    near_misses
        Calls that none of them answers.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._index = Index()
        self._taken = 0
        self._generation = session.store.generation
        self._lock = threading.RLock()
        self._moved = MovedAnswers(session, self._of_request)
        self.near_misses = NearMisses(session, self._latest)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at once, in which no stream is collected meanwhile: its end is appended."""
        with self._lock, switched_off():
            yield

    def append(self, record: Record) -> Future[None]:
        """Append a new recording to the session's journal, and find it from now on."""
        with self._alone():
            written = self._session.writes.append([record])
            self._index.take([record])
        return written

    def answer(self, question: Question) -> Landed | None:
        """The kept answer to a call; None if there is none that can be read."""
        record = self.find(question.asking, question.ttl_s)
        owners = self._session.state(AnswerOwners)
        if record is None or owners.is_elsewhere(self._session, record["id"], question.asking):
            record = self._moved.find(question)
            if record is None:
                return None
            self._moved.tell(question, record)
        try:
            recording = recording_from(record)
            body = bytes(self._session.store.get_blob(recording.blob, of=record)[1])
        except NbckptError as problem:
            step = record["step"]
            self._session.writes.notify(
                f"a recording of step {step!r} cannot be read and is paid anew: {problem}",
            )
            return None
        kept = RecordedResponse(recording.status, recording.headers, _cut(body, recording.sizes))
        return Landed(kept, recording)

    def notify_untrusted(self, question: Question) -> None:
        """Say that there is a recording that answers, and that nobody vouched for it."""
        with self._alone():
            is_strange = self._index.is_strange(question.asking)
        if is_strange:
            self._session.writes.notify(
                f"answers of {question.endpoint.provider} in step {question.scope.step!r} are not"
                f" replayed, as they may be another user's; {TRUST_IT}",
            )

    def known(self, step: str, request: Digest) -> KnownOccurrences:
        """The recorded calls of a step's items that are equal to a request."""
        with self._alone():
            self._look()
            return self._index.of_items(step).of(request)

    def find(self, asking: Asking, ttl_s: float | None = None) -> Record | None:
        """The recording that answers: of the line that the session is on, else the newest."""
        found = self._made(asking)
        if ttl_s is not None:
            oldest = clock.now() - ttl_s
            found = [record for record in found if record["created_at"] >= oldest]
        if len(found) < 2:
            return found[0] if found else None
        timeline, here = self._session.timeline, self._session.position.id
        line = {None, *timeline.line(here)}
        return newest([r for r in found if r["position"] in line] or found)

    def _made(self, asking: Asking) -> Sequence[Record]:
        """The recordings of a question, of any age."""
        with self._alone():
            self._look()
            return self._index.find(asking)

    def _of_request(self, request: Digest) -> Sequence[Record]:
        """The recordings of equal requests of all steps."""
        with self._alone():
            self._look()
            return self._index.of_request(request)

    def _latest(self, step: str, most: int) -> Sequence[Record]:
        """The latest recordings of steps whose names begin with one."""
        with self._alone():
            return self._index.latest(step, most)

    def _look(self) -> None:
        """Take in what the session has seen of others' recordings."""
        store = self._session.store
        if store.generation != self._generation:
            # What a prune took is not to be found again.
            self._generation, self._taken, self._index = store.generation, 0, Index()
        records = store.records(RECORDING)
        if self._taken < len(records):
            self._index.take(records[self._taken :])
            self._taken = len(records)

    def format_missing(self, question: Question) -> str:
        """The message for a call that was not recorded, or too long ago."""
        step, nth = question.scope.step, question.occurrence.number + 1
        with self._alone():
            others = self._index.of_step(step)[:_COMPARED]
        near = [
            nearest.Near(r["id"], r["occurrence"], self._asked_of(r))
            for r in others
            if r["provider"] == question.endpoint.provider
        ]
        what = f"{question.endpoint.provider} {question.endpoint.kind.name}"
        if self._made(question.asking):
            return (
                f"call {nth} of this {what} request in step {step!r} was "
                f"recorded longer ago than its ttl of {question.ttl_s:g} s: give a longer ttl, or "
                "run it without mode 'only'"
            )
        fields = fields_of(self._session.settings.secret_fields)
        asked = hidden(question.body.members, fields)
        return (
            f"no recording of call {nth} of this {what} request in step "
            f"{step!r}; {nearest.format_nearest(asked, near)}: "
            "run it once with recording on, or without mode 'only'"
        )

    def _asked_of(self, record: Record) -> dict[str, Any] | None:
        try:
            value = json.loads(bytes(self._session.store.get_blob(record["blob"])[0]))
        except (NbckptError, ValueError):
            return None
        return value if isinstance(value, dict) else None


def _cut(body: bytes, sizes: Any) -> list[bytes]:
    """The chunks of an answer."""
    chunks, at = [], 0
    for size in sizes:
        chunks.append(body[at : at + size])
        at += size
    return chunks
