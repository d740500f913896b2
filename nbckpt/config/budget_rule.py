"""The budget for model calls as users write it. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

SPANS = ("notebook", "session", "day", "branch")
_RULE = re.compile(
    r"\$?(?P<usd>[\d.]+)(?:\s+per\s+(?P<per>\w+))?(?:\s+unknown\s+\$?(?P<unknown>[\d.]+))?\Z"
)


class BudgetRule(NamedTuple):
    """A limit on what model calls cost.

    Attributes
    ----------
    usd
        US dollars.
    per
        What they are for: each notebook of the store, each session (one kernel's time with the
        store), each day by the local clock, or each branch.
    unknown_usd
        What a call counts for whose price is not known; None: it is stopped.
    """

    usd: float
    per: str = "notebook"
    unknown_usd: float | None = None

    def __str__(self) -> str:
        unknown = "" if self.unknown_usd is None else f" unknown {_text_of(self.unknown_usd)}"
        return f"{_text_of(self.usd)} per {self.per}{unknown}"


def _text_of(usd: float) -> str:
    """An amount without an exponent, however small it is."""
    return f"{usd:.15f}".rstrip("0").rstrip(".")


def budget_of(text: str) -> BudgetRule | None:
    """The budget that a text means; None if it is ``off``.

    Raises
    ------
    ValueError
        If it cannot be read.

    Examples
    --------
    >>> budget_of("5 per day unknown 0.01")
    BudgetRule(usd=5.0, per='day', unknown_usd=0.01)
    >>> str(budget_of("$2.50"))
    '2.5 per notebook'
    """
    text = text.strip()
    if text in ("", "off"):
        return None
    found = _RULE.match(text)
    if found is None or (per := found["per"] or SPANS[0]) not in SPANS:
        raise ValueError(text)
    unknown = found["unknown"]
    return BudgetRule(float(found["usd"]), per, None if unknown is None else float(unknown))
