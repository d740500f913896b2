"""The recorder of a session: answers calls from its store, and keeps what comes back."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from weakref import finalize

from nbckpt.config.record_hosts import fields_of
from nbckpt.digests import Digest
from nbckpt.errors import (
    TRUST_IT,
    BudgetError,
    NbckptError,
    ReplayError,
    StoreError,
    line_of,
)
from nbckpt.llm import keys, nearest, providers, scope
from nbckpt.llm.asked import Asked, Kept
from nbckpt.llm.budget import Purse
from nbckpt.llm.call import Call, Question
from nbckpt.llm.fields import Fields, hidden, values_of
from nbckpt.llm.flights import Landed
from nbckpt.llm.index import Asking, Index, newest
from nbckpt.llm.making import kept_of, recording_of
from nbckpt.llm.noticing import named
from nbckpt.llm.providers import Endpoint
from nbckpt.llm.secrets import redacted_text, secrets_of
from nbckpt.llm.turns import Turn, taken
from nbckpt.model import Record
from nbckpt.runtime import clock, telemetry
from nbckpt.runtime.interrupts import whole
from nbckpt.timeline.recordings import (
    RECORDING,
    Outcome,
    Recording,
    recording_from,
    recording_record,
)

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_COMPARED = 50


class Recorder:
    """Records and replays the model calls of a session's steps.

    Attributes
    ----------
    mode
        What is done where no `recording` block says anything else.
    ttl_s
        How old a recording may be that answers, where no block says anything else; None: any age.
    tags
        Of all that is recorded.
    coalesce
        Whether equal calls in flight share an answer, where no block says anything else.
    seen
        Model calls by provider, those outside of steps, too.
    counts
        How many were ``recorded``, ``replayed``, ``failed``, ``partial``, ``passed`` through, and
        ``stopped`` before they were sent, each per provider.
    purse
        What they cost, and the budget.
    """

    def __init__(self, session: Session, mode: scope.Mode = "replay") -> None:
        self.mode = mode
        self.ttl_s: float | None = None
        self.tags: tuple[str, ...] = ()
        self.coalesce = False
        self.seen: Counter[str] = Counter()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.purse = Purse(session)
        self._session = session
        self._index = Index()
        self._missed: set[str] = set()
        self._taken = 0
        self._generation = session.store.generation
        self._lock = threading.Lock()

    @whole
    def begin(self, asked: Asked, *, blocks: bool = True) -> Call | None:
        """The call of a request: answered, waiting for an equal one, or to be sent.

        Parameters
        ----------
        blocks
            True if waiting for an equal one would hold up the thread.

        Returns
        -------
        Call or None
            None if it is to be left alone: it is not a model call or outside of steps, or
            recording is off. Give one with `awaited` to `go_on` when that has landed.

        Raises
        ------
        ReplayError
            In mode ``only``, if it was not recorded.
        BudgetError
            If it would have to be paid, and pass the budget.
        """
        try:
            return self._begin(asked, blocks=blocks)
        except Exception as problem:  # whatever it is, the user's request has to be sent
            self.defect(problem)
            return None

    @whole
    def go_on(self, call: Call, *, blocks: bool = True) -> Call | None:
        """The call that follows one that has waited for an equal one: as `begin`."""
        flight, question = call.awaited, call.question
        assert flight is not None
        try:
            if (
                not flight.landed.done()
            ):  # it takes too long: whoever reads it may wait for this one
                flight.leave()
                return self._alone(question)
            landed = flight.landed.result()
            if landed is None:
                return self._coalesced(question, blocks=blocks)
            return self._answered(question, landed)
        except Exception as problem:  # as above
            self.defect(problem)
            return None

    def _begin(self, asked: Asked, *, blocks: bool) -> Call | None:
        body = keys.canonical(asked)
        endpoint = _endpoint(asked, body.members)
        if endpoint is None:
            return None
        place = scope.here()
        mode, within = place.mode or self.mode, place.scope
        with self._lock:
            self.seen[endpoint.provider] += 1
        if within is None or mode == "off":
            try:
                self.purse.unseen(endpoint, body.members, len(asked.body))
            except BudgetError:
                self._count_stopped(endpoint.provider)
                raise
            with self._lock:
                self.counts["passed", endpoint.provider] += 1
            return None
        request = keys.key_of(asked, endpoint, body)
        ttl_s = self.ttl_s if place.ttl_s is None else place.ttl_s
        tags = tuple(dict.fromkeys((*self.tags, *place.tags)))
        mode = "record" if within.is_fresh and mode != "only" else mode
        question = Question(asked, endpoint, body, request, within, Turn(0), tags, ttl_s, mode)
        is_shared = self.coalesce if place.coalesce is None else place.coalesce
        return self._coalesced(question, blocks=blocks) if is_shared else self._alone(question)

    def _alone(self, question: Question) -> Call:
        """A call with a place of its own among its equals."""
        question = question._replace(turn=self._turn(question.scope, question.request))
        if question.mode == "record":
            return self._paid(question)
        found = self._kept(question)
        if found is not None:
            if found.recording is not None:
                shared = found.recording.shared
                question.scope.flights.share(question.request, question.turn, shared)
            return self._answered(question, found)
        self._tell_strange(question)
        if question.mode == "only":
            question.give_back()
            self._count_stopped(question.endpoint.provider)
            raise ReplayError(self._told(question))
        return self._paid(question)

    def _tell_strange(self, question: Question) -> None:
        with self._lock:
            is_strange = self._index.is_strange(question.asking)
        if is_strange:
            self._tell(
                f"answers of {question.endpoint.provider} in step {question.scope.step!r} are not"
                f" replayed, as they may be somebody else's; {TRUST_IT}"
            )

    def _coalesced(self, question: Question, *, blocks: bool) -> Call:
        """A call that waits for an equal one in flight, or has others wait for it."""
        flight, is_waiting = question.scope.flights.take(question.request, blocks=blocks)
        if is_waiting:
            return Call(self, question, awaited=flight)
        if flight is None:
            return self._alone(question)
        try:
            call = self._shared(question) or self._alone(question)
        except BaseException:
            flight.land()
            raise
        if call.kept is not None:
            flight.land()
            return call
        call.flight = flight
        finalize(call, flight.land).atexit = False  # nobody may read it, or close it
        return call

    def _shared(self, question: Question) -> Call | None:
        """A call that gets an answer once more for which it waited in an earlier run."""
        turn = question.scope.flights.shared(question.request)
        if turn is None or question.mode == "record":
            return None
        question = question._replace(turn=turn)
        found = self._kept(question)
        return None if found is None else self._answered(question, found)

    def _turn(self, within: scope.Scope, request: Digest) -> Turn:
        """The place of a request among its equals, in its step and in the item of that."""
        if not within.has_items:
            return Turn(within.reserve(request))
        with self._lock:
            self._look()
            known = self._index.of_items(within.step).of(request)
        return taken(request, within, within.around or within, known)

    def _paid(self, question: Question) -> Call:
        call = Call(self, question)
        try:
            self.purse.begin(call)
        except BudgetError:
            question.give_back()
            self._count_stopped(question.endpoint.provider)
            raise
        return call

    def _count_stopped(self, provider: str) -> None:
        with self._lock:
            self.counts["stopped", provider] += 1

    # -- replay -------------------------------------------------------------------------------

    def _kept(self, question: Question) -> Landed | None:
        record = self._find(question.asking, question.ttl_s)
        if record is None:
            return None
        try:
            recording = recording_from(record)
            body = bytes(self._session.store.get_blob(recording.blob, of=record)[1])
        except NbckptError as problem:
            step = record["step"]
            self._tell(f"a recording of step {step!r} cannot be read and is paid anew: {problem}")
            return None
        kept = Kept(recording.status, recording.headers, _cut(body, recording.sizes))
        return Landed(kept, recording)

    def _answered(self, question: Question, landed: Landed) -> Call:
        """A call that is not sent."""
        self._count(question.scope, "replayed", question.endpoint.provider)
        if (recording := landed.recording) is not None:
            question.scope.save(
                recording.id,
                {
                    "duration_s": recording.duration_s,
                    "tokens_in": recording.tokens_in,
                    "tokens_out": recording.tokens_out,
                    "cost_usd": recording.cost_usd,
                },
            )
        return Call(self, question, landed.kept)

    def _find(self, asking: Asking, ttl_s: float | None = None) -> Record | None:
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
        with self._lock:
            self._look()
            return self._index.find(asking)

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

    def _told(self, question: Question) -> str:
        step = question.scope.step
        with self._lock:
            others = self._index.of_step(step)[:_COMPARED]
        near = [
            nearest.Near(r["id"], r["occurrence"], self._asked_of(r))
            for r in others
            if r["provider"] == question.endpoint.provider
        ]
        what = f"{question.endpoint.provider} {question.endpoint.kind.name}"
        if self._made(question.asking):
            return (
                f"call {question.occurrence + 1} of this {what} request in step {step!r} was "
                f"recorded longer ago than its ttl of {question.ttl_s:g} s: give a longer ttl, or "
                "run it without mode 'only'"
            )
        asked = hidden(question.body.members, self._fields())
        return (
            f"no recording of call {question.occurrence + 1} of this {what} request in step "
            f"{step!r}; {nearest.told(asked, near)}: "
            "run it once with recording on, or without mode 'only'"
        )

    def _asked_of(self, record: Record) -> dict[str, Any] | None:
        try:
            value = json.loads(bytes(self._session.store.get_blob(record["blob"])[0]))
        except (NbckptError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    # -- record -------------------------------------------------------------------------------

    @whole
    def keep(self, call: Call, state: Outcome) -> Future[None] | None:
        """Write what a call brought; done when it is durable, None if the disk refused."""
        question, store = call.question, self._session.store
        kept = kept_of(call, self._fields())
        what = "recorded" if state == "done" else "partial"
        self._count(question.scope, what, question.endpoint.provider)
        shared = call.flight.close() if call.flight is not None and state == "done" else 0
        try:
            with getattr(store, "writing", nullcontext)():
                blob = store.put_blob(kept.parts)
                recording = recording_of(call, kept, blob, state, self._session)
                recording = self.purse.ended(call, recording._replace(shared=shared))
                written = self._append(recording)
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
            self._tell(f"an answer of {question.endpoint.provider} is NOT recorded: {problem}")
            return None

    def _land(self, call: Call, recording: Recording | None, written: Future[None] | None) -> None:
        """Have those who wait get an answer, as the one who asked: when it is durable."""
        if (flight := call.flight) is None:
            return
        landed = Landed(Kept(call.status, call.headers, tuple(call.chunks)), recording)
        if written is None:
            flight.land(landed)
            return

        def land(_: object, _held: Call = call) -> None:
            # A call that is collected before has no answer for them, and its asker wakes first.
            flight.land(landed)

        written.add_done_callback(land)

    def _append(self, recording: Recording) -> Future[None]:
        record = recording_record(recording)
        with self._lock:
            written = self._session.writes.append([record])
            self._index.take([record])
        if recording.state == "done":
            self._session.writes.follow(f"an answer of {recording.provider}", written)
        return written

    @whole
    def failed(self, call: Call, error: BaseException | str) -> None:
        """Note that a call was not answered."""
        question = call.question
        self.purse.failed(call)
        scope_, endpoint = question.scope, question.endpoint
        question.give_back()
        if call.flight is not None:
            call.flight.land()
        self._count(scope_, "failed", endpoint.provider)
        text = error if isinstance(error, str) else line_of(error)
        kind = str(call.status or "no_answer") if isinstance(error, str) else type(error).__name__
        _observe(call, error=kind)
        values = values_of(question.asked, question.body, self._fields())
        try:
            self._session.writes.record_event(
                "model_call_failed",
                name=scope_.step,
                provider=endpoint.provider,
                endpoint=endpoint.kind.name,
                model=providers.model_of(endpoint, question.body.members),
                request=question.request,
                error=redacted_text(text, secrets_of(question.asked, values))[:500],
                took_s=call.duration_s,
            )
        except StoreError as problem:
            self._tell(str(problem))

    def _count(self, within: scope.Scope, what: str, provider: str) -> None:
        within.count(what, provider)
        with self._lock:
            self.counts[what, provider] += 1

    def _fields(self) -> Fields:
        """Names of the fields that the user does not want written."""
        return fields_of(self._session.settings.secret_fields)

    def defect(self, problem: Exception) -> None:
        """Say that a call was not recorded though it should have been."""
        what = f"{type(problem).__name__}: {problem}"
        self._tell(f"a model call was NOT recorded, by a defect in nbckpt: {what}")

    def missed(self, place: str, text: str) -> None:
        """Say, once for each place, that what is asked there is not seen."""
        with self._lock:
            is_new = place not in self._missed
            self._missed.add(place)
        if is_new:
            self._tell(text)

    def _tell(self, text: str) -> None:
        """Have the user hear something at the next prompt, once."""
        if text not in self._session.writes.news:
            self._session.writes.news.append(text)


def _endpoint(asked: Asked, members: Mapping[str, Any] | None) -> Endpoint | None:
    """Endpoint of a request; None if it is neither a model call nor to a host that is named."""
    endpoint = providers.endpoint_of(asked.method, asked.url)
    host = named(asked.method, asked.url)
    if endpoint is not None and providers.is_asked_as(endpoint, members):
        return endpoint._replace(provider=host.provider) if host and host.provider else endpoint
    return None if host is None else providers.raw_endpoint(asked.url, host.provider)


def _observe(call: Call, recording: Recording | None = None, error: str = "") -> None:
    """Have OpenTelemetry know of a call that was made, where it is in use."""
    if (watch := telemetry.watching()) is None:
        return
    endpoint = call.question.endpoint
    with telemetry.harmless():
        told = telemetry.ModelCall(
            endpoint.provider,
            endpoint.kind.name,
            providers.model_of(endpoint, call.question.body.members),
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


def _cut(body: bytes, sizes: Any) -> list[bytes]:
    """The chunks of an answer."""
    chunks, at = [], 0
    for size in sizes:
        chunks.append(body[at : at + size])
        at += size
    return chunks
