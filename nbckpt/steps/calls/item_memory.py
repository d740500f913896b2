"""Memory of one map for its function's items: finds results, keeps new ones."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.errors import CaptureError, NbckptError
from nbckpt.fingerprint.keys.difference import difference as key_difference
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.llm import scope
from nbckpt.llm.answer_owners import AnswerOwners
from nbckpt.llm.step_scope import Scope
from nbckpt.model import Key
from nbckpt.runtime.interrupts import result_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.steps.calls.arguments import digest_of_value
from nbckpt.steps.calls.attempts import error_text
from nbckpt.steps.calls.call_inputs import CallInputs, difference, repeat
from nbckpt.steps.calls.code import BoundGlobals, Code, Reached
from nbckpt.steps.calls.item_results import Keeping, Kept, Place
from nbckpt.steps.calls.outcomes import Outcome, Task
from nbckpt.steps.calls.running import durable
from nbckpt.steps.calls.step_call import Answer
from nbckpt.steps.calls.step_messages import tell
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.loops.clock import Clock
from nbckpt.steps.loops.finished_items import digest_of_item, digest_of_key, is_place
from nbckpt.text.describe import preview_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from nbckpt.steps.execution.execution_state import Execution

_FIGURE = re.compile(r"\d[\d,]*")


class Memory:
    """The results of a function for the items of a step.

    Attributes
    ----------
    name
        Of the function.
    """

    def __init__(
        self,
        step: Execution,
        function: Callable[[Any], Any],
        key: Callable[[Any], object] | None,
        within: Scope,
    ) -> None:
        self.name = str(getattr(function, "__qualname__", None) or type(function).__qualname__)
        self._step, self._session, self._key = step, step.session, key
        self._within, self._function = within, function
        self._told: set[str] = set()
        self._clocks = threading.local()
        self._is_checked = self._has_kept = False
        self._reached = Reached(function) if isinstance(function, FunctionType) else None
        self._of = self._code(function) if step.is_kept else None
        self._globals: BoundGlobals | None = None
        if self._of is not None and isinstance(function, FunctionType):
            self._globals = BoundGlobals(function, self._of)
        self._known: Kept | None = None
        self._keeping: Keeping | None = None
        if self._of is not None:
            self._session.refresh()  # an attempt before this one may have kept some
            place = Place(within.step, self.name, self._of)
            self._known = Kept(self._session, place)
            self._keeping = Keeping(self._session, place, knows_code=self._known.knows_code)

    def _code(self, function: object) -> Code | None:
        """Digest and key of the function; None if it cannot be told from others."""
        if self._reached is not None:
            return self._reached.code()
        digest = digest_of_value(function, self._session.namespace)
        if digest is None:
            self._tell("it cannot be told from other functions: map a `def`")
            return None
        return Code(digest, Key(""))

    def digest_of(self, item: object) -> bytes:
        """Digest that tells an item from others; empty, with a message, where nothing does."""
        namespace = self._session.namespace
        if self._key is not None:
            return digest_of_key(item, self._key, namespace, self._step.request.name)
        digest = digest_of_item(item, namespace, 0)
        if not is_place(digest):
            return digest
        self._tell(f"{preview_of(item)} cannot be told from other items: give map a `key=`")
        return b""

    # -- what is there

    @property
    def is_anew(self) -> bool:
        """True if items are to run though they may have results: by ``--fresh``, or recording."""
        return self._session.state(StepState).pays_again or scope.here().mode == "record"

    def name_of(self, digest: bytes) -> str:
        """Under which the result of the next item with this digest is kept; empty if it is not."""
        if self._of is None or not digest:
            return ""
        inside = f"{self._within.item}/" if self._within.item else ""
        nth = self._step.at.nth(f"{self._within.step} {inside}{self._of.digest}{digest.hex()}")
        return f"{inside}{digest.hex()}#{nth}"

    def result(self, name: str) -> Answer | None:
        """The result that is kept under a name, as a copy of the caller's own."""
        if self._known is None or not name:
            return None
        try:
            result = self._known.result_of(name)
            for problem in self._known.lost:
                self._tell(f"some did not come back, and run again: {problem}")
            if result is None:
                return None
            if why := difference(self._session, result.read):
                self._say(f"runs {self.name!r} again: {why}")
                return None
            repeat(self._session, result.read)
            if not self._has_kept:
                self._has_kept = True
                owners = self._session.state(AnswerOwners)
                owners.keeps(self._session, self._within.step, self._step.cell.source)
            return Answer(self._known.value_of(result.parts))
        except user_code_errors() as error:  # a value's own code may raise anything
            self._tell(f"one did not come back, and runs again: {error_text(error)}")
            return None

    def say_why(self) -> None:
        """Where there are results by other code alone, say what differs."""
        if self._known is not None and (why := self._known.why_none()):
            self._say(f"runs {self.name!r} for all items: {why}")

    def _say(self, what: str) -> None:
        """Say once what the step does."""
        if what not in self._told:
            self._told.add(what)
            tell(self._session, f"step {self._step.request.name!r} {what}")

    # -- what comes: in the thread or task that does it

    def new_clock(self) -> Clock:
        """Says when to keep what one worker has done."""
        return Clock(self._session.settings.track_share)

    def keep(self, outcome: Outcome, inputs: CallInputs | None) -> Outcome:
        """The outcome, whose result is durable, unless that would take too much of the time.

        Parameters
        ----------
        inputs
            What the function has read beside the item; None if it did not run.
        """
        clock: Clock | None = getattr(self._clocks, "clock", None)
        if clock is None:
            clock = self._clocks.clock = self.new_clock()
        written = self._written(outcome, clock, inputs)
        if written is not None:
            self._wait(written)
            clock.kept()
        return outcome

    async def keep_async(
        self, outcome: Outcome, clock: Clock, inputs: CallInputs | None
    ) -> Outcome:
        """The same, awaited."""
        written = self._written(outcome, clock, inputs)
        if written is not None:
            await self._wait_async(written)
            clock.kept()
        return outcome

    def _written(
        self, outcome: Outcome, clock: Clock, inputs: CallInputs | None
    ) -> Future[None] | None:
        """Keep a result; what to wait for, if that is worth its time."""
        task, keeping = outcome.task, self._keeping
        if outcome.error is not None or not task.result or keeping is None or inputs is None:
            return None
        try:
            self._require_unchanged(task)
            read = inputs.members(self._function, task.item, self._of.key if self._of else Key(""))
            keeping.add(task.result, outcome.value, read)
            return keeping.flush() if clock.is_worth_it() else None
        except NbckptError as problem:
            self._tell(str(problem))
        except user_code_errors() as error:  # what the function made is there all the same
            self._tell(f"by a defect in nbckpt: {error_text(error)}")
        return None

    def _require_unchanged(self, task: Task) -> None:
        """Raise if the function does more than to return something."""
        if self._globals is not None and (bound := self._globals.changed()):
            message = f"it binds the global {bound!r}, which a replay would not"
            raise CaptureError(message)
        if not self._is_checked and self._reached is not None and self._of is not None:
            self._is_checked = True
            now = self._reached.code()
            if now.digest != self._of.digest:
                self._keeping = None
                what = "; ".join(key_difference(self._of.key, now.key)[:3])
                message = f"it changes what it reads ({what}), which a replay would not"
                raise CaptureError(message)
        if self._key is not None or type(task.item) in ATOMS:
            return
        if self.digest_of(task.item) != task.digest:
            message = "it changes the item that it is given, which a replay would not"
            raise CaptureError(message)

    def flush(self) -> Future[None] | None:
        """Write what came; the future is done when all of it is durable."""
        try:
            return None if self._keeping is None else self._keeping.flush()
        except NbckptError as problem:
            self._tell(str(problem))
            return None

    def written(self) -> None:
        """Return when all results are durable; if the disk refuses, that is told."""
        if (written := self.flush()) is not None:
            self._wait(written)

    async def written_async(self) -> None:
        """The same, awaited."""
        if (written := self.flush()) is not None:
            await self._wait_async(written)

    def _wait(self, written: Future[None]) -> None:
        try:
            result_of(written)
        except NbckptError as problem:
            self._tell(str(problem))

    async def _wait_async(self, written: Future[None]) -> None:
        try:
            await durable(written)
        except NbckptError as problem:
            self._tell(str(problem))

    def _tell(self, why: str) -> None:
        """Say once that something is not kept, whatever the figures: a disk refuses each write."""
        what = _FIGURE.sub("", why)
        is_news = what not in self._told and self._step.is_kept  # else it was told of the step
        if is_news and not self._session.ended:
            self._told.add(what)
            tell(self._session, f"results of {self.name!r} are NOT kept: {why}")
