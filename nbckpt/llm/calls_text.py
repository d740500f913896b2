"""Outcomes of a session's model calls, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.llm import unseen_traffic
from nbckpt.text.units import count_text

if TYPE_CHECKING:
    from nbckpt.llm.outcomes import CallOutcomes

_OUTCOMES = {
    "recorded": "recorded",
    "replayed": "replayed",
    "partial": "cut or left",
    "failed": "failed",
    "stopped": "stopped unsent",
    "followed": "asked while something ran there",
    "passed": "not in a step, or off",
}


def calls_text(outcomes: CallOutcomes) -> str:
    """Number of calls seen of each provider, by outcome, and of other requests to each host."""
    told = [f"{n} of {name}{_detail(outcomes, name)}" for name, n in sorted(outcomes.seen.items())]
    told += [
        f"{count_text(n, 'other request')} to {host}"
        for host, n in sorted(unseen_traffic.passed.items())
        if n
    ]
    return ", ".join(told) or "none"


def _detail(outcomes: CallOutcomes, provider: str) -> str:
    counts = [(text, outcomes.counts[what, provider]) for what, text in _OUTCOMES.items()]
    told = ", ".join(f"{n} {text}" for text, n in counts if n)
    return f" ({told})" if told else ""
