"""The recorder of a session: answers calls from its store, and keeps what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import finalize

from nbckpt.config.record_hosts import fields_of, host_named
from nbckpt.errors import BudgetError, ReplayError
from nbckpt.llm import providers, request_keys, scope
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.llm.budget_turns import Turn
from nbckpt.llm.call import Call
from nbckpt.llm.endpoint_kinds import MAKES
from nbckpt.llm.flights import Landed
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.occurrence import Occurrence
from nbckpt.llm.outcomes import CallOutcomes
from nbckpt.llm.providers import Endpoint
from nbckpt.llm.question import Question
from nbckpt.llm.recording_writer import RecordingWriter
from nbckpt.llm.replay import ReplayLookup
from nbckpt.llm.request_keys import Canonical
from nbckpt.llm.session_budget import SessionBudget
from nbckpt.llm.step_scope import Scope
from nbckpt.llm.unkept_calls import UnkeptCalls
from nbckpt.runtime.collected import do_waiting
from nbckpt.runtime.interrupts import whole

if TYPE_CHECKING:
    from nbckpt.session.session import Session


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
    outcomes
        Counts of the calls.
    budget
        What they cost, and the budget.
    """

    def __init__(self, session: Session, mode: scope.Mode = "replay") -> None:
        self.mode = mode
        self.ttl_s: float | None = None
        self.tags: tuple[str, ...] = ()
        self.coalesce = False
        self.outcomes = CallOutcomes(session)
        self.budget = SessionBudget(session)
        self._session = session
        self._lookup = ReplayLookup(session)
        self._writer = RecordingWriter(session, self._lookup, self.budget, self.outcomes)
        self._owners = session.state(AnswerOwners)
        self._unkept = UnkeptCalls(self.budget, self.outcomes)

    def near_misses(self, step: str) -> list[str]:
        """What differed in the calls of a step that were paid, from what was answered before."""
        return self._lookup.near_misses.of(step)

    @property
    def ignored(self) -> frozenset[str]:
        """Members of requests that the user does not want compared."""
        return fields_of(self._session.settings.match_ignore)

    @whole
    def begin(self, asked: HttpRequest, *, blocks: bool = True) -> Call | None:
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
        do_waiting()
        try:
            return self._begin(asked, blocks=blocks)
        except Exception as problem:  # whatever it is, the user's request has to be sent
            self.outcomes.notify_defect(problem)
            return None
        finally:
            do_waiting()

    @whole
    def go_on(self, call: Call, *, blocks: bool = True) -> Call | None:
        """The call that follows one that has waited, for an equal one or its turn: as `begin`."""
        do_waiting()
        flight, question = call.awaited, call.question
        assert flight is not None
        if isinstance(flight, Turn):
            return self._admitted(call, blocks=blocks)
        try:
            if (
                not flight.landed.done()
            ):  # it takes too long: whoever reads it may wait for this one
                flight.leave()
                return self._alone(question, blocks=blocks)
            landed = flight.landed.result()
            if landed is None:
                return self._coalesced(question, blocks=blocks)
            return self._answered(question, landed)
        except Exception as problem:  # as above
            self.outcomes.notify_defect(problem)
            return None

    def _begin(self, asked: HttpRequest, *, blocks: bool) -> Call | None:
        body = request_keys.canonical(asked)
        endpoint = _endpoint(asked, body.members, self._session.settings.record_hosts)
        if endpoint is None:
            return None
        place = scope.here()
        mode, within = place.mode or self.mode, place.scope
        self.outcomes.count_seen(endpoint.provider)
        if within is None or mode == "off":
            return self._unseen(asked, endpoint, body, blocks=blocks)
        request = request_keys.key_of(asked, endpoint, body, self.ignored)
        ttl_s = self.ttl_s if place.ttl_s is None else place.ttl_s
        tags = tuple(dict.fromkeys((*self.tags, *place.tags)))
        mode = "record" if within.is_fresh and mode != "only" else mode
        question = Question(
            asked, endpoint, body, request, within, Occurrence(0), tags, ttl_s, mode
        )
        is_shared = self.coalesce if place.coalesce is None else place.coalesce
        if is_shared:
            return self._coalesced(question, blocks=blocks)
        return self._alone(question, blocks=blocks)

    def _unseen(
        self, asked: HttpRequest, endpoint: Endpoint, body: Canonical, *, blocks: bool
    ) -> Call | None:
        """A call that is not recorded; None if nothing is to be known of it either."""
        if self.budget.rule is None:
            self.outcomes.count("passed", endpoint.provider)
            return None
        question = Question(asked, endpoint, body, "", Scope(""), Occurrence(0), mode="off")
        return self._admitted(Call(self._unkept, question), blocks=blocks)

    def _alone(self, question: Question, *, blocks: bool) -> Call:
        """A call with a place of its own among its equals."""
        if not question.endpoint.kind.is_read:
            occurrence = self._lookup.place(question.scope, question.request)
            question = question._replace(occurrence=occurrence)
        if question.mode == "record":
            return self._admitted(Call(self._writer, question), blocks=blocks)
        found = self._lookup.answer(question)
        if found is not None:
            if found.recording is not None:
                shared = found.recording.shared
                question.scope.flights.share(question.request, question.occurrence, shared)
            return self._answered(question, found)
        self._lookup.notify_untrusted(question)
        if question.mode == "only":
            question.give_back()
            self.outcomes.count("stopped", question.endpoint.provider)
            raise ReplayError(self._lookup.format_missing(question))
        self._lookup.near_misses.note(question)
        if name := self._lookup.growing.changed(question):
            self.outcomes.notify_missed(
                f"{name} in {question.scope.step}",
                f"step {question.scope.step!r} goes on in {name}, which holds what an earlier run"
                " of it put there and this one did not: `%rerun --fresh` or"
                " `with nbckpt.recording(mode='record')` begins with a new one",
            )
        return self._admitted(Call(self._writer, question), blocks=blocks)

    def _coalesced(self, question: Question, *, blocks: bool) -> Call:
        """A call that waits for an equal one in flight, or has others wait for it."""
        flight, is_waiting = question.scope.flights.take(question.request, blocks=blocks)
        if is_waiting:
            return Call(self._writer, question, awaited=flight)
        if flight is None:
            return self._alone(question, blocks=blocks)
        try:
            call = self._shared(question) or self._alone(question, blocks=blocks)
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
        occurrence = question.scope.flights.shared(question.request)
        if occurrence is None or question.mode == "record":
            return None
        question = question._replace(occurrence=occurrence)
        found = self._lookup.answer(question)
        return None if found is None else self._answered(question, found)

    def _admitted(self, call: Call, *, blocks: bool) -> Call:
        """A call that is to be sent, or to wait until the budget has room for it."""
        question = call.question
        try:
            call.awaited = self.budget.begin(call, blocks=blocks)
        except BudgetError:
            call.give_up()
            self.outcomes.count("stopped", question.endpoint.provider)
            raise
        if call.awaited is None:
            call.may_ask = self._session.settings.stream_usage == "on"
            call.begins()
            if question.mode == "off":
                self.outcomes.count("passed", question.endpoint.provider)
        return call

    def _answered(self, question: Question, landed: Landed) -> Call:
        """A call that is not sent."""
        self.outcomes.count("replayed", question.endpoint.provider, question.scope)
        self._lookup.growing.replayed(question, landed)
        if question.endpoint.kind.name in MAKES:
            self.outcomes.note_made_before(question.scope.step)
        if (recording := landed.recording) is not None:
            self._owners.gives(self._session, recording.id)
            question.scope.save(
                recording.id,
                {
                    "duration_s": recording.duration_s,
                    "tokens_in": recording.tokens_in,
                    "tokens_out": recording.tokens_out,
                    "cost_usd": recording.cost_usd,
                },
            )
        return Call(self._writer, question, landed.kept)


def _endpoint(asked: HttpRequest, members: Mapping[str, Any] | None, hosts: str) -> Endpoint | None:
    """Endpoint of a request; None if it is neither a model call nor to a host that is named."""
    endpoint = providers.endpoint_of(asked, members)
    host = host_named(hosts, asked.method, asked.url)
    if endpoint is not None:
        return endpoint._replace(provider=host.provider) if host and host.provider else endpoint
    return None if host is None else providers.raw_endpoint(asked.url, host.provider)
