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
    """Cost of a recording; None where it is unknown."""

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


class Prices(NamedTuple):
    """The newest price of each recording that was priced anew, by its id.

    Attributes
    ----------
    trusted
        As this user's own records say.
    told
        As any records say, one's own before all others.
    """

    trusted: Mapping[str, Paid] = {}
    told: Mapping[str, Paid] = {}

    def of(self, recording: Record) -> Paid | None:
        """That of a recording, if it has one: nobody else's word counts for one's own."""
        known = self.trusted if is_trusted(recording) else self.told
        return known.get(recording["id"])


def prices_in(records: Iterable[Record]) -> Prices:
    """Prices given by records of kind `price`, which come oldest first."""
    by_whom: dict[bool, dict[str, Paid]] = {False: {}, True: {}}
    for record in records:
        for recording, cost in record["costs"].items():
            by_whom[is_trusted(record)][recording] = Paid(cost, record["price"])
    return Prices(by_whom[True], {**by_whom[False], **by_whom[True]})


def paid_for(recording: Record, prices: Prices) -> Paid:
    """Cost of a recording, by its newest price."""
    told = Paid(recording.get("cost_usd"), recording.get("price", ""))
    return prices.of(recording) or told
