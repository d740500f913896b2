"""The how-manieth of its equals a call is, within the step that runs.

Five equal calls of one cell are five samples, and replay as the five answers. Outside a step they
are counted within the cell that runs or, where no shell tells of cells, within the session. A
call that another step makes is counted within that one, so that nothing shifts when it is replayed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nbckpt.session import Session

if TYPE_CHECKING:
    from nbckpt.steps import Step


class Occurrences:
    """The calls that one run of a step has begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: Counter[str] = Counter()
        self._given_back: dict[str, list[int]] = {}

    def reserve(self, key: str) -> int:
        """The first place among equal calls that none has; reserved when the call begins."""
        with self._lock:
            if free := self._given_back.get(key):
                return heappop(free)
            self._next[key] += 1
            return self._next[key] - 1

    def give_back(self, key: str, n: int) -> None:
        """Note that a call has no answer: the next equal one stands in its place."""
        with self._lock:
            heappush(self._given_back.setdefault(key, []), n)


_inside: ContextVar[Occurrences | None] = ContextVar("nbckpt_step", default=None)
_running: WeakKeyDictionary[Any, Occurrences] = WeakKeyDictionary()
_lock = threading.Lock()


def here(session: Session) -> Occurrences:
    """Those of the step, cell or session that runs."""
    if (inside := _inside.get()) is not None:
        return inside
    token: object = _step_of(session) or session.running or session
    with _lock:
        found = _running.get(token)
        if found is None:
            found = _running[token] = Occurrences()
        return found


def running_name(session: Session) -> str | None:
    """The name of the step that runs."""
    step = _step_of(session)
    return step.request.name if step is not None else None


def _step_of(session: Session) -> Step | None:
    """The step that runs, of several the one that began last."""
    running = [step for step in list(session.steps.values()) if step.is_running]
    return running[-1] if running else None


@contextmanager
def inside(occurrences: Occurrences) -> Iterator[None]:
    """Count the calls that are made in the block among these."""
    token = _inside.set(occurrences)
    try:
        yield
    finally:
        _inside.reset(token)
