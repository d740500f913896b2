"""Knowledge of watched ranges of memory, and its end by a write.

Notes
-----
Asking the kernel what was written clears its marks, also those of another watch that overlaps. So
each answer is told to every watch that it touches, and what a watch knows is what no answer has
touched since. `clock` numbers the answers: what somebody found out after the look of number `n`
holds if nothing was written since `n`, even if other threads have looked meanwhile.

A look that an interrupt of the user breaks off may have taken the kernel's marks and told nobody;
then everything is forgotten.

The first write to a protected page costs a fault. Memory of which a look finds more than half
written is left alone for the next look, then for two, and so on up to `LONGEST_REST`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from nbckpt.runtime.dirty_pages import mappings
from nbckpt.runtime.dirty_pages.tracker import (
    PAGE_BYTES,
    Ranges,
    Tracker,
    give_up,
    n_pages,
    tracker_of_process,
)

CHUNK_BYTES = 256 * 1024
MAX_WATCHES = 4096
"""Each costs at most two of the 65,530 mappings that Linux allows a process."""

MAX_CHUNKS = 1 << 19
"""Of all watches: names of 128 GiB, which take 50 MB."""

MAX_VALUES = 1 << 14
LONGEST_REST = 8


@dataclass(slots=True, eq=False)
class Watch:
    """One range, and what is known of its bytes.

    Attributes
    ----------
    names
        The digest of each chunk, where known.
    written_at
        For each chunk, when a write to it was last found out.
    values
        Derived values, and when the memory was looked at that each is made of.
    n_rests, rest
        How many looks it is still left alone, and for how many it is the next time.
    copies
        The pages of a file's mapping that had been written to, so that they are no longer its own.
    touched
        The range outside which there are none.
    """

    address: int
    n_bytes: int
    names: list[bytes | None] = field(default_factory=list)
    written_at: list[int] = field(default_factory=list)
    values: dict[Hashable, tuple[int, object]] = field(default_factory=dict)
    is_new: bool = True
    has_file: bool = False
    n_rests: int = 0
    rest: int = 1
    copies: Ranges = field(default_factory=list)
    touched: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        n_chunks = -(-self.n_bytes // CHUNK_BYTES)
        self.names, self.written_at = [None] * n_chunks, [0] * n_chunks

    @property
    def start(self) -> int:
        """The first page; neighbours may share it, whose writes count too."""
        return self.address // PAGE_BYTES * PAGE_BYTES

    @property
    def end(self) -> int:
        """Where the last page ends."""
        return -(-(self.address + self.n_bytes) // PAGE_BYTES) * PAGE_BYTES

    def forget(self, start: int, end: int, clock: int) -> None:
        """Know nothing of a range of addresses any more."""
        first = max(0, (start - self.address) // CHUNK_BYTES)
        last = min(len(self.names), -(-(end - self.address) // CHUNK_BYTES))
        for index in range(first, last):
            self.names[index] = None
            self.written_at[index] = clock
        if self.has_file:
            low, high = self.touched or (start, end)
            self.touched = min(low, start), max(high, end)

    def holds(self, chunks: range, since: int) -> bool:
        """True if nothing was written to `chunks` since a look."""
        return max(self.written_at[chunks.start : chunks.stop], default=0) <= since


class Watches:
    """All watches of a process; the one that was looked at longest ago goes when they are many."""

    def __init__(self, max_watches: int = MAX_WATCHES, max_chunks: int = MAX_CHUNKS) -> None:
        self.lock = threading.Lock()
        self.clock = 0
        self.max_watches = max_watches
        self.max_chunks = max_chunks
        self._watches: OrderedDict[tuple[int, int], Watch] = OrderedDict()
        self._n_chunks = 0
        self._is_torn = False

    def look(self, address: int, n_bytes: int) -> tuple[Watch, int, list[bytes | None]] | None:
        """A watch that knows of all writes until now, the clock, and its names.

        From here on writes are found out by the next look. None if nobody can tell what is
        written there, or if it is not worth it now.
        """
        with self.lock:
            tracker = tracker_of_process()
            if tracker is None:
                return None
            if self._is_torn:
                self._forget_all()
            self._is_torn = True
            try:
                watch = self._looked(tracker, address, n_bytes)
            except OSError:  # the descriptors are gone, or a program closed and reused them
                give_up()
                self._forget_all()
                return None
            self._is_torn = False
            return (watch, self.clock, watch.names.copy()) if watch else None

    def _looked(self, tracker: Tracker, address: int, n_bytes: int) -> Watch | None:
        watch = self._watches.get((address, n_bytes)) or self._added(tracker, address, n_bytes)
        self._watches.move_to_end((address, n_bytes))
        if watch.n_rests:
            watch.n_rests -= 1
            return None
        if watch.is_new and not _is_trusted(watch):
            self._drop(tracker, watch)
            return None
        half = 0 if watch.is_new else (watch.end - watch.start) // PAGE_BYTES // 2 + 1
        written = tracker.take_written(watch.start, watch.end, half)
        if written is None:
            if not (_is_trusted(watch) and tracker.arm(watch.start, watch.end)):
                self._drop(tracker, watch)
                return None
            # Protecting it anew cleared the marks of whoever watches part of it.
            written = [(watch.start, watch.end)]
            half = 0
        self._tell(written)
        if half and n_pages(written) >= half:
            self._disarm(tracker, watch)
            watch.n_rests, watch.rest = watch.rest - 1, min(2 * watch.rest, LONGEST_REST)
            return None
        if half:
            watch.rest = 1
        watch.is_new = False
        self._tell_reverted(tracker, watch)
        return watch

    def _forget_all(self) -> None:
        self._watches.clear()
        self._n_chunks = 0

    def _added(self, tracker: Tracker, address: int, n_bytes: int) -> Watch:
        watch = self._watches[address, n_bytes] = Watch(address, n_bytes)
        self._n_chunks += len(watch.names)
        while len(self._watches) > 1 and (
            len(self._watches) > self.max_watches or self._n_chunks > self.max_chunks
        ):
            self._drop(tracker, next(iter(self._watches.values())))
        return watch

    def _drop(self, tracker: Tracker, watch: Watch) -> None:
        del self._watches[watch.address, watch.n_bytes]
        self._n_chunks -= len(watch.names)
        self._disarm(tracker, watch)

    def _disarm(self, tracker: Tracker, watch: Watch) -> None:
        tracker.disarm(watch.start, watch.end)
        self._tell([(watch.start, watch.end)])

    def _tell(self, written: Ranges) -> None:
        """Every watch that overlaps what was written forgets it."""
        if not written:
            return
        self.clock += 1
        first, last = written[0][0], written[-1][1]
        for watch in self._watches.values():
            if watch.start < last and first < watch.end:
                for start, end in written:
                    watch.forget(max(start, watch.start), min(end, watch.end), self.clock)

    def _tell_reverted(self, tracker: Tracker, watch: Watch) -> None:
        """Find pages of a file that were written, known, and dropped: they show the file again.

        The kernel keeps such pages protected and does not say that they changed.
        """
        if watch.touched is None:
            return
        copies = tracker.copied(*watch.touched)
        self._tell(_without(watch.copies, copies))
        watch.copies = copies
        watch.touched = (copies[0][0], copies[-1][1]) if copies else None


def _is_trusted(watch: Watch) -> bool:
    """True if nobody but this process changes what is watched; asked anew of new memory."""
    is_private, watch.has_file = mappings.is_private(watch.start, watch.end)
    watch.copies = []
    watch.touched = (watch.start, watch.end) if watch.has_file else None
    return is_private


def _without(ranges: Ranges, others: Ranges) -> Ranges:
    """The parts of `ranges` that lie in none of `others`; both are in order."""
    rest: Ranges = []
    first = 0
    for start, end in ranges:
        while first < len(others) and others[first][1] <= start:
            first += 1
        at, place = start, first
        while place < len(others) and others[place][0] < end:
            if at < others[place][0]:
                rest.append((at, others[place][0]))
            at = others[place][1]
            place += 1
        if at < end:
            rest.append((at, end))
    return rest
