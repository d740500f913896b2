"""Looking at all that is kept while nothing runs: what was changed without a cell that names it.

What a cell can have changed is found by analysis. A thread, or a callback of a widget, changes
variables behind it; their stored bytes are then not what is live. A sweep encodes each variable
once, a few milliseconds at a time, compares it with what was kept, and keeps what differs.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Set
from itertools import islice
from typing import TYPE_CHECKING

from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.session.verification_sweep import Memory, Names, Sweep

if TYPE_CHECKING:
    from nbckpt.session.session import Session

TOO_LONG_S = 1.0
"""Seconds beyond which a look is taken only when asked for, not behind the user's back."""

BYTES_PER_S = 20_000_000
"""Least rate of pickling object by object, assumed until a first look measures it."""

SLOWER = 10
"""Factor by which a library's object may take longer than Python's own types at first."""

RESTLESS = 3
"""Number of times that a group changes under the look before it is left to checkpoints."""

_HASHED = re.compile(r"(numpy|pandas|polars|pyarrow|torch)\.|(str|bytes|bytearray)$")
_HASHED_PER_S = 1_000_000_000

LOOK_S = 0.00005
"""A look at next to nothing, or at memory of which nothing was written."""

MOST_AT_A_GLANCE = 32
"""Variables that a glance considers, however quick they are to look at."""

MOST_WATCHED_BYTES = 64 * 1024 * 1024
"""Should it not be watched after all, a glance at it takes this much hashing once."""


class Verifier:
    """Sweeps over the namespace of a session, and remembers what each variable took.

    Attributes
    ----------
    left_out
        Variables that the last sweep left out because a look takes too long, or because they were
        never the same twice.
    """

    def __init__(self, session: Session) -> None:
        self.left_out: tuple[str, ...] = ()
        self._session = session
        self._memory = Memory({}, {}, Counter())
        self._glances: Counter[Names] = Counter()
        self._turns: deque[str] = deque()  # what may change, looked at longest ago first
        self._in_turn: set[str] = set()

    def begin(self, *, thoroughly: bool = False) -> Sweep:
        """A sweep over all that no code is known to have touched since it was kept.

        Parameters
        ----------
        thoroughly
            Leave nothing out, however long it takes.
        """
        groups = self._groups(self._session.workspace.tracker.untouched())
        left = [g for g in groups if not thoroughly and self._is_left_out(g)]
        self.left_out = tuple(sorted(name for group in left for name in group))
        todo = [g for g in groups if g not in left]
        return Sweep(self._session, todo, self._memory)

    def glance(self, budget_s: float) -> set[str]:
        """Look for a moment at what was not looked at for longest; names that were changed.

        Between two cells there is no time for a sweep, and most variables are small.
        """
        self._renew_turns()
        chosen: dict[Names, None] = {}
        for name in list(islice(self._turns, MOST_AT_A_GLANCE)):
            if budget_s < LOOK_S:
                break
            self._turns.rotate(-1)
            group = self._group_of(name)
            if group is None or group in chosen or not self._can_change(group):
                continue
            expected_s = self._glance_s(group)
            if expected_s <= budget_s and not self._is_left_out(group):
                budget_s -= expected_s
                chosen[group] = None
        if not chosen:
            return set()
        sweep = Sweep(self._session, list(chosen), self._memory)
        while sweep.go_on(budget_s=0.0):
            pass
        self._glances.update(chosen.keys())
        return sweep.found

    def _renew_turns(self) -> None:
        """Have new names looked at first, and no longer those that hold what cannot change."""
        names = self._session.workspace.tracker.objects.others
        if names == self._in_turn:
            return
        if gone := self._in_turn - names:
            self._turns = deque(name for name in self._turns if name not in gone)
        self._turns.extendleft(sorted(names - self._in_turn, reverse=True))
        self._in_turn = set(names)

    def _glance_s(self, group: Names) -> float:
        # The first look at a type imports and decides things that the next ones know.
        if self._glances[group] > 1:
            return self._expected_s(group)
        if self._is_watched(group):
            return LOOK_S
        slowly = 1 if self._is_hashed(group) or self._is_builtin(group) else SLOWER
        return LOOK_S + slowly * self._by_size_s(group)

    def _is_builtin(self, group: Names) -> bool:
        """True if it is of Python's own types, which the C pickler walks through."""
        space = self._session.namespace
        return all(type(space.get(name)).__module__ == "builtins" for name in group)

    def _is_watched(self, group: Names) -> bool:
        """True if the kernel tells what of it was written, most probably."""
        from nbckpt.runtime.dirty_pages.memory import WATCHED_BYTES
        from nbckpt.runtime.dirty_pages.tracker import tracker_of_process

        kept = self._session.workspace.capturer.kept_as(group[0])
        if kept is None or not WATCHED_BYTES <= kept.size_bytes <= MOST_WATCHED_BYTES:
            return False
        return self._is_hashed(group) and tracker_of_process() is not None

    def _is_hashed(self, group: Names) -> bool:
        """True if it is memory that is hashed, and no objects that are pickled one by one."""
        for name in group:
            kept = self._session.workspace.capturer.kept_as(name)
            if kept is None or not _HASHED.match(kept.type_name):
                return False
            dtype = getattr(self._session.namespace.get(name), "dtype", None)
            if getattr(dtype, "hasobject", False):  # `plt.subplots` makes one of all axes
                return False
        return True

    def _can_change(self, group: Names) -> bool:
        """True if one of them can become another value while its name holds the same object."""
        from nbckpt.codecs.references import is_by_reference

        for name in group:
            value = self._session.namespace.get(name)
            if type(value) not in ATOMS and not is_by_reference(value):
                return True
        return False

    def _is_left_out(self, group: Names) -> bool:
        return self._memory.restless[group] >= RESTLESS or self._expected_s(group) > TOO_LONG_S

    def _groups(self, names: Set[str]) -> list[Names]:
        """The groups of variables that no code is known to have touched, with one of `names`."""
        groups = map(self._group_of, sorted(names))
        return list(dict.fromkeys(group for group in groups if group is not None))

    def _group_of(self, name: str) -> Names | None:
        """The group of a variable; None if code may have touched it, or nothing is kept of it."""
        if self._session.position.id is None:
            return None  # nothing is kept that could be wrong
        capturer = self._session.workspace.capturer
        if name in capturer.tracker.refusals or name in random_generators.NAMES:
            return None
        variable = capturer.kept_as(name)
        if variable is not None and variable.recipe:
            return None  # its bytes are a statement
        group = variable.group if variable else (name,)
        return group if capturer.tracker.is_untouched(group) else None

    def _expected_s(self, group: Names) -> float:
        if (took_s := self._memory.took_s.get(group)) is not None:
            return took_s
        return self._by_size_s(group)

    def _by_size_s(self, group: Names) -> float:
        variable = self._session.workspace.capturer.kept_as(group[0])
        if variable is None:
            return 0.0
        rate = _HASHED_PER_S if self._is_hashed(group) else BYTES_PER_S
        return variable.size_bytes / rate
