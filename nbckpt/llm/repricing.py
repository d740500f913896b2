"""Recordings, priced anew: with the prices that are known today, for when they were made."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.config.model_prices import rates_of
from nbckpt.errors import UsageError
from nbckpt.llm.prices import load, price_of
from nbckpt.llm.usage import Usage
from nbckpt.runtime import clock
from nbckpt.text.escape import lines_of
from nbckpt.text.units import count_text, usd_text
from nbckpt.timeline.later_prices import (
    PRICE,
    Paid,
    paid_for,
    price_records,
    prices_in,
)
from nbckpt.timeline.recordings import RECORDING, recording_from

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class Repriced(NamedTuple):
    """Result of pricing all recordings again.

    Attributes
    ----------
    changed
        Number of recordings that have another price now.
    before_usd, after_usd
        Total cost of all whose price is known.
    sources
        Source of a price → number of recordings.
    unknown
        Number of recordings that have no price.
    """

    recordings: int
    changed: int
    before_usd: float
    after_usd: float
    sources: dict[str, int]
    unknown: int

    def text(self) -> str:
        """All of it in two lines."""
        what = (
            f"{count_text(self.changed, 'recording')} of {self.recordings:,} priced anew: "
            f"{usd_text(self.before_usd)} before, {usd_text(self.after_usd)} now"
        )
        told = [f"{source} ({n:,})" for source, n in sorted(self.sources.items())]
        told += [f"unknown ({self.unknown:,})"] if self.unknown else []
        return lines_of([what, *([f"prices     {', '.join(told)}"] if told else [])])


def reprice(session: Session) -> Repriced:
    """Price all recordings of a session's store with today's prices, those of the settings first.

    The prices that they were recorded with stay where they are; a price that is not known any more
    is kept.

    Raises
    ------
    UsageError
        If no prices are known at all.
    StoreError
        If the disk refuses.
    """
    rates = rates_of(session.settings.prices)
    if not rates and load().result() is None:
        message = (
            "no prices are known here: `pip install 'nbckpt[prices]'`, or say them with "
            '`%nbckpt config prices "MODEL=0.5/1.5"`, per million tokens in/out'
        )
        raise UsageError(message)
    session.refresh()
    known = prices_in(session.store.records(PRICE))
    new: dict[str, Paid] = {}
    sources: Counter[str] = Counter()
    before_usd = after_usd = 0.0
    records = session.store.records(RECORDING)
    for record in records:
        recording, before = recording_from(record), paid_for(record, known)
        usage = Usage(
            recording.tokens_in,
            recording.tokens_out,
            recording.tokens_cached,
            recording.tokens_reasoning,
            recording.model,
            recording.usage,
        )
        price = price_of(recording.provider, recording.model, usage, recording.created_at, rates)
        after = before if price is None else Paid(price.usd, price.source)
        if after != before:
            new[recording.id] = after
        before_usd += before.cost_usd or 0.0
        after_usd += after.cost_usd or 0.0
        if after.cost_usd is not None:
            sources[after.price] += 1
    if new:
        session.writes.append(list(price_records(new, clock.now()))).result()
        session.refresh()
    unknown = len(records) - sum(sources.values())
    return Repriced(len(records), len(new), before_usd, after_usd, dict(sources), unknown)
