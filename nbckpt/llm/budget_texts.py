"""What users are told of a budget. Pure."""

from __future__ import annotations

from nbckpt.config.budget_rule import BudgetRule
from nbckpt.text.units import usd_text

STATE_A_LIMIT = ". It sets no limit of its answer: `max_tokens` makes it cost less at most"
"""After `stopped`, of a call of which nothing tells how long its answer may be."""


def stopped(rule: BudgetRule, model: str, usd: float, paid: float, aside: float) -> str:
    """Why a call is not sent.

    Parameters
    ----------
    usd
        The most that it may cost.
    paid
        For calls that have ended.
    aside
        The most that calls in flight may cost.
    """
    flying = f", and what is in flight may cost {usd_text(aside)}" if aside > 0 else ""
    return (
        f"the budget of {usd_text(rule.usd)} per {rule.per} stops this call of {model!r}: the calls"
        f" before it cost {usd_text(paid)}{flying}, and this one may cost {usd_text(usd)}; raise it"
        " with `%nbckpt budget USD`, or end it with `%nbckpt budget off`"
    )


def standing(rule: BudgetRule, paid: float, aside: float, assumed: float) -> str:
    """Limit, amount paid and amount left, in one line.

    Parameters
    ----------
    assumed
        Of what was paid in this session, for answers that were not seen in full.
    """
    parts = [f"{usd_text(paid)} paid"]
    if aside:
        parts.append(f"at most {usd_text(aside)} in flight")
    parts.append(f"{usd_text(max(0.0, rule.usd - paid - aside))} left")
    told = f"budget {usd_text(rule.usd)} per {rule.per}: {', '.join(parts)}"
    if rule.unknown_usd is not None:
        told += f"; calls without a price count {usd_text(rule.unknown_usd)} each"
    if assumed:
        told += (
            f"; in this session at most {usd_text(assumed)} of it for answers that did not tell"
            " what they took, or whose end nobody saw"
        )
    return told
