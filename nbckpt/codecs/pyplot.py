"""Figures that pyplot has open, while values are built that are only looked at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def none_opened() -> Iterator[None]:
    """Leave pyplot as it was: a figure that was open opens itself once more as it is loaded.

    pyplot would show it below the next cell, or in a window, and draw on it.
    """
    before = frozenset(_open())
    try:
        yield
    finally:
        for number in frozenset(_open()) - before:
            sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(number)


def _open() -> Any:
    """The managers of the figures that are open, by number."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return getattr(getattr(helpers, "Gcf", None), "figs", ())
