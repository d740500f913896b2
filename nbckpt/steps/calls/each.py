"""One run of `step.map`: which items are to be done, and what comes of all."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nbckpt.errors import UsageError
from nbckpt.llm import scope
from nbckpt.llm.step_scope import Scope
from nbckpt.steps.calls.attempts import error_text
from nbckpt.steps.calls.call_inputs import CallInputs
from nbckpt.steps.calls.failures import Failure, failure_of, told
from nbckpt.steps.calls.item_memory import Memory
from nbckpt.steps.calls.outcomes import Outcome, Task
from nbckpt.text.progress_bar import LoopBar

if TYPE_CHECKING:
    from nbckpt.steps.execution.execution_state import Execution
    from nbckpt.steps.loops.clock import Clock

_MOST_TOLD = 20
"""Errors that the history names of one run."""


class Each:
    """The items of one map.

    Attributes
    ----------
    memory
        Where results are found and kept.
    tasks
        Those that have not begun, in order; empty after an error that is to be raised.
    """

    def __init__(
        self,
        step: Execution,
        function: Callable[[Any], Any],
        items: list[Any],
        key: Callable[[Any], object] | None,
        errors: str,
    ) -> None:
        self._place = scope.here()
        within = self._place.scope
        if within is None:
            message = f"checkpoint {step.request.name!r} has ended: use `map` inside of its body"
            raise UsageError(message)
        self.function = function
        self.memory = Memory(step, function, key, within)
        self._step, self._scope = step, within
        self._collects = errors == "collect"
        self._results: list[Any] = [None] * len(items)
        self._errors: list[Outcome] = []
        self._inputs: dict[int, CallInputs] = {}
        self._bar = LoopBar(step.request.name, len(items))
        digests = [self.memory.digest_of(item) for item in items]
        self._names = _names(within.next_pass(), digests)
        self.tasks = self._left(items, digests)

    def _left(self, items: list[Any], digests: list[bytes]) -> deque[Task]:
        """The items without a result; the others' results are taken over."""
        memory, tasks = self.memory, deque[Task]()
        is_anew = memory.is_anew
        for place, (item, digest) in enumerate(zip(items, digests, strict=True)):
            name = memory.name_of(digest)
            result = None if is_anew else memory.result(name)
            if result is None:
                tasks.append(Task(place, item, digest, name))
            else:
                self._results[place] = result.value
        if tasks and not is_anew:
            memory.say_why()
        self._bar.begin(len(items) - len(tasks))
        return tasks

    # -- in the thread or task that does an item

    def done(self, task: Task) -> Any:
        """The function's result for an item; the calls that it makes belong to that item."""
        inside = self._inputs_of(task).inside
        within = partial(scope.inside, self._of(task), inside, self.function)
        return scope.called_at(self._place, within, task.item)

    async def done_async(self, task: Task) -> Any:
        """As `done`, of one to wait for."""
        inside = self._inputs_of(task).inside_async
        return await scope.inside_async(self._of(task), inside, self.function, task.item)

    def _inputs_of(self, task: Task) -> CallInputs:
        """Reads of an item's function beside the item."""
        if (found := self._inputs.get(task.place)) is None:
            found = self._inputs[task.place] = CallInputs(self._step.session)
        return found

    def _of(self, task: Task) -> Scope:
        return self._scope.of_item(self._names[task.place])

    def kept(self, outcome: Outcome) -> Outcome:
        """An outcome that is kept, unless its item is to run again."""
        if self._of(outcome.task).is_unanswered:
            return outcome
        return self.memory.keep(outcome, self._inputs.pop(outcome.task.place, None))

    async def kept_async(self, outcome: Outcome, clock: Clock) -> Outcome:
        """The same, awaited."""
        if self._of(outcome.task).is_unanswered:
            return outcome
        inputs = self._inputs.pop(outcome.task.place, None)
        return await self.memory.keep_async(outcome, clock, inputs)

    def awaits(self) -> UsageError:
        """The error for a function that turns out to be asynchronous."""
        name = self.memory.name
        return UsageError(f"{name!r} gives something to await: give map the `async def` itself")

    def failed(self, task: Task, error: Exception) -> Outcome:
        """The outcome of a task that raised; unless errors are collected, no more are begun."""
        if not self._collects:
            self.tasks.clear()
        return Outcome(task, error=error)

    # -- in the thread that maps

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
            self.memory.flush()

    def answer(self) -> Any:
        """Return value of `map`.

        Raises
        ------
        BaseException
            The first error, unless errors are collected.
        """
        if self._errors:
            self._note()
        if (first := self._raised()) is not None:
            error, task = first.error, first.task
            assert error is not None
            more = len(self._errors) - 1
            told(error, task.place, task.item, len(self._results), self._bar.done, more)
            raise error
        if not self._collects:
            return self._results
        in_order = sorted(self._errors, key=lambda outcome: outcome.task.place)
        failures = list(map(_failure, in_order))
        self._step.at.failures += len(failures)
        return self._results, failures

    def _raised(self) -> Outcome | None:
        errors = self._errors
        if self._collects:
            errors = [outcome for outcome in errors if not isinstance(outcome.error, Exception)]
        return errors[0] if errors else None

    def _note(self) -> None:
        shown = self._errors[:_MOST_TOLD]
        self._step.session.writes.record_event(
            "items_failed",
            name=self._step.request.name,
            failed=len(self._errors),
            errors=[error_text(outcome.error) for outcome in shown if outcome.error is not None],
        )


def _failure(outcome: Outcome) -> Failure:
    assert outcome.error is not None
    return failure_of(outcome.task.place, outcome.task.item, outcome.error)


def _names(prefix: str, digests: list[bytes]) -> list[str]:
    """Name of each item among the items of the step."""
    came: Counter[bytes] = Counter()
    names = []
    for place, digest in enumerate(digests):
        names.append(f"{prefix}{digest.hex() or place}#{came[digest] if digest else 0}")
        came[digest] += 1
    return names
