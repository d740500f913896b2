"""Prices of models as users write them. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Rate(NamedTuple):
    """US dollars for a million tokens, in whatever tier a call is served.

    Attributes
    ----------
    into, out
        Of what goes in, and of what comes out.
    cached
        Of what goes in and came from a cache; None: as the rest.
    """

    into: float
    out: float
    cached: float | None = None


def rates_of(text: str) -> dict[str, Rate]:
    """The prices of a text, by model.

    Raises
    ------
    ValueError
        If it cannot be read.

    Examples
    --------
    >>> rates_of("mine=0.5/1.5, other=1/4/0.25")["mine"]
    Rate(into=0.5, out=1.5, cached=None)
    """
    rates = {}
    for part in filter(None, map(str.strip, text.split(","))):
        model, _, prices = part.rpartition("=")
        numbers = [float(price) for price in prices.split("/")]
        if (
            not model.strip()
            or len(numbers) not in (2, 3)
            or not all(0 <= n < 1e9 for n in numbers)
        ):
            raise ValueError(part)
        rates[model.strip()] = Rate(*numbers)
    return rates
