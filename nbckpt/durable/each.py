"""One run of `step.map`: which items have a result, what becomes of the others."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from nbckpt.describe import preview_of
from nbckpt.durable.arguments import digest_of_value
from nbckpt.durable.attempts import error_text
from nbckpt.durable.code import Code, Reached
from nbckpt.durable.failures import Failure, failure_of, told
from nbckpt.durable.item_results import Keeping, Kept, Place
from nbckpt.durable.running import durable
from nbckpt.durable.telling import tell
from nbckpt.errors import CaptureError, NbckptError, UsageError
from nbckpt.keys.difference import difference
from nbckpt.llm import scope
from nbckpt.loops.clock import Clock
from nbckpt.loops.finished import digest_of_item, digest_of_key, is_place
from nbckpt.model import Key
from nbckpt.progress import LoopBar
from nbckpt.values.plain import ATOMS

if TYPE_CHECKING:
    from concurrent.futures import Future

    from nbckpt.steps import Step

_MOST_TOLD = 20
"""Errors that the history names of one run."""


class Task(NamedTuple):
    """An item that is to be done.

    Attributes
    ----------
    digest
        What tells it from others; empty where nothing does.
    result
        Under which its result is kept; empty if it cannot be.
    """

    place: int
    item: Any
    digest: bytes
    result: str


class Outcome(NamedTuple):
    """What became of a task."""

    task: Task
    value: Any = None
    error: BaseException | None = None


class Each:
    """The items of one map.

    Attributes
    ----------
    tasks
        Those that have not begun, in order; empty after an error that is to be raised.
    """

    def __init__(
        self,
        step: Step,
        function: Callable[[Any], Any],
        items: list[Any],
        key: Callable[[Any], object] | None,
        errors: str,
    ) -> None:
        within = scope.here().scope
        if within is None:
            message = f"checkpoint {step.request.name!r} has ended: use `map` inside of its body"
            raise UsageError(message)
        self.function = function
        self._step, self._session, self._key = step, step.session, key
        self._collects = errors == "collect"
        self._name = str(getattr(function, "__qualname__", None) or type(function).__qualname__)
        self._scope = within
        self._where = f"{within.step}/{within.item}/"
        self._pass = within.next_pass()
        self._results: list[Any] = [None] * len(items)
        self._errors: list[Outcome] = []
        self._n_kept = 0
        self._told: set[str] = set()
        self._clocks = threading.local()
        self._bar = LoopBar(step.request.name, len(items))
        self._reached = Reached(function) if isinstance(function, FunctionType) else None
        self._is_checked = False
        self._keeping: Keeping | None = None
        digests = [self._digest_of(item) for item in items]
        self._of = self._code()
        known: Kept | None = None
        if self._of is not None:
            self._session.refresh()  # an attempt before this one may have kept some
            place = Place(within.step, self._name, self._of)
            known = Kept(self._session, place)
            self._keeping = Keeping(self._session, place, knows_code=known.knows_code)
        self.tasks = self._left(items, digests, known)

    # -- what is there

    def _code(self) -> Code | None:
        """What the function does; None if that cannot be told."""
        if self._reached is not None:
            return self._reached.code()
        digest = digest_of_value(self.function, self._session.namespace)
        if digest is None:
            self._tell(f"{self._name!r} cannot be told from other functions: map a `def`")
            return None
        return Code(digest, Key(""))

    def _digest_of(self, item: object) -> bytes:
        namespace = self._session.namespace
        if self._key is not None:
            return digest_of_key(item, self._key, namespace, self._step.request.name)
        digest = digest_of_item(item, namespace, 0)
        if not is_place(digest):
            return digest
        self._tell(f"{preview_of(item)} cannot be told from other items: give map a `key=`")
        return b""

    def _left(self, items: list[Any], digests: list[bytes], known: Kept | None) -> deque[Task]:
        """The items without a result; the others' results are taken over."""
        is_anew = self._session.pays_anew or scope.here().mode == "record"
        outer = f"{self._scope.item}/" if self._scope.item else ""
        tasks: deque[Task] = deque()
        for index, (item, digest) in enumerate(zip(items, digests, strict=True)):
            result = ""
            if known is not None and self._of is not None and digest:
                nth = self._step.at.nth(f"{self._where}{self._of.digest}{digest.hex()}")
                result = f"{outer}{digest.hex()}#{nth}"
                if not is_anew and self._is_restored(known, index, result):
                    continue
            tasks.append(Task(index, item, digest, result))
        if known is not None and tasks and (why := known.why_none()) and not is_anew:
            text = f"step {self._step.request.name!r} runs {self._name!r} for all items: {why}"
            tell(self._session, text)
        self._bar.begin(self._n_kept)
        self._numbers = self._numbered(digests)
        return tasks

    def _is_restored(self, known: Kept, index: int, result: str) -> bool:
        try:
            parts = known.parts_of(result)
            if parts is None:
                return False
            self._results[index] = known.value_of(parts)
        except Exception as error:  # a value's own code may raise anything
            self._tell(f"a result did not come back, and runs again: {error_text(error)}")
            return False
        self._n_kept += 1
        return True

    def _numbered(self, digests: list[bytes]) -> list[str]:
        """What each item is called among the items of the step."""
        came: Counter[bytes] = Counter()
        names = []
        for index, digest in enumerate(digests):
            names.append(f"{self._pass}{digest.hex() or index}#{came[digest] if digest else 0}")
            came[digest] += 1
        return names

    # -- what becomes of it: in the thread or task that does it

    def inside(self, task: Task) -> AbstractContextManager[None]:
        """Have calls in the block belong to the item."""
        return scope.inside(self._scope.of_item(self._numbers[task.place]))

    def awaits(self) -> UsageError:
        """What is raised where the function turns out to be asynchronous."""
        return UsageError(
            f"{self._name!r} gives something to await: give map the `async def` itself"
        )

    def failed(self, task: Task, error: Exception) -> Outcome:
        """The outcome of a task that raised; unless errors are collected, no more are begun."""
        if not self._collects:
            self.tasks.clear()
        return Outcome(task, error=error)

    def kept(self, outcome: Outcome) -> Outcome:
        """The outcome, whose result is durable, unless that would take too much of the time."""
        clock = self._clock()
        written = self._written(outcome, clock)
        if written is not None:
            self._wait(written)
            clock.kept()
        return outcome

    async def kept_async(self, outcome: Outcome, clock: Clock) -> Outcome:
        """The same, awaited."""
        written = self._written(outcome, clock)
        if written is not None:
            await self._wait_async(written)
            clock.kept()
        return outcome

    def _clock(self) -> Clock:
        clock: Clock | None = getattr(self._clocks, "clock", None)
        if clock is None:
            clock = self._clocks.clock = self.new_clock()
        return clock

    def new_clock(self) -> Clock:
        """Says when to keep what one worker has done."""
        return Clock(self._session.settings.track_share)

    def _written(self, outcome: Outcome, clock: Clock) -> Future[None] | None:
        """Keep a result; what to wait for, if that is worth its time."""
        task, keeping = outcome.task, self._keeping
        if outcome.error is not None or not task.result or keeping is None:
            return None
        try:
            self._require_unchanged(task)
            keeping.add(task.result, outcome.value)
            return keeping.flush() if clock.is_worth_it() else None
        except NbckptError as problem:
            self._tell(str(problem))
        except Exception as error:  # what the function made is there all the same
            self._tell(f"by a defect in nbckpt: {error_text(error)}")
        return None

    def _require_unchanged(self, task: Task) -> None:
        """Raise if the function does more than to return something."""
        if not self._is_checked and self._reached is not None:
            self._is_checked = True
            now = self._reached.code()
            if self._of is not None and now.digest != self._of.digest:
                self._keeping = None
                what = "; ".join(difference(self._of.key, now.key)[:3])
                message = f"it changes what it reads ({what}), which a replay would not"
                raise CaptureError(message)
        if self._key is not None or type(task.item) in ATOMS:
            return
        if self._digest_of(task.item) != task.digest:
            message = "it changes the item that it is given, which a replay would not"
            raise CaptureError(message)

    def _tell(self, why: str) -> None:
        """Say once that something is not kept."""
        if why not in self._told and not self._session.ended:
            self._told.add(why)
            tell(self._session, f"results of {self._name!r} are NOT kept: {why}")

    # -- what comes of it: in the thread that maps

    def take(self, outcome: Outcome) -> None:
        """Take over what became of a task."""
        error = outcome.error
        self._bar.advance(has_failed=error is not None)
        self._count()
        if error is None:
            self._results[outcome.task.place] = outcome.value
            return
        self._errors.append(outcome)
        if not isinstance(error, Exception):
            self.tasks.clear()

    def _count(self) -> None:
        self._step.at.count(self._bar.done, len(self._results))

    def written(self) -> None:
        """Return when all results are durable; if the disk refuses, that is told."""
        if (written := self._flushed()) is not None:
            self._wait(written)

    async def written_async(self) -> None:
        """The same, awaited."""
        if (written := self._flushed()) is not None:
            await self._wait_async(written)

    def _flushed(self) -> Future[None] | None:
        try:
            return None if self._keeping is None else self._keeping.flush()
        except NbckptError as problem:
            self._tell(str(problem))
            return None

    def _wait(self, written: Future[None]) -> None:
        try:
            written.result()
        except NbckptError as problem:
            self._tell(str(problem))

    async def _wait_async(self, written: Future[None]) -> None:
        try:
            await durable(written)
        except NbckptError as problem:
            self._tell(str(problem))

    def __enter__(self) -> Self:
        self._count()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()
        self._step.at.uncount()
        if error is not None:
            self.tasks.clear()
            self._flushed()

    def answer(self) -> Any:
        """What `map` returns.

        Raises
        ------
        BaseException
            The first error, unless errors are collected.
        """
        if self._errors:
            self._note()
        first = self._raised()
        if first is not None:
            error, task = first.error, first.task
            assert error is not None
            n_done = self._bar.done
            told(error, task.place, task.item, len(self._results), n_done, len(self._errors) - 1)
            raise error
        if not self._collects:
            return self._results
        failures = [self._failure(o) for o in sorted(self._errors, key=lambda o: o.task.place)]
        self._step.at.failures += len(failures)
        return self._results, failures

    def _raised(self) -> Outcome | None:
        errors = self._errors
        if self._collects:
            errors = [o for o in errors if not isinstance(o.error, Exception)]
        return errors[0] if errors else None

    def _failure(self, outcome: Outcome) -> Failure:
        assert outcome.error is not None
        return failure_of(outcome.task.place, outcome.task.item, outcome.error)

    def _note(self) -> None:
        errors = [error_text(o.error) for o in self._errors[:_MOST_TOLD] if o.error is not None]
        self._session.record_event(
            "items_failed", name=self._step.request.name, failed=len(self._errors), errors=errors
        )
