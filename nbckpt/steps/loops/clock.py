"""When to keep how far work came: not at a cost that is much of its time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Compares the time that keeping progress takes with the time since it was kept."""

    share: float
    cost_s: float = 0.0
    last: float = field(default_factory=time.perf_counter)
    _asked: float = 0.0

    def is_worth_it(self) -> bool:
        """True if keeping it now takes less than its share of the time since it was kept."""
        self._asked = time.perf_counter()
        return self.cost_s <= self.share * (self._asked - self.last)

    def kept(self) -> None:
        """Note that it is kept, and what that took."""
        self.last = time.perf_counter()
        self.cost_s = self.last - self._asked
