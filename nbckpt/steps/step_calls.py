"""The model calls of the body of a step, from its beginning to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.fingerprint.names import Own
from nbckpt.llm.scope import Place, enter, leave
from nbckpt.llm.step_scope import Scope
from nbckpt.steps.step_state import StepState

if TYPE_CHECKING:
    from nbckpt.steps.step import Step


class StepCalls(Own):
    """Model calls that belong to one execution of a step, while its body runs."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._place: Place | None = None

    @property
    def scope(self) -> Scope | None:
        """The scope of the running body's calls; None if it does not run."""
        return None if self._place is None else self._place.scope

    @property
    def n_answered(self) -> int:
        """Calls that the running body was given answers of: paid for, or from the store."""
        if (calls := self.scope) is None:
            return 0
        answered = calls.members()
        return int(sum(answered.get(what, 0) for what in ("recorded", "replayed", "partial")))

    def begin(self) -> Scope | None:
        """Have calls belong to the step from now on; their scope."""
        step = self._step
        is_fresh = step.session.state(StepState).pays_again
        self._place = enter(step.request.name, step.cell.cell_id, is_fresh=is_fresh)
        return self._place.scope

    def end(self) -> None:
        """Have calls belong to the step no more."""
        place, self._place = self._place, None
        if place is None:
            return
        leave(place)
        if place.scope is not None and place.scope.counts:
            name, session = self._step.request.name, self._step.session
            session.writes.record_event("model_calls", name=name, **place.scope.members())
