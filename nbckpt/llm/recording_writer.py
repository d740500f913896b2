"""Writing of what model calls brought: their recordings, and events of those that failed."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING

from nbckpt.config.record_hosts import fields_of
from nbckpt.errors import StoreError, line_of
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.llm.call import Call
from nbckpt.llm.fields import Fields, values_of
from nbckpt.llm.flights import Landed
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.outcomes import CallOutcomes
from nbckpt.llm.recording_parts import kept_of, recording_of
from nbckpt.llm.replay import ReplayLookup
from nbckpt.llm.secrets import redacted_text, secrets_of
from nbckpt.llm.session_budget import SessionBudget
from nbckpt.runtime import clock, telemetry
from nbckpt.runtime.interrupts import whole
from nbckpt.timeline.recordings import Outcome, Recording, recording_record

if TYPE_CHECKING:
    from nbckpt.session.session import Session


_GONE = (404, 410)
_FORBIDDEN = 403
_AGAIN = "`%rerun --fresh` or `with nbckpt.recording(mode='record')` makes it again"


class RecordingWriter:
    """Writes the recordings of a session's calls.

    Attributes
    ----------
    outcomes
        Counts of the session's calls.
    """

    def __init__(
        self, session: Session, lookup: ReplayLookup, budget: SessionBudget, outcomes: CallOutcomes
    ) -> None:
        self.outcomes = outcomes
        self._session = session
        self._lookup = lookup
        self._budget = budget

    @whole
    def keep(self, call: Call, state: Outcome) -> Future[None] | None:
        """Write what a call brought; done when it is durable, None if the disk refused."""
        question, store = call.question, self._session.store
        kept = kept_of(call, self._fields())
        what = "recorded" if state == "done" else "partial"
        self.outcomes.count(what, question.endpoint.provider, question.scope)
        shared = call.flight.close() if call.flight is not None and state == "done" else 0
        try:
            with getattr(store, "writing", nullcontext)():
                blob = store.put_blob(kept.parts)
                recording = recording_of(call, kept, blob, state, self._session)
                recording = recording._replace(shared=shared)
                if (price := self._budget.ended(call, recording.model, state)) is not None:
                    recording = recording._replace(cost_usd=price.usd, price=price.source)
                written = self._append(recording)
            if state == "done":
                response = RecordedResponse(call.status, call.headers, tuple(call.chunks))
                self._lookup.growing.answered(question, response, clock.now())
            if not call.is_cut:  # else its failure is told
                _observe(call, recording)
            if state == "done":
                self._land(call, recording, written)
            return written
        except StoreError as problem:
            if state == "done":
                self._land(call, None, None)
            self._session.writes.owe_event(
                "not_recorded", name=question.scope.step, error=str(problem)
            )
            self._session.writes.notify(
                f"an answer of {question.endpoint.provider} is NOT recorded: {problem}",
            )
            return None

    def _land(self, call: Call, recording: Recording | None, written: Future[None] | None) -> None:
        """Have those who wait get an answer, as the one who asked: when it is durable."""
        if (flight := call.flight) is None:
            return
        landed = Landed(RecordedResponse(call.status, call.headers, tuple(call.chunks)), recording)
        if written is None:
            flight.land(landed)
            return

        def land(_: object, _held: Call = call) -> None:
            # A call that is collected before has no answer for them, and its asker wakes first.
            flight.land(landed)

        written.add_done_callback(land)

    def _append(self, recording: Recording) -> Future[None]:
        record = recording_record(recording)
        written = self._lookup.append(record)
        if recording.state == "done":
            self._session.state(AnswerOwners).gives(self._session, recording.id)
            self._session.writes.follow(f"an answer of {recording.provider}", written)
        return written

    @whole
    def passed(self, call: Call, failure: str) -> None:
        """Let an answer pass that is not the last: a job goes on, or has ended in `failure`."""
        question = call.question
        self._budget.failed(call, "")
        call.give_up()
        self.outcomes.count("followed", question.endpoint.provider)
        if failure:
            self.outcomes.notify_missed(
                question.asked.url,
                f"{question.endpoint.provider} says that what step {question.scope.step!r} asks"
                f" for has {failure}: {question.endpoint.path}; what began it is replayed,"
                f" {_AGAIN}",
            )

    @whole
    def failed(self, call: Call, error: BaseException | str) -> None:
        """Note that a call was not answered."""
        question = call.question
        self._budget.failed(call, error)
        scope_, endpoint = question.scope, question.endpoint
        question.give_back()
        if call.flight is not None:
            call.flight.land()
        self.outcomes.count("failed", endpoint.provider, scope_)
        text = error if isinstance(error, str) else line_of(error)
        is_gone = call.status in _GONE
        # Gemini does not tell what is gone from what one may not see.
        is_gone |= call.status == _FORBIDDEN and endpoint.provider == "gcp.gemini"
        if is_gone and self.outcomes.is_made_before(scope_.step):
            self.outcomes.notify_missed(
                f"gone in {scope_.step}",
                f"{endpoint.provider} no longer knows something that step {scope_.step!r} asks"
                f" for (HTTP {call.status}); what an earlier run made there is replayed, {_AGAIN}",
            )
        kind = str(call.status or "no_answer") if isinstance(error, str) else type(error).__name__
        _observe(call, error=kind)
        values = values_of(question.asked, question.body, self._fields())
        try:
            self._session.writes.record_event(
                "model_call_failed",
                name=scope_.step,
                provider=endpoint.provider,
                endpoint=endpoint.kind.name,
                model=question.model,
                request=question.request,
                error=redacted_text(text, secrets_of(question.asked, values))[:500],
                took_s=call.duration_s,
            )
        except StoreError as problem:
            self._session.writes.notify(str(problem))

    def _fields(self) -> Fields:
        """Names of the fields that the user does not want written."""
        return fields_of(self._session.settings.secret_fields)


def _observe(call: Call, recording: Recording | None = None, error: str = "") -> None:
    """Have OpenTelemetry know of a call that was made, where it is in use."""
    if (watch := telemetry.watching()) is None:
        return
    endpoint = call.question.endpoint
    with telemetry.harmless():
        told = telemetry.ModelCall(
            endpoint.provider,
            endpoint.kind.name,
            call.question.model,
            endpoint.host,
            call.duration_s,
            error=error,
        )
        if recording is not None:
            told = told._replace(
                answered_by=recording.model,
                tokens_in=recording.tokens_in,
                tokens_out=recording.tokens_out,
            )
        watch.take_call(told)
