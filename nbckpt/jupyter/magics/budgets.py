"""`%nbckpt budget` and `cost`: what model calls may cost, and what they have cost."""

from __future__ import annotations

from nbckpt.errors import UsageError
from nbckpt.jupyter import notices
from nbckpt.jupyter.magics import lines
from nbckpt.session.session import Session


def budget(line: str) -> None:
    """Stop model calls before the one that would pass a budget, or tell what was paid."""
    from nbckpt.llm.budget import budget

    usage = "%nbckpt budget [USD | off]"
    words, _ = lines.parted(line, usage, 0, 1)
    notices.notify(budget(_amount(words[0], usage) if words else None))


def cost(session: Session, line: str, width: int) -> None:
    """Tell what model calls have cost; with ``--recompute`` by the prices that are known today."""
    from nbckpt.reports.costs import costs_text
    from nbckpt.session.history.costs import ledger_of
    from nbckpt.timeline.recordings import RECORDING

    _, given = lines.parted(line, "%nbckpt cost [--recompute]", 0, 0, ("--recompute",))
    session.refresh()
    if given:
        from nbckpt.llm.pricing import reprice

        notices.notify(reprice(session).text())
    ledger = ledger_of(session.store, session.timeline)
    notices.notify(costs_text(session.store.records(RECORDING), ledger, width=width))


def _amount(word: str, usage: str) -> float:
    if word == "off":
        return float("inf")
    try:
        return float(word.removeprefix("$"))
    except ValueError as error:
        message = f"budget {word!r}: write `{usage}`"
        raise UsageError(message) from error
