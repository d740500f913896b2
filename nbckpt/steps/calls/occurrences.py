"""The how-manieth of its equals a call is, within the step that runs.

Five equal calls of one cell are five samples, and replay as the five answers. Outside a step they
are counted within the cell that runs or, where no shell tells of cells, within the session. A
call that another step makes is counted within that one, so that nothing shifts when it is replayed,
and a call of an item of a loop or map within that item.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from nbckpt.llm import scope
from nbckpt.llm.occurrence import EqualCalls, Occurrence
from nbckpt.llm.step_scope import Scope
from nbckpt.runtime.context import awaited_with, called_with
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState

if TYPE_CHECKING:
    from nbckpt.steps.execution.execution_state import Execution


class Occurrences(EqualCalls):
    """The calls that one run of a step has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.unanswered: set[str] = set()

    def note_unanswered(self, question: str) -> None:
        """Note that code went on without an answer of a person: it is to run again."""
        self.unanswered.add(question)

    def note_answered(self, question: str) -> None:
        """Note that it asked again, and has an answer."""
        self.unanswered.discard(question)


class Place(NamedTuple):
    """The place of a call among its equals.

    Attributes
    ----------
    within
        The item to which it belongs, or the step, if that goes through items.
    """

    among: Occurrences
    within: Scope | None
    occurrence: Occurrence

    def give_back(self, key: str) -> None:
        """Note that the call has no answer: the next equal one stands in its place."""
        self.occurrence.give_back(key, self.within, self.among)


_inside: ContextVar[Occurrences | None] = ContextVar("nbckpt_step", default=None)
_running: WeakKeyDictionary[Any, Occurrences] = WeakKeyDictionary()
_lock = threading.Lock()


def here(session: Session) -> Occurrences:
    """Those of the step, cell or session that runs."""
    if (inside := _inside.get()) is not None:
        return inside
    token: object = running_step(session) or session.workspace.running or session
    with _lock:
        found = _running.get(token)
        if found is None:
            found = _running[token] = Occurrences()
        return found


def items() -> Scope | None:
    """Where calls of items are counted; None in a call of another step, and without items."""
    within = None if _inside.get() is not None else scope.here().scope
    return within if within is not None and within.has_items else None


def running_name(session: Session) -> str | None:
    """The name of the step that runs."""
    step = running_step(session)
    return step.request.name if step is not None else None


def running_step(session: Session) -> Execution | None:
    """The step that runs, of several the one that began last; no plain loop beside this code."""
    for step in reversed(tuple(session.state(StepState).running.values())):
        calls = step.at.scope
        if calls is None or not calls.is_plain or scope.here().is_of(calls):
            return step
    return None


inside = partial(called_with, _inside)
"""Call a function, and count the calls that it makes among occurrences, which are given first."""
inside_async = partial(awaited_with, _inside)
"""As `inside`, of one to wait for."""
