"""Lookup of the recording that answers a call, and the message where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbckpt.config.record_hosts import fields_of
from nbckpt.digests import Digest
from nbckpt.errors import TRUST_IT, NbckptError
from nbckpt.llm import nearest
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.llm.fields import hidden
from nbckpt.llm.flights import Landed
from nbckpt.llm.growing_objects import GrowingObjects
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.moved_answers import MovedAnswers
from nbckpt.llm.near_misses import NearMisses
from nbckpt.llm.occurrence import Occurrence
from nbckpt.llm.question import Question
from nbckpt.llm.record_lookup import RecordLookup
from nbckpt.llm.step_scope import Scope
from nbckpt.model import Record
from nbckpt.timeline.events import ENDED
from nbckpt.timeline.recordings import RECORDING, recording_from

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_COMPARED = 50
_CALLS = "model_calls"
"""The event of a run of a step that ended, however: nothing of it is in flight."""


class ReplayLookup:
    """The recordings of a session's store, found by the calls that they answer.

    Attributes
    ----------
    near_misses
        Calls that none of them answers.
    growing
        Objects at providers that an earlier run made.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._records = RecordLookup(session, RECORDING)
        self.append = self._records.append
        self._moved = MovedAnswers(session, self._records.of_request)
        self.near_misses = NearMisses(session, self._records.latest)
        self.growing = GrowingObjects(session, self._records.latest)

    def place(self, within: Scope, request: Digest) -> Occurrence:
        """The place of a request that begins now among its equals."""
        if within.has_items:
            return self._records.place(within, request)
        number, call = within.number_among(
            request,
            lambda: self._records.of_equals(within.step, request),
            lambda: self._was_cut(within),
        )
        return Occurrence(number, call=call)

    def _was_cut(self, within: Scope) -> bool:
        """True if the run before this of a step died: some of its calls may have been in flight."""
        session = self._session
        latest = self._records.latest(within.step, _COMPARED)
        earlier = (r for r in latest if r["step"] == within.step and r["created_at"] < within.began)
        before = next(earlier, None)
        if before is None or before["session"] == session.id:
            return False
        for event in reversed(session.store.records("event")):
            if event["at"] < before["created_at"]:
                break
            is_of_step = event["event"] == _CALLS and event.get("name") == within.step
            if is_of_step or (event["event"] == ENDED and event["session"] == before["session"]):
                return False
        return True

    def answer(self, question: Question) -> Landed | None:
        """The kept answer to a call; None if there is none that can be read."""
        record = self._records.find(question.asking, question.ttl_s)
        if record is not None and not self.growing.may_answer(question, record["created_at"]):
            return None
        owners = self._session.state(AnswerOwners)
        if record is None or owners.is_elsewhere(self._session, record["id"], question.asking):
            record = self._moved.find(question)
            if record is None or not self.growing.may_answer(question, record["created_at"]):
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
        if self._records.is_strange(question.asking):
            self._session.writes.notify(
                f"answers of {question.endpoint.provider} in step {question.scope.step!r} are not"
                f" replayed, as they may be another user's; {TRUST_IT}",
            )

    def format_missing(self, question: Question) -> str:
        """The message for a call that was not recorded, or too long ago."""
        step, nth = question.scope.step, question.occurrence.number + 1
        others = self._records.of_step(step)[:_COMPARED]
        near = [
            nearest.Near(r["id"], r["occurrence"], self._asked_of(r))
            for r in others
            if r["provider"] == question.endpoint.provider
        ]
        what = f"{question.endpoint.provider} {question.endpoint.kind.name}"
        if self._records.made(question.asking):
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
