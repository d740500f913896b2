"""One call of a step: known by what it depends on, answered from the store, or kept."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from nbckpt.errors import CaptureError, NbckptError, StoreError
from nbckpt.fingerprint.keys.difference import difference as key_difference
from nbckpt.llm import scope
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.model import Record, is_trusted
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import result_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session
from nbckpt.steps.calls import intents, occurrences
from nbckpt.steps.calls.arguments import Arguments, digest_of_arguments
from nbckpt.steps.calls.attempts import Attempts, error_text
from nbckpt.steps.calls.call_inputs import CallInputs, difference, repeat
from nbckpt.steps.calls.code import BoundGlobals, Code
from nbckpt.steps.calls.decorated_function import DecoratedFunction
from nbckpt.steps.calls.kept_calls import (
    KIND,
    CallId,
    Index,
    index_of,
)
from nbckpt.steps.calls.occurrences import Occurrences, Place
from nbckpt.steps.calls.results import decoded, encoded
from nbckpt.steps.calls.step_messages import tell
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.blobs import size_of_parts

_R = TypeVar("_R")
_NO_MEMBERS: Record = MappingProxyType({})


class Answer(NamedTuple):
    """Kept result of a call."""

    value: object


@dataclass(eq=False)
class StepCall:
    """A call that has its place among its equals.

    Attributes
    ----------
    own
        Where the calls are counted that it makes itself.
    """

    known: DecoratedFunction
    session: Session
    id: CallId
    code: Code
    arguments: Arguments
    place: Place
    step: str | None
    attempts: Attempts
    own: Occurrences = field(default_factory=Occurrences)
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        name, _, arguments, n = self.id
        self._calls = scope.within(f"{name}({arguments[:16]})#{n}")
        self._inputs = CallInputs(self.session)
        self._globals = BoundGlobals(self.known.plan.function, self.code)

    def inside(self, function: Callable[..., _R], /, *args: Any) -> _R:
        """Call a function; what it calls belongs to this call: other steps, and models.

        So nothing shifts for what comes after it when it is answered, and each of several equal
        calls that has no answer asks a model anew.
        """
        within = partial(occurrences.inside, self.own, self._inputs.inside, function)
        answer: _R = scope.inside(self._calls, within, *args)
        return answer

    async def inside_async(self, function: Callable[..., Awaitable[_R]], /, *args: Any) -> _R:
        """As `inside`, of one to wait for."""
        within = partial(occurrences.inside_async, self.own, self._inputs.inside_async, function)
        answer: _R = await scope.inside_async(self._calls, within, *args)
        return answer

    @property
    def is_anew(self) -> bool:
        """True if it is to run though there may be an answer: by ``--fresh``, or when recording."""
        return self.session.state(StepState).pays_again or scope.here().mode == "record"

    @property
    def index(self) -> Index:
        """Index of the calls in the store."""
        return index_of(self.session)

    def answer(self) -> Answer | None:
        """Kept result of this call, as a copy of the caller's own; None if it is to run.

        Raises
        ------
        UncertainError
            If it must not be repeated, and nobody knows whether it was done.
        """
        plan = self.known.plan
        if plan.once:
            record = intents.certain(self.session, self.id, self.code, self.arguments)
        else:
            record = None if self.is_anew else self.index.done(self.id)
            if record is not None and (why := difference(self.session, record)):
                self._say(why)
                return None
        if record is None:
            self._say_why()
            return None
        try:
            parts = self.session.store.get_blob(record["blob"])
            answer = Answer(decoded(parts, plan.namespace, trusted=is_trusted(record)))
        except user_code_errors() as error:  # a value's own code may raise anything
            problem = f"step {plan.name!r}: its result did not come back: {error_text(error)}"
            if plan.once:
                raise intents.not_back(plan.name, problem) from error
            tell(self.session, f"{problem}; it runs again")
            return None
        if (within := scope.here().scope) is not None:
            within.count("calls_replayed", "")
        self.session.state(AnswerOwners).keeps(self.session, self._calls.step)
        repeat(self.session, record)
        return answer

    def _say_why(self) -> None:
        """Where there is an answer by other code, say what differs."""
        # Functions that differ by what they close over have one name and are all there at once.
        if self.is_anew or self.known.plan.function.__closure__:
            return
        if why := self.index.why_anew(self.id, self.code):
            self._say(why)

    def _say(self, why: str) -> None:
        told = f"step {self.known.plan.name!r} runs again: {why}"
        self.known.tell_once(self.session, f"{self.code.digest} {why}", told)

    # -- what becomes of it

    def intend(self) -> None:
        """Have it durable that the function is about to run, if it must not run twice.

        Raises
        ------
        StoreError
            If the disk refuses: the function has not run.
        """
        if (future := self.intention()) is not None:
            result_of(future)

    def intention(self) -> Future[None] | None:
        """The same, for who waits otherwise."""
        return self._append("intent") if self.known.plan.once else None

    def failed(self, error: BaseException) -> None:
        """Note that there is no answer: the next equal call stands in its place."""
        self.place.give_back(self.id.key)
        try:
            self._append("failed", {"error": error_text(error)}, durable=self.known.plan.once)
        except NbckptError as problem:
            tell(
                self.session, f"step {self.known.plan.name!r}: its failure was NOT kept: {problem}"
            )

    def keep(self, value: object, **members: object) -> Future[None] | None:
        """Put an answer into the store; the future is done when it is durable, None if it is not.

        Why it is not kept is told: what the function made is there all the same.
        """
        plan = self.known.plan
        try:
            self.place.among.unanswered |= self.own.unanswered  # so is what calls this
            if self.own.unanswered or self._calls.is_unanswered:
                return self.keep_nothing("a question of it was not answered")
            self._require_unchanged()
            self._require_no_effect()
            read = (
                {}
                if plan.once
                else self._inputs.members(plan.function, self.arguments.values, self.code.key)
            )
            parts = encoded(value, plan.namespace)
            with self.session.store.writing():
                blob = self.session.store.put_blob(parts)
                size = size_of_parts(parts)
                kept = {"blob": blob, "size_bytes": size, **read, **members}
                return self._append("done", kept)
        except (CaptureError, StoreError) as problem:
            return self.keep_nothing(str(problem))
        except user_code_errors() as error:  # what the function made is there all the same
            return self.keep_nothing(f"by a defect in nbckpt: {error_text(error)}")

    def wait(self, written: Future[None] | None) -> None:
        """Return when the answer is durable; if the disk refuses, that is told."""
        if written is None:
            return
        try:
            result_of(written)
        except StoreError as problem:
            self.keep_nothing(str(problem))

    def keep_nothing(self, why: str) -> Future[None] | None:
        """Say that nothing is kept; of what must not be repeated, that it is done."""
        name = self.known.plan.name
        told = f"the result of step {name!r} is NOT kept: {why}"
        if not self.known.plan.once:
            tell(self.session, told)
            return None
        tell(self.session, f"{told}; the next equal call stops and asks, as it must not run twice")
        return self._append("done")

    def _require_unchanged(self) -> None:
        arguments = self.arguments
        if arguments.are_atoms:
            return
        if digest_of_arguments(self.known.plan, arguments.values) != arguments.digest:
            message = (
                "it changes what it is given, which a replay would not;"
                " have it return what it makes of that"
            )
            raise CaptureError(message)

    def _require_no_effect(self) -> None:
        """Raise if the function has changed variables; of what must not be repeated, say so."""
        plan = self.known.plan
        now = self.known.reached.code()
        if bound := self._globals.changed():
            why = f"it binds the global {bound!r}, which a replay would not"
        elif now.digest != self.code.digest:
            what = "; ".join(key_difference(self.code.key, now.key)[:3])
            why = f"it changes what it reads ({what or 'its own code'}), which a replay would not"
        else:
            return
        if not plan.once:
            message = f"{why}; have it return what it makes of that"
            raise CaptureError(message)
        self.known.tell_once(self.session, why, f"step {plan.name!r}: {why}; its result is kept")

    def _append(
        self, state: str, members: Record = _NO_MEMBERS, *, durable: bool = True
    ) -> Future[None]:
        session, plan, made = self.session, self.known.plan, self.attempts.failed
        record: Record = {
            "kind": KIND,
            "name": plan.name,
            "state": state,
            "code": self.id.code,
            "arguments": self.id.arguments,
            "occurrence": self.id.n,
            "step": self.step,
            "checkpoint": session.position.id,
            "session": session.id,
            "branch": session.position.branch,
            "attempts": max(made, 1) if state == "failed" else made + 1,
            "duration_s": round(time.perf_counter() - self.began, 6),
            "created_at": clock.now(),
            **members,
        }
        if (occurrence := self.place.occurrence).item:
            record = {**record, "item": occurrence.item, "nth": occurrence.nth}
        if plan.once:
            record = {**record, "once": True, "given": self.arguments.text}
        if not self.index.knows(self.code):
            key = self.code.key
            record = {**record, "reads": {"inputs": key.inputs, "functions": key.functions}}
        written = session.writes.append([record], durable=durable)
        self.index.note(record)
        return written
