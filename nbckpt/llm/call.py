"""One call from its request to what is kept of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from nbckpt.llm import asked_usage, bodies, endpoint_kinds, event_frames
from nbckpt.llm.asked_usage import AskedUsage
from nbckpt.llm.flights import Flight
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.outcomes import CallOutcomes
from nbckpt.llm.question import Question
from nbckpt.llm.service_tiers import dearer_tier_asked
from nbckpt.llm.step_scope import Scope
from nbckpt.llm.usage import BATCH, Usage, usage_in_headers, usage_of
from nbckpt.runtime import clock
from nbckpt.runtime.collected import when_outside
from nbckpt.runtime.interrupts import held
from nbckpt.text.content_encodings import decoded, decoder
from nbckpt.timeline.recordings import Headers, Outcome

if TYPE_CHECKING:
    from nbckpt.llm.budget_turns import Turn

_P = ParamSpec("_P")
_R = TypeVar("_R")
_TELL_OF_ENDS = (__name__, "nbckpt.llm.seams")
_TAIL = 64
"""Bytes of what came before that a mark of a stream may begin in."""
_THINK_BESIDE = ("gcp.gemini", "gcp.vertex_ai", "openrouter", "x_ai")
"""Providers that count thoughts in the total alone, where they speak as OpenAI does."""
_NOT_YET = 202
_STREAMS = ("event-stream", "eventstream", "ndjson", "stream+json")
"""Parts of the media types of streams."""


def _harmless(method: Callable[_P, _R]) -> Callable[_P, _R | None]:
    """`method`, whose defects are told and do not become the user's."""

    @wraps(method)
    def guarded(*args: _P.args, **named: _P.kwargs) -> _R | None:
        try:
            with held():
                return method(*args, **named)
        except Exception as problem:  # whatever it is, the caller has an answer to get
            call = args[0]
            assert isinstance(call, Call)
            call.defect(problem)
            return None

    return guarded


class CallWriter(Protocol):
    """Writes what a call brought, and what became of it."""

    @property
    def outcomes(self) -> CallOutcomes:
        """Counts of the session's calls."""

    def keep(self, call: Call, state: Outcome) -> Future[None] | None:
        """Write what a call brought; done when it is durable, None if the disk refused."""

    def failed(self, call: Call, error: BaseException | str) -> None:
        """Note that a call was not answered."""

    def passed(self, call: Call, failure: str) -> None:
        """Let an answer pass that is not the last: a job goes on, or has ended in `failure`."""


class Call:
    """One model call, of which a seam tells what happens to it.

    Attributes
    ----------
    kept
        The answer, if it was recorded: then nothing is sent, and nothing told.
    awaited
        An equal call whose answer it may get, or its turn within the budget: then nothing is sent
        before that has come.
    flight
        Its own, for which equal calls may wait.
    is_over
        Whether nothing more has to be told.
    is_cut
        Whether it failed when some of its stream was there.
    events
        JSON values of a stream whose provider did not tell what it took.
    may_ask
        Whether the user lets a stream be asked for more than its caller asks.
    body
        What is to be sent in the place of the request's body, which asks for more; None if nothing
        is: see `asked_usage`.
    extra
        Takes what was asked for more out of the answer.
    """

    def __init__(
        self,
        writer: CallWriter,
        question: Question,
        kept: RecordedResponse | None = None,
        *,
        awaited: Flight | Turn | None = None,
    ) -> None:
        self.question = question
        self.kept = kept
        self.awaited = awaited
        self.flight: Flight | None = None
        self.is_over = kept is not None
        self.created_at = clock.now()
        self.status = 0
        self.headers: Headers = ()
        self.chunks: list[bytes] = []
        self.is_streamed = False
        self.first_byte_s: float | None = None
        self.usage = Usage()
        self.events: list[Any] = []
        self.may_ask = True
        self.body: bytes | None = None
        self.extra: AskedUsage | None = None
        self.is_cut = False
        self._writer = writer
        self._began = time.perf_counter()
        self._is_framed = True
        self._decode: Callable[[bytes], bytes] | None = bytes
        self._tail = b"\n"  # marks stand at the beginning of a line
        self._has_ended = self._is_enough = self._has_failed = self._is_complete = False
        self._passes: str | None = None  # what an answer says that is not the last
        self._written = 0  # bytes that the newest record has

    @property
    def scope(self) -> Scope:
        """The step or item to which it belongs."""
        return self.question.scope

    @property
    def duration_s(self) -> float:
        """Since it began."""
        return time.perf_counter() - self._began

    @property
    def size(self) -> int:
        """Bytes of the answer so far."""
        return sum(map(len, self.chunks))

    def header(self, name: str) -> str:
        """The value of a header of the answer; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def begins(self) -> None:
        """It is sent now, however long it has waited for that."""
        self.created_at, self._began = clock.now(), time.perf_counter()

    def give_up(self) -> None:
        """It is not sent: the next equal request stands in its place, and those go on who wait."""
        self.question.give_back()
        if self.flight is not None:
            self.flight.land()

    @property
    def asking(self) -> bytes | None:
        """A body that has a stream say what it took; None if the request is to stay as it is."""
        question = self.question
        asked = (question.endpoint, question.asked, question.body)
        return asked_usage.body_asking(*asked) if self.may_ask else None

    def ask_usage(self) -> None:
        """Have a stream say what it took, as the seam can send another body."""
        if (body := self.asking) is not None:
            self.body, self.extra = body, AskedUsage()

    @_harmless
    def may_be_refused(self, status: int) -> bool:
        """True if a server may not take what was asked for more: its answer tells."""
        return self.body is not None and status in asked_usage.UNKNOWN

    @_harmless
    def is_refused(self, answer: bytes) -> bool:
        """True if what was asked for more is not taken: the request is to be sent as it is."""
        if not asked_usage.is_refusal(answer):
            return False
        self.body = self.extra = None
        asked_usage.refused_by(self.question.asked)
        return True

    # -- a seam calls these -------------------------------------------------------------------

    @_harmless
    def started(self, status: int, headers: Headers, *, is_framed: bool = True) -> None:
        """The head of the answer is there.

        Parameters
        ----------
        is_framed
            Whether the transport can tell the end of the body from a lost connection.
        """
        self.status, self.headers, self._is_framed = status, headers, is_framed
        if self.flight is not None:
            self.flight.touch()
        media_type = self.header("content-type").lower()
        self.is_streamed = any(name in media_type for name in _STREAMS)
        self._decode = decoder(self.header("content-encoding"))
        kind = self.question.endpoint.kind
        is_data = self.is_streamed or "json" in media_type
        if kind.is_read and (status == _NOT_YET or 300 <= status < 400):  # asked for once more
            self.is_over = True
            self._writer.passed(self, "")
        elif not 200 <= status < 300:
            self.failed(f"HTTP {status}")
        elif not kind.takes_any and ("html" in media_type or (kind.is_json and not is_data)):
            self.failed(f"an answer of type {media_type or 'unknown'}")

    @_harmless
    def chunk(self, data: bytes) -> Future[None] | None:
        """A piece of the body is there; what to wait for before the caller gets it.

        That is only for the last piece of a stream: who has it need not ask for more.
        """
        if self.is_over:
            return None
        if self.first_byte_s is None:
            self.first_byte_s = self.duration_s
        self.chunks.append(bytes(data))
        if self.flight is not None:
            self.flight.touch()
        if not self.is_streamed or self._is_complete:
            return None
        is_last = self._look_at(data)
        return self._keep("done") if is_last and not self._has_failed else None

    @_harmless
    def ended(self) -> Future[None] | None:
        """The body is complete; what to wait for before the caller learns that."""
        if self.is_over:
            return None
        if problem := self._problem():
            self.failed(problem)
            return None
        self.is_over = True
        if self._passes is not None:
            self._writer.passed(self, self._passes)
            return None
        return self._keep("done")

    @_harmless
    def failed(self, error: BaseException | str) -> None:
        """There is no answer, or not all of it: an SDK's retry stands in its place."""
        if self.is_over:
            return
        self.is_over = True
        if self._written:  # what is missing is nothing of the answer
            return
        if self.chunks and self.is_streamed:
            self.is_cut = True
            self._keep("partial")
        self._writer.failed(self, error)

    def left(self) -> None:
        """The caller does not want more, or the collector has met what the caller read from."""
        if not self.is_over:
            when_outside(self._left, but=_TELL_OF_ENDS)

    @_harmless
    def _left(self) -> None:
        if self.is_over:
            return
        if self._has_failed:
            self.failed("the stream said that it failed")
            return
        self.is_over = True
        if self.is_streamed and not self._written and not self.question.endpoint.kind.until:
            self._keep("done" if self._is_enough and not self._problem() else "partial")
        if not self.is_streamed:
            self._writer.failed(self, "the answer was not read")
        elif self.flight is not None and not self._written:
            self.flight.land()

    @_harmless
    def settle(self) -> Future[None] | None:
        """The step ends: what to wait for if all was said, whether or not more is read later."""
        if self.is_over or self._written or self._problem():
            return None
        return self._keep("done")

    def defect(self, problem: Exception) -> None:
        """Follow this call no more: something is wrong here, and not with the call."""
        self.is_over = True
        if self.flight is not None:
            self.flight.land()
        self._writer.outcomes.notify_defect(problem)

    # -- within -------------------------------------------------------------------------------

    def _look_at(self, data: bytes) -> bool:
        """Find the marks of a stream's end, and of its failure; whether what came has the end."""
        if self._decode is None:
            return False
        try:
            text = self._decode(data)
        except Exception:  # of whatever decoder: then only the end of the bytes tells
            self._decode = None
            return False
        window, kind = self._tail + text, self.question.endpoint.kind
        after = text if self._has_ended else b""
        self._tail = window[-_TAIL:]
        if endpoint_kinds.FAILED.search(window):
            self._has_failed = True
        if not self._has_ended and kind.ends and (found := kind.ends.search(window)):
            self._has_ended = True
            after = window[found.end() :]
        if kind.enough is not None and kind.enough.search(window):
            self._is_enough = True
            self.scope.said_all.add(self)
        # What the last event holds besides may be long, and come in more pieces.
        self._is_complete = self._has_ended and b"\n" in after
        return self._is_complete

    def _problem(self) -> str:
        """Why the complete body is no answer; empty if it is one."""
        if self._has_failed:
            return "the stream said that it failed"
        kind = self.question.endpoint.kind
        if self.is_streamed:
            if kind.until and not self._has_ended:  # what goes on is asked for once more
                self._passes = ""
                return ""
            is_framed = self._is_framed and (kind.enough is None or not self._is_of_frames())
            is_whole = is_framed or self._has_ended or self._is_enough
            return "" if is_whole and self.chunks else "the stream ended before its end"
        is_data = "json" in self.header("content-type").lower()
        if not (kind.is_json or kind.takes_any or is_data):
            return "" if self.chunks else "an empty answer"
        text = decoded(b"".join(self.chunks), self.header("content-encoding"))
        if text is None:
            return ""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return "" if kind.takes_any else "an answer that is no JSON"
        if not endpoint_kinds.has_ended(kind, value):
            self._passes = endpoint_kinds.failure_in(kind, value)
            return ""
        if isinstance(value, dict) and value.get("error") and not kind.takes_any:
            return "an answer that says that it failed"
        self.usage = self._usage_of([usage_in_headers(self.header), value])
        return ""

    def _usage_of(self, values: list[Any]) -> Usage:
        thinks_beside = self.question.endpoint.provider in _THINK_BESIDE
        return usage_of(values, self._tier_beside(), thinks_beside=thinks_beside)

    def _is_of_frames(self) -> bool:
        return event_frames.is_framed(self.header("content-type"))

    def _tier_beside(self) -> str:
        """The tier of a call whose answer does not name it."""
        if "/batches/" in self.question.endpoint.path:
            return BATCH
        return self.header("x-gemini-service-tier") or dearer_tier_asked(self.question.members)

    def _keep(self, state: Outcome) -> Future[None] | None:
        if self._written == self.size and self._written:
            return None
        if self.is_streamed:
            text = decoded(b"".join(self.chunks), self.header("content-encoding")) or b""
            kind = self.header("content-type")
            takes_any = self.question.endpoint.kind.takes_any and not self._is_of_frames()
            if state == "done" and not takes_any and bodies.has_broken_event(text, kind):
                self.failed("an event that was broken off")
                return None
            told = [self.extra.event] if self.extra is not None and self.extra.event else []
            self.usage = self._usage_of([*bodies.telling_events(text, kind), *told])
            self.events = [] if self.usage.told else list(bodies.events_in(text, kind))
        self._written = self.size if state == "done" else 0
        return self._writer.keep(self, state)
