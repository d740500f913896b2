"""A decorated function, and what was found out about it in this process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from nbckpt.fingerprint.user_names import Own
from nbckpt.session.session import Session
from nbckpt.steps.calls.code import Reached
from nbckpt.steps.calls.plans import Plan
from nbckpt.steps.calls.step_messages import tell


@dataclass
class DecoratedFunction(Own):
    """A decorated function, and what was found out about it in this process."""

    plan: Plan
    reached: Reached
    told: set[object] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[object, ...]:
        return decorated_function, (self.plan,)

    def tell_once(self, session: Session, what: object, text: str) -> None:
        """Say something once for each `what`: fifty calls have one reason to run again."""
        with self._lock:
            if what in self.told:
                return
            self.told.add(what)
        tell(session, text)


def decorated_function(plan: Plan) -> DecoratedFunction:
    """A plan of whose function nothing was found out yet."""
    return DecoratedFunction(plan, Reached(plan.function))
