"""Numbers as a line of small bars, one a character."""

from __future__ import annotations

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
GAP = " "


def sparkline(numbers: Sequence[float | None], width: int = 60) -> str:
    """A bar for each number, the lowest and the highest of them as far apart as can be.

    Parameters
    ----------
    numbers
        In their order; None or not a number leaves a gap.
    width
        Of more numbers than this, some evenly spread are shown, the last among them.

    Examples
    --------
    >>> sparkline([1, 2, 4, None, 8])
    '▁▂▄ █'
    >>> sparkline([3.0, 3.0])
    '▄▄'
    """
    shown = spread(numbers, width)
    known = [n for n in shown if n is not None and math.isfinite(n)]
    if not known:
        return GAP * len(shown)
    low, high = min(known), max(known)
    return "".join(_bar(n, low, high) for n in shown)


def spread(numbers: Sequence[float | None], most: int) -> list[float | None]:
    """At most so many of some numbers, evenly spread, the first and the last among them.

    Examples
    --------
    >>> spread([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]
    """
    if len(numbers) <= most:
        return list(numbers)
    step = (len(numbers) - 1) / max(1, most - 1)
    return [numbers[round(i * step)] for i in range(most)]


def _bar(number: float | None, low: float, high: float) -> str:
    if number is None or not math.isfinite(number):
        return GAP
    if high == low:
        return BARS[len(BARS) // 2 - 1]
    share = number / high - low / high if math.isinf(high - low) else (number - low) / (high - low)
    return BARS[min(len(BARS) - 1, int(share * len(BARS)))]
