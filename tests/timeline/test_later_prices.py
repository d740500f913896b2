"""What a recording cost: by its newest price, and by nobody else's word."""

from __future__ import annotations

import random

import pytest

from nbckpt.model import UNTRUSTED, Record
from nbckpt.timeline.later_prices import (
    PRICE,
    Paid,
    paid_for,
    prices_in,
)

THEIRS = {UNTRUSTED: True}


def recording(**more: object) -> Record:
    return {"kind": "recording", "id": "r", "cost_usd": 0.5, "price": "then", **more}


def price(cost: float, source: str, **more: object) -> Record:
    return {"kind": PRICE, "price": source, "costs": {"r": cost}, "at": 1.0, **more}


def test_a_price_that_somebody_else_wrote_counts_for_no_recording_of_ones_own() -> None:
    forged = price(1000.0, "forged", **THEIRS)

    assert paid_for(recording(), prices_in([forged])) == Paid(0.5, "then")
    assert paid_for(recording(), prices_in([price(0.7, "own"), forged])) == Paid(0.7, "own")


@pytest.mark.parametrize("seed", range(4))
def test_what_somebody_else_recorded_costs_what_they_say_until_one_says_it_oneself(
    seed: int,
) -> None:
    theirs, told = recording(**THEIRS), [price(2.0, "theirs", **THEIRS)]
    assert paid_for(theirs, prices_in(told)) == Paid(2.0, "theirs")

    every = random.Random(seed).sample([*told, price(0.7, "own")], 2)
    assert paid_for(theirs, prices_in(every)) == Paid(0.7, "own")


def test_the_newest_price_counts() -> None:
    assert paid_for(recording(), prices_in([price(1.0, "a"), price(2.0, "b")])) == Paid(2.0, "b")
