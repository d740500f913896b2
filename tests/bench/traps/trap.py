"""A trap: a small notebook that a system can get wrong, with the right answer."""

from __future__ import annotations

from dataclasses import dataclass

SHARED = "import numpy as np, pandas as pd"


@dataclass(frozen=True, slots=True)
class Trap:
    """What runs, what is gone back to, and what is right then.

    Attributes
    ----------
    setup
        Cells up to and including the state to go back to.
    mutate
        Cells that run after it.
    check
        An expression over the variables that is true after going back, and not without.
    after
        Cells that run after going back, before the check.
    pause_s
        How long a user rests after each cell; threads go on meanwhile.
    """

    name: str
    setup: list[str]
    mutate: list[str]
    check: str
    after: tuple[str, ...] = ()
    pause_s: float = 0
