"""A decorated function, and what was found out about it in this process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from nbckpt.fingerprint.names import Own
from nbckpt.session.session import Session
from nbckpt.steps.calls.code import Reached
from nbckpt.steps.calls.plans import Plan
from nbckpt.steps.calls.telling import tell


@dataclass
class Known(Own):
    """A decorated function, and what was found out about it in this process."""

    plan: Plan
    reached: Reached
    told: set[object] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[object, ...]:
        return known_of, (self.plan,)

    def tell_once(self, session: Session, what: object, text: str) -> None:
        """Say something once for each `what`: fifty calls have one reason to run again."""
        with self._lock:
            if what in self.told:
                return
            self.told.add(what)
        tell(session, text)


def known_of(plan: Plan) -> Known:
    """A plan of whose function nothing was found out yet."""
    return Known(plan, Reached(plan.function))
