"""A step's way through items: `track` for a loop, `map` for a function.

Both are methods of the step that a `with` block gives; in a ``%%checkpoint`` cell the same are
`nbckpt.track` and `nbckpt.map`, of the step that runs. Where none does, each is a step of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from nbckpt.steps import current_session, loops

if TYPE_CHECKING:
    from nbckpt.steps.calls.failures import Failure
    from nbckpt.steps.calls.mapping import Asked
    from nbckpt.steps.execution.execution_state import Execution

Item = TypeVar("Item")
Result = TypeVar("Result")


class ThroughItems:
    """Methods of a step for working through many items."""

    def running(self, what: str) -> Execution | None:
        """The step that runs; None if none does, and the loop or map is a step of its own.

        Raises
        ------
        UsageError
            If it has ended; the message tells where to use `what`.
        """
        raise NotImplementedError

    def keeps(self) -> bool:
        """True if what is done with items is kept."""
        return True

    def track(
        self,
        iterable: Iterable[Item] | AsyncIterable[Item],
        total: int | None = None,
        *,
        key: Callable[[Item], object] | None = None,
    ) -> loops.Tracked[Item]:
        """The items that are not finished yet, with a progress bar, for a `for` statement.

        An item is finished when the loop asks for the next one. What the step keeps is then
        durable, unless that would take more than the settings' `track_share` of the loop's time:
        of quick items the last few may run again. An item is known again by its value, not by its
        place. A loop inside a tracked one is shown, and begins anew with its item. Model calls and
        calls of `nbckpt.step` belong to their item. ``async for`` takes asynchronous collections,
        too.

        In an ordinary cell, or in a script outside of blocks, `nbckpt.track` is a step of its own:
        it gives all items each time, since what their bodies made is not kept, and model calls and
        calls of `nbckpt.step` that were answered for an item are answered from the store.

        Parameters
        ----------
        total
            Number of items, where `iterable` does not tell.
        key
            Function that gives an item's identity, instead of its whole value: a name, an id.

        Raises
        ------
        UsageError
            If the step has ended, no session is open, this is inside a function in a step, or a key
            cannot be told from others.
        """
        if not self.keeps():
            return loops.Untracked(iterable)
        step = self.running("track")
        if step is None:
            return loops.tracked_alone(current_session.session(), iterable, total, key)
        if not step.loops.is_plain:
            loops.require_top_level(step.request.name, loops.caller(), step.session.namespace)
        return loops.tracked(step, iterable, total, key)

    @overload
    def map(  # type: ignore[overload-overlap]  # the first that fits counts
        self,
        function: Callable[[Item], Coroutine[Any, Any, Result]],
        items: Iterable[Item] | AsyncIterable[Item],
        *,
        workers: int = 1,
        key: Callable[[Item], object] | None = None,
        errors: Literal["raise"] = "raise",
    ) -> Coroutine[Any, Any, list[Result]]: ...
    @overload
    def map(  # type: ignore[overload-overlap]  # the first that fits counts
        self,
        function: Callable[[Item], Coroutine[Any, Any, Result]],
        items: Iterable[Item] | AsyncIterable[Item],
        *,
        workers: int = 1,
        key: Callable[[Item], object] | None = None,
        errors: Literal["collect"],
    ) -> Coroutine[Any, Any, tuple[list[Result | None], list[Failure]]]: ...
    @overload
    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        workers: int = 1,
        key: Callable[[Item], object] | None = None,
        errors: Literal["raise"] = "raise",
    ) -> list[Result]: ...
    @overload
    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        workers: int = 1,
        key: Callable[[Item], object] | None = None,
        errors: Literal["collect"],
    ) -> tuple[list[Result | None], list[Failure]]: ...
    def map(
        self,
        function: Callable[[Any], Any],
        items: Any,
        *,
        workers: int = 1,
        key: Callable[[Any], object] | None = None,
        errors: Literal["raise", "collect"] = "raise",
    ) -> Any:
        """Results of a function for each item, in the order of the items.

        Each result is kept as soon as it is there: a run after one that died, was interrupted or
        raised goes on with the items that have none, wherever new ones stand between them. Of equal
        items each has a result of its own. A result is found again as long as the function, with
        all that it reaches, is the same. Quick items are kept several at a time, as `track` does.
        The function is to return its results: its changes to variables are not made again.

        An `async` function makes this something to await: ``await step.map(ask, docs)``.

        In an ordinary cell, or in a script outside of blocks, `nbckpt.map` is a step of its own:
        results are found again wherever the same function is mapped so over equal items.

        Parameters
        ----------
        workers
            Number of items in work at once: threads, or of an `async` function tasks. With 1 the
            function is called right here, as by a loop.
        key
            Function that gives an item's identity, instead of its whole value: a name, an id.
        errors
            ``raise``: after an error no more items are begun, those in work are ended and kept,
            and the error is raised. ``collect``: all items are tried, and there are two lists,
            ``results, failures = …``: results with None for failed items, and a `Failure` for each
            of these. The next run of the step repeats those alone; until none is left, the step
            is not restored instead of run.

        Raises
        ------
        UsageError
            If the step has ended, no session is open, an argument is not valid, or a key cannot be
            told from others.
        """
        from nbckpt.steps.calls.mapping import Asked

        return self.mapped(Asked(function, items, workers, key, errors))

    def mapped(self, asked: Asked) -> Any:
        """The result of `map`, or for an `async` function something to await."""
        from nbckpt.steps.calls.mapping import mapped
        from nbckpt.steps.calls.plain_map import plainly_mapped

        step = self.running("map")
        if step is None or step.loops.is_plain:
            return plainly_mapped(current_session.session(), asked)
        return mapped(step, asked)


class _Running(ThroughItems):
    """The step that runs, whichever that is; of several the one that began last."""

    def keeps(self) -> bool:
        """False where a cell runs again for what it made, of which nothing is kept."""
        from nbckpt.steps.execution.step_state import StepState

        return not current_session.session().state(StepState).is_remaking

    def running(self, what: str) -> Execution | None:  # noqa: ARG002  # whichever it is
        from nbckpt.steps.calls import occurrences

        return occurrences.running_step(current_session.session())

    def __reduce__(self) -> tuple[Callable[[], _Running], tuple[()]]:
        return running_step, ()


def running_step() -> _Running:
    """The one object behind `nbckpt.track` and `nbckpt.map`: a stored one comes back as it."""
    return _running


_running = _Running()
track = _running.track
map = _running.map  # noqa: A001  # nbckpt.map
