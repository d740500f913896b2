"""Events of all journals, of which only places are kept where there are many."""

from __future__ import annotations

import math
from array import array
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, overload

from nbckpt.model import Record
from nbckpt.storage.journal_lines import MembersAt, placed_event

EVENT = "event"
"""Kind of a record of an event."""

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
        if not self.late:
            return self.times
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

    Those of runs take some 16 bytes each beside those of their run, and are records only as long as
    somebody looks at one. Another thread may read them while new ones come.
    """

    def __init__(self) -> None:
        self._pieces: list[list[Record] | EventRun] = []
        self._columns = _Columns(array("d"), array("I"), array("I"))
        self._looked = 0  # of so many the order stays
        self._has_new_runs = False

    def append(self, record: Record, at: float) -> None:
        """Take one event, which stands at this time, or those of a run."""
        columns = self._columns
        if isinstance(record, EventRun):
            self._pieces.append(record)
            self._has_new_runs = True
            columns.piece.extend([len(self._pieces) - 1] * len(record.times))
            columns.place.extend(range(len(record.times)))
            columns.time.extend(record.places)  # last: by these others know how many there are
            return
        last = self._pieces[-1] if self._pieces else None
        if not isinstance(last, list):
            self._pieces.append(last := [])
        last.append(record)
        columns.piece.append(len(self._pieces) - 1)
        columns.place.append(len(last) - 1)
        columns.time.append(at)

    def look_ends(self) -> None:
        """Put those of one look, which come journal by journal, in the order of their times."""
        columns, start = self._columns, self._looked
        times = columns.time[start:]
        self._looked, has_runs = len(columns.time), self._has_new_runs
        self._has_new_runs = False
        if not has_runs or all(a <= b for a, b in zip(times, islice(times, 1, None), strict=False)):
            return
        order = [start + n for n in sorted(range(len(times)), key=times.__getitem__)]
        time, piece, place = columns.time[:start], columns.piece[:start], columns.place[:start]
        time.extend(map(columns.time.__getitem__, order))
        piece.extend(map(columns.piece.__getitem__, order))
        place.extend(map(columns.place.__getitem__, order))
        self._columns = _Columns(time, piece, place)  # at once

    def chosen(
        self,
        names: Container[str] | None = None,
        *,
        start: int = 0,
        stop: int | None = None,
        since: float = -math.inf,
    ) -> Iterator[Record]:
        """Those from the place `start` on that say what one of `names` says, and are not older.

        Parameters
        ----------
        names
            Names of events; None for all.
        stop
            The place before which they stand; by default all that are there.
        since
            Seconds since the epoch.
        """
        columns = self._columns
        for n in range(start, len(columns.time) if stop is None else stop):
            if columns.time[n] < since:
                continue
            piece, place = self._pieces[columns.piece[n]], columns.place[n]
            name, at = _told(piece, place)
            if at >= since and (names is None or name in names):
                yield _record_of(piece, place)

    def __iter__(self) -> Iterator[Record]:
        return self.chosen()

    def __len__(self) -> int:
        return len(self._columns.time)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        columns = self._columns
        places = range(len(columns.time))[index]
        if isinstance(places, range):
            return [_record_of(self._pieces[columns.piece[n]], columns.place[n]) for n in places]
        return _record_of(self._pieces[columns.piece[places]], columns.place[places])


class _Columns(NamedTuple):
    """Of each event by what it is ordered, in which piece it is, and its place there."""

    time: array[float]
    piece: array[int]
    place: array[int]


def _told(piece: list[Record] | EventRun, place: int) -> tuple[str, float]:
    if isinstance(piece, EventRun):
        return piece.names[place], piece.times[place]
    return str(piece[place].get("event", "")), piece[place].get("at") or 0.0


def _record_of(piece: list[Record] | EventRun, place: int) -> Record:
    if isinstance(piece, EventRun):
        name, at, offset = piece.names[place], piece.times[place], piece.offsets[place]
        return placed_event(name, at, piece.again, offset)
    return piece[place]
