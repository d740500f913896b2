"""Cost of model calls by model, with the sources of the prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from nbckpt.model import Record
from nbckpt.session.history.costs import CostLedger
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import usd_text

COLUMNS = (
    Column("model"),
    Column("calls", right=True),
    Column("in", right=True),
    Column("out", right=True),
    Column("paid", right=True),
    Column("price"),
)
UNKNOWN = 'unknown: `nbckpt config prices "MODEL=IN/OUT"` says it'


@dataclass
class _Line:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    sources: Counter[str] = field(default_factory=Counter)


def costs_text(
    recordings: Iterable[Record], ledger: CostLedger, *, width: int | None = None
) -> str:
    """Table of the cost of all recordings by their newest prices, a line for each model.

    Parameters
    ----------
    width
        Characters that there is room for; None: no limit.
    """
    lines: dict[str, _Line] = {}
    for recording in recordings:
        line = lines.setdefault(recording["model"], _Line())
        paid = ledger.paid_for(recording)
        line.calls += 1
        line.tokens_in += recording.get("tokens_in") or 0
        line.tokens_out += recording.get("tokens_out") or 0
        line.usd += paid.cost_usd or 0.0
        line.sources[paid.price if paid.cost_usd is not None else ""] += 1
    if not lines:
        return "no model calls are recorded"
    rows = [
        (
            model,
            f"{line.calls:,}",
            f"{line.tokens_in:,}",
            f"{line.tokens_out:,}",
            "?" if set(line.sources) == {""} else usd_text(line.usd),
            ", ".join(_told(source, n, line.calls) for source, n in line.sources.most_common()),
        )
        for model, line in sorted(lines.items(), key=lambda item: -item[1].usd)
    ]
    return table_text(COLUMNS, rows, width=width)


def _told(source: str, count: int, of: int) -> str:
    return (source or UNKNOWN) + (f" ({count:,})" if count < of else "")
