"""When a look need not be taken again: between two cells nothing of the notebook runs."""

from __future__ import annotations

import time

SOON_S = 0.02
"""For how long a look between two cells holds: threads and tasks of the notebook may go on."""


class LastLook:
    """Remembers when something was looked at, and whether a cell runs.

    Looks cost a trivial cell more than all else of a facet: one after a cell stands for those
    before the next one.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._is_between = False  # cells, of which a shell tells

    @property
    def holds(self) -> bool:
        """True if what was seen is so still."""
        return self._is_between and time.perf_counter() - self._at < SOON_S

    def taken(self) -> None:
        """A look was just taken."""
        self._at = time.perf_counter()

    def forget(self) -> None:
        """Something may have changed since."""
        self._at = 0.0

    def cell_begins(self) -> None:
        """Code of the notebook runs from now on."""
        self._is_between = False

    def cell_ends(self) -> None:
        """No code of the notebook runs any more."""
        self._is_between = True
