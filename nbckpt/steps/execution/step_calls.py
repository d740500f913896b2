"""The model calls of the body of a step, from its beginning to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.fingerprint.user_names import Own
from nbckpt.llm.scope import Place, enter, leave
from nbckpt.llm.step_scope import Scope

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class StepCalls(Own):
    """Model calls that belong to one execution of a step, while its body runs."""

    def __init__(self, session: Session, name: str, cell_id: str | None) -> None:
        self._session = session
        self._name = name
        self._cell_id = cell_id
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

    def begin(self, *, is_fresh: bool, is_plain: bool = False) -> Scope | None:
        """Have calls belong to the step from now on; their scope."""
        self._place = enter(self._name, self._cell_id, is_fresh=is_fresh, is_plain=is_plain)
        return self._place.scope

    def end(self) -> None:
        """Have calls belong to the step no more."""
        place, self._place = self._place, None
        if place is None:
            return
        leave(place)
        if place.scope is not None and place.scope.counts:
            members = place.scope.members()
            self._session.writes.record_event("model_calls", name=self._name, **members)
