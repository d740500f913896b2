"""Figures of pyplot as values are built: it draws none of them, and keeps none that is let go."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Have a figure that is one of pyplot's again not be drawn for that, nor shown by a cell."""
    if "matplotlib.pyplot" not in sys.modules:
        yield
        return
    settings: Any = sys.modules["matplotlib"].rcParams
    was, settings["interactive"] = settings["interactive"], False
    try:
        yield
    finally:
        settings["interactive"] = was


@contextmanager
def opened_are_closed() -> Iterator[None]:
    """Leave pyplot as it was: a figure that was open opens itself once more as it is loaded.

    pyplot would show it below the next cell, or in a window, and draw on it. A backend that shows
    what is drawn would show all that are open, and close them.
    """
    before = open_figures()
    try:
        with nothing_drawn():
            yield
    finally:
        close(open_figures() - before)


def open_figures() -> frozenset[int]:
    """Numbers of the figures that pyplot has open."""
    return frozenset(getattr(_managers(), "figs", ()))


def close(numbers: Collection[int]) -> None:
    """Have pyplot know some figures no more."""
    for number in numbers:
        _managers().destroy(number)


def _managers() -> Any:
    return getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
