"""The variable that is looked at once more after a cell: one at random, and quickly.

The cost does not grow with the number of variables: names are drawn until one is found of which a
look takes less than the budget.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from nbckpt.fingerprint import random_generators
from nbckpt.runtime.dirty_pages.memory import CHUNK_BYTES, WATCHED_BYTES

if TYPE_CHECKING:
    from nbckpt.capture.capture import Capturer
    from nbckpt.model import Variable

BUDGET_S = 0.0005
"""Seconds that a look at the variable of a sample may take.

One of which a look took longer saves for the next each time that it is drawn: on average, no cell
takes more.
"""

TRIES = 8
"""Variables that are drawn until one is found that a sample may look at."""

RESTLESS = 3
"""Number of times that a group is found to change under the look before it is left alone."""

_HASHED_PER_S, _PICKLED_PER_S, _OF_LIBRARY_PER_S = 1_000_000_000, 20_000_000, 2_000_000
_LOOK_S = 0.0001
_HASHED = ("numpy.", "pandas.", "polars.", "pyarrow.", "torch.", "str", "bytes", "bytearray")

Names: TypeAlias = tuple[str, ...]


class Sampler:
    """Draws variables of a capturer.

    Parameters
    ----------
    restless
        Number of times that a group was found to change while it was looked at.
    """

    def __init__(self, capturer: Capturer, restless: Counter[Names]) -> None:
        self._capturer = capturer
        self._restless = restless
        self._random = Random()  # the user's generators stay where they are
        self._took_s: dict[Names, float] = {}
        self._saved_s: defaultdict[Names, float] = defaultdict(float)
        self._looks: Counter[Names] = Counter()

    def drawn(self, touched: Iterable[str] | None) -> Names | None:
        """A group of variables that no code has touched since the last look at them.

        Parameters
        ----------
        touched
            What code had touched before the last look: every second sample is of these. About
            them the look has had to decide.
        """
        capturer = self._capturer
        names = capturer.kept_names()
        if touched and self._random.random() < 0.5:
            names = [n for n in touched if capturer.kept_as(n) is not None] or names
        for _ in range(TRIES if names else 0):
            name = names[int(self._random.random() * len(names))]
            variable = capturer.kept_as(name)
            if (
                variable is not None
                and name not in random_generators.NAMES
                and self._is_fit(variable)
            ):
                return variable.group
        return None

    def took(self, group: Names, seconds: float) -> None:
        """Remember how long a look took: the first one imports and decides what others know.

        The machine may have been busy, or the value have grown since: the last ones count most.
        """
        self._looks[group] += 1
        before_s = self._took_s[group] if self._looks[group] > 2 else seconds
        self._took_s[group] = (before_s + seconds) / 2
        self._saved_s[group] = 0

    def watched_memory(self, group: Names) -> memoryview | None:
        """The bytes of a large array, of which the kernel tells what was written; else None."""
        numpy: Any = sys.modules.get("numpy")
        value: Any = self._capturer.tracker.namespace.get(group[0])
        if numpy is None or type(value) is not numpy.ndarray or value.nbytes < WATCHED_BYTES:
            return None
        if value.dtype.hasobject or not value.flags.c_contiguous:
            return None
        return memoryview(value.reshape(-1).view("u1"))

    def chunk(self, view: memoryview) -> int:
        """The number of a chunk of memory."""
        return int(self._random.random() * -(-view.nbytes // CHUNK_BYTES))

    def _is_fit(self, variable: Variable) -> bool:
        group = variable.group
        return (
            not variable.recipe  # its bytes are a statement
            and self._restless[group] < RESTLESS
            and self._capturer.tracker.is_untouched(group)
            and all(name in self._capturer.tracker.namespace for name in group)
            and (
                self._expected_s(group, variable) <= BUDGET_S
                or self.watched_memory(group) is not None
            )
        )

    def _expected_s(self, group: Names, variable: Variable) -> float:
        saved_s = self._saved_s[group]
        self._saved_s[group] += BUDGET_S / TRIES  # so none is left out for ever
        if self._looks[group] > 1:
            return self._took_s[group] - saved_s
        return _LOOK_S * len(group) + variable.size_bytes / self._per_s(variable) - saved_s

    def _per_s(self, variable: Variable) -> int:
        """Bytes in a second that a first look takes, probably."""
        if not variable.type_name.startswith(_HASHED):
            return _OF_LIBRARY_PER_S if "." in variable.type_name else _PICKLED_PER_S
        dtype = getattr(self._capturer.tracker.namespace.get(variable.name), "dtype", None)
        holds_objects = getattr(dtype, "hasobject", False)  # `plt.subplots` makes one of all axes
        return _OF_LIBRARY_PER_S if holds_objects else _HASHED_PER_S
