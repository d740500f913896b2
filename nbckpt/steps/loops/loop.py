"""One loop of a step, as its items come: what is finished is kept, and found again.

Notes
-----
A loop inside another is not followed: when it ends, the outer item is not finished.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from nbckpt.session.session import Session
from nbckpt.steps.execution import plain_step
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.loop_state import LoopState
from nbckpt.steps.loops import unfinished_loops
from nbckpt.steps.loops.clock import Clock
from nbckpt.steps.loops.finished_items import Finished, digest_of_item, digest_of_key
from nbckpt.steps.loops.loop_form import has_more
from nbckpt.steps.loops.rebind import Twins
from nbckpt.steps.restore import effects
from nbckpt.text.progress_bar import LoopBar

Item = TypeVar("Item")

MANY = 1000
"""Items among which a finished one is looked for before a loop is thought to be another."""

_HELD = (list, tuple, set, frozenset, dict, deque, range)
"""Collections that give the same items however often they are asked."""


@dataclass(frozen=True, slots=True)
class LoopItems:
    """The items that a loop was given.

    Attributes
    ----------
    count
        How many they are; -1 if that is not known.
    key
        Gives an item's identity; None: its value.
    """

    iterable: Any
    count: int
    key: Callable[[Any], object] | None


class Loop:
    """A loop of which nothing is kept: it is shown, and begins anew with the item around it.

    It is inside another, or its step is not kept.
    """

    def __init__(self, step: Execution, items: LoopItems) -> None:
        self.step = step
        self.items = items
        self.bar = LoopBar(step.request.name, items.count)

    def has_finished(self, item: object) -> bool:  # noqa: ARG002  # a followed loop knows
        """True if an item was finished by an earlier run."""
        return False

    def started(self, item: Item) -> Item:
        """The object that the loop's body is given for an item."""
        return item

    def done(self) -> None:
        """Take note that the body has done the item that it was given."""
        self.bar.advance()

    def ended(self) -> None:
        """Take note that there are no more items."""

    def close(self) -> None:
        """Let go of the loop, however it was left."""
        self.bar.close()


class ItemLoop(Loop):
    """A loop whose calls belong to its items."""

    def __init__(self, step: Execution, loops: LoopState, items: LoopItems) -> None:
        super().__init__(step, items)
        self._loops = loops
        self._pass = step.at.next_pass()
        self._came: Counter[bytes] = Counter()
        self._place = -1
        self._digest = b""
        self._is_inside = loops.is_inside = True

    def has_finished(self, item: object) -> bool:
        """False: what the body makes of items is not kept here."""
        self._place += 1
        self._digest = self._digest_of(item, self._place)
        self._came[self._digest] += 1
        return False

    def started(self, item: Item) -> Item:
        """The item; calls belong to it from now on."""
        nth = self._came[self._digest] - 1
        if self.step.is_running:  # the cell may have ended, and its iterator not
            self.step.at.begin(f"{self._pass}{self._digest.hex()}#{nth}")
        return item

    def done(self) -> None:
        """Have calls belong to no item."""
        self.step.at.end()
        super().done()
        self.step.at.count(self.bar.done, self.items.count)

    def close(self) -> None:
        """Let go of the loop, however it was left."""
        super().close()
        if self._is_inside:
            self._is_inside = self._loops.is_inside = False
            self.step.at.end()
            self.step.at.uncount()

    def _digest_of(self, item: object, place: int) -> bytes:
        step, key = self.step, self.items.key
        if key is None:
            return digest_of_item(item, step.session.namespace, place)
        return digest_of_key(item, key, step.session.namespace, step.request.name)


class PlainLoop(ItemLoop):
    """A loop that is a step of its own: its calls are found again, and its body runs each time."""

    def __init__(self, session: Session, items: LoopItems, name: str) -> None:
        step = plain_step.begin(session, name)
        step.loops.is_plain = True
        super().__init__(step, step.loops, items)
        self.bar.begin(0)
        step.at.count(0, items.count)

    def close(self) -> None:
        """Let go of the loop, however it was left."""
        super().close()
        self.step.left()


class Followed(ItemLoop):
    """A loop whose finished items are kept."""

    def __init__(self, step: Execution, loops: LoopState, items: LoopItems) -> None:
        super().__init__(step, loops, items)
        self._number = loops.begun
        self._clock = Clock(step.session.settings.track_share)
        self._finished = Finished()
        self._twins = Twins({}, {})
        self._is_kept = True

    def go_on(self) -> None:
        """Bring back what the finished items made."""
        done = self._continued()
        self.bar.begin(done)
        self.step.at.count(done, self.items.count)

    def has_finished(self, item: object) -> bool:
        """True if an item was finished by an earlier run; of equal items, as many as were."""
        super().has_finished(item)
        return self._finished.takes(self._digest)

    def started(self, item: Item) -> Item:
        """The item with what stands now for what it held before; calls belong to it from now on."""
        self._loops.unfinished = None  # what later loops had made was made without this item
        twin: Item = self._twins.of(super().started(item))
        return twin

    def done(self) -> None:
        """Keep what the step has made, if that does not take too long."""
        self._finished.add(self._digest)
        super().done()
        self._is_kept = self._clock.is_worth_it()
        if self._is_kept:
            self._keep()
            self._clock.kept()

    def ended(self) -> None:
        """Keep what is not kept yet, if another loop may follow."""
        if not self._is_kept and has_more(self.step.tree):
            self._keep()

    def _keep(self) -> None:
        step = self.step
        reached = (self._number, self.bar.done, self.items.count)
        unfinished_loops.keep_progress(step, reached, self._finished.kept(step.session.store))

    def _continued(self) -> int:
        """Number of finished items; brings their results back."""
        step, count, partial = (
            self.step,
            self.items.count,
            self._loops.partial(self.step.session.timeline),
        )
        if partial is None or partial.progress is None:
            return 0
        _, done, total = partial.progress
        finished = Finished.of(partial, step.session.store, keeps_places=total == count)
        if total == count and not self._any_known(finished, done):
            return self._anew((f"none of the {done} finished items is among its items now",))
        if why := step.session.workspace.observer.changed_input(partial.observed):
            return self._anew((why,))
        namespace = step.session.namespace
        step.session.workspace.ran(step.tree)
        before = {n: namespace[n] for n in partial.bound if n in namespace}
        if reasons := effects.reproduce(step.session, partial):
            return self._anew(reasons)
        self._finished, self._twins = finished, Twins(before, namespace)
        if partial is self._loops.unfinished:
            self._loops.unfinished = None
            unfinished_loops.went_on(step, partial)
        return done

    def _anew(self, why: tuple[str, ...]) -> int:
        self._loops.unfinished = None
        self.step.why = why
        return 0

    def _any_known(self, finished: Finished, done: int) -> bool:
        """True if it still has an item that is finished; True where to ask would cost items."""
        iterable = self.items.iterable
        if not isinstance(iterable, _HELD):
            return True
        items = islice(iterable, max(done, MANY))
        return any(finished.expects(self._digest_of(item, n)) for n, item in enumerate(items))


def begun_loop(step: Execution, loops: LoopState, items: LoopItems) -> Loop:
    """The next of a step's loops, which may go on where it was."""
    if loops.is_inside or loops.is_plain or not step.is_kept:
        return Loop(step, items)
    loops.begun += 1
    loop = Followed(step, loops, items)
    try:
        loop.go_on()
    except BaseException:
        loop.close()
        raise
    return loop
