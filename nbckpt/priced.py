"""Prices that recordings were given after they were made. Pure.

A recording keeps the price that it was recorded with. When it is priced anew, the new price stands
in a record of its own, beside the old one, with its source; the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from nbckpt.model import Record, is_trusted

PRICE = "price"
TOGETHER = 1000
"""Recordings that one record prices."""


class Paid(NamedTuple):
    """What a recording cost; None where nobody knows."""

    cost_usd: float | None
    price: str


def price_records(costs: Mapping[str, Paid], at: float) -> Iterator[Record]:
    """The records of new prices, by the ids of recordings."""
    by_source: dict[str, list[tuple[str, float | None]]] = {}
    for recording, paid in costs.items():
        by_source.setdefault(paid.price, []).append((recording, paid.cost_usd))
    for source, priced in by_source.items():
        for start in range(0, len(priced), TOGETHER):
            costs_usd = dict(priced[start : start + TOGETHER])
            yield {"kind": PRICE, "price": source, "costs": costs_usd, "at": at}


def prices_in(records: Iterable[Record]) -> dict[str, Paid]:
    """Id of each recording that was priced anew → its newest price.

    Parameters
    ----------
    records
        Of kind `price`, oldest first. What is not trusted counts for nothing beside what is.
    """
    return {
        recording: Paid(cost, record["price"])
        for record in sorted(records, key=is_trusted)
        for recording, cost in record["costs"].items()
    }


def paid_for(recording: Record, prices: Mapping[str, Paid]) -> Paid:
    """What a recording cost, by its newest price."""
    told = Paid(recording.get("cost_usd"), recording.get("price", ""))
    return prices.get(recording["id"], told)
