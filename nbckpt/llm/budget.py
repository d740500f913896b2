"""`nbckpt.budget`: the limit on the cost of the open session's model calls."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from nbckpt.errors import UsageError
from nbckpt.llm import current


def budget(usd: float | None = None) -> str:
    """Stop model calls before the one that would pass so many dollars; without, tell.

    Counted is what this session has paid since it began. `float("inf")` ends it.

    Raises
    ------
    UsageError
        If no session is open, or `usd` is no amount.
    """
    recorder = current.recorder()
    if recorder is None:
        message = "budget: no session is open; write `%load_ext nbckpt` or `nbckpt.open(…)` first"
        raise UsageError(message)
    if usd is not None:
        given: Any = usd
        if not isinstance(given, int | float | Decimal) or not given >= 0:
            message = f"budget {usd!r}: give US dollars, as in `%nbckpt budget 5.00`"
            raise UsageError(message)
        recorder.budget.set(None if usd == float("inf") else float(usd))
    return recorder.budget.text()
