"""Events of all journals, of which only places are kept where there are many."""

from __future__ import annotations

import math
from array import array
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Any, overload

from nbckpt.model import Record
from nbckpt.storage.journal_lines import MembersAt, placed_event

EVENTS = "events"
"""Kind of an `EventRun` among the records of a journal; no line has it."""


class EventRun(dict[str, Any]):
    """Trusted events of one journal, as one record: when each was, its name and its place.

    Attributes
    ----------
    again
        Reads a line again.
    times
        Of each, in seconds since the epoch.
    names
        What happened, of each.
    offsets
        Where its line begins.
    places
        By which they are ordered: as `times`, but of a clock that was set back none is earlier than
        what stands before it.
    """

    __slots__ = ("again", "late", "names", "offsets", "times")

    def __init__(self, again: MembersAt) -> None:
        super().__init__(kind=EVENTS)
        self.again = again
        self.times = array("d")
        self.names: list[str] = []  # of which there are few
        self.offsets = array("Q")
        self.late: dict[int, float] = {}

    @property
    def places(self) -> array[float]:
        """See above."""
        places = self.times[:]
        for n, at in self.late.items():
            places[n] = at
        return places

    def add(self, name: str, at: float, offset: int, *, not_before: float = 0.0) -> None:
        """Take one more, which stands behind what was `not_before`."""
        if at < not_before:
            self.late[len(self.times)] = not_before
        self.times.append(at)
        self.names.append(name)
        self.offsets.append(offset)


class Events(Sequence[Record]):
    """The events that were seen, in the order of a store's records.

    Those of runs take some 24 bytes each, and are records only as long as somebody looks at one.
    """

    def __init__(self) -> None:
        self._pieces: list[list[Record] | EventRun] = []
        self._times = array("d")  # a clock that was set back reorders no journal
        self._piece_of = array("I")
        self._place_in = array("I")
        self._looked = 0  # of so many the order stays
        self._has_new_runs = False

    def append(self, record: Record, at: float) -> None:
        """Take one event, which stands at this time, or those of a run."""
        if isinstance(record, EventRun):
            self._pieces.append(record)
            self._has_new_runs = True
            self._times.extend(record.places)
            self._piece_of.extend([len(self._pieces) - 1] * len(record.times))
            self._place_in.extend(range(len(record.times)))
            return
        last = self._pieces[-1] if self._pieces else None
        if not isinstance(last, list):
            self._pieces.append(last := [])
        last.append(record)
        self._times.append(at)
        self._piece_of.append(len(self._pieces) - 1)
        self._place_in.append(len(last) - 1)

    def look_ends(self) -> None:
        """Put those of one look, which come journal by journal, in the order of their times."""
        start, times = self._looked, self._times[self._looked :]
        self._looked, has_runs = len(self._times), self._has_new_runs
        self._has_new_runs = False
        if not has_runs or all(a <= b for a, b in zip(times, islice(times, 1, None), strict=False)):
            return
        order = [start + n for n in sorted(range(len(times)), key=times.__getitem__)]
        self._times[start:] = array("d", map(self._times.__getitem__, order))
        self._piece_of[start:] = array("I", map(self._piece_of.__getitem__, order))
        self._place_in[start:] = array("I", map(self._place_in.__getitem__, order))

    def chosen(
        self, names: Container[str] | None = None, *, start: int = 0, since: float = -math.inf
    ) -> Iterator[Record]:
        """Those from the place `start` on that say what one of `names` says, and are not older.

        Parameters
        ----------
        names
            What happened; None for all.
        since
            Seconds since the epoch.
        """
        for n in range(start, len(self._times)):
            if self._times[n] < since:
                continue
            piece, place = self._pieces[self._piece_of[n]], self._place_in[n]
            if isinstance(piece, EventRun) and piece.times[place] < since:
                continue
            if names is not None:
                name = (
                    piece.names[place] if isinstance(piece, EventRun) else piece[place].get("event")
                )
                if name not in names:
                    continue
            yield self[n]

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self._times)))]
        piece, place = self._pieces[self._piece_of[index]], self._place_in[index]
        if isinstance(piece, EventRun):
            return placed_event(
                piece.names[place], piece.times[place], piece.again, piece.offsets[place]
            )
        return piece[place]
