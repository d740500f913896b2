"""Follow all journals of a store: what is new since the last look, in order of time."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path

from nbckpt.model import Record
from nbckpt.storage import system
from nbckpt.storage.disk import files_in, reread
from nbckpt.storage.journal import PRUNE, SUFFIX, WRITER, Entry, Follower

TICK_NS = 2_000_000_000
"""Some file systems keep the time of a change no more exactly."""

_time = itemgetter(0)
TRIES = 10
"""More prunes than these do not come while journals are read."""


class Journals:
    """Everybody's records, read without waiting for anybody.

    Attributes
    ----------
    prunes
        The records of prunes that were met.
    pruning
        Names of the journals that prunes left.
    formats
        Name of each journal whose writer says so → the format that it writes.
    unreadable
        Name of each journal that the disk did not give last time → what it said.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._followers: dict[str, Follower] = {}
        self._listed: dict[str, Path] = {}
        self._listed_as_of = 0
        self.prunes: list[Record] = []
        self.pruning: set[str] = set()
        self.formats: dict[str, int] = {}
        self.unreadable: dict[str, str] = {}

    @property
    def count(self) -> int:
        """How many journals were met."""
        return sum(name not in self.replaced for name in self._followers)

    @property
    def replaced(self) -> frozenset[str]:
        """Names of the journals that do not count: another one has what is left of them."""
        return frozenset(name for prune in self.prunes for name in prune["replaces"])

    def gone(self, what: str) -> set[str]:
        """Names of the packs (`condemned`) or `tables`, or ids (`pruned`), that prunes took."""
        return {name for prune in self.prunes for name in prune.get(what, ())}

    def serial(self, journal: str) -> int:
        """How many records of a journal were read, or known to be lost."""
        follower = self._followers.get(journal)
        return follower.serial if follower else 0

    @property
    def damages(self) -> list[str]:
        """A sentence for each line that was there and cannot be read."""
        gone = self.replaced
        refused = (
            f"journal {name}{SUFFIX}: cannot be read: {said}"
            for name, said in self.unreadable.items()
            if name not in gone
        )
        lines = (d for name, f in self._followers.items() if name not in gone for d in f.damages)
        return [*refused, *lines]

    @property
    def damaged(self) -> set[str]:
        """Names of the journals with lines that cannot be read."""
        torn = {name for name, follower in self._followers.items() if follower.damages}
        return torn | self.unreadable.keys()

    def read(self, limits: Mapping[str, int]) -> list[Entry]:
        """What was added since, oldest first; of one journal, as it was written.

        Parameters
        ----------
        limits
            Name of a journal → how many bytes of it may be read.
        """
        found: dict[str, list[Entry]] = {}
        with uncollected():
            for _ in range(TRIES):
                if not self._read_once(limits, found):
                    break
                self._listed_as_of = 0  # a prune took what was listed, and left one that was not
        gone = self.replaced
        kept = [found[name] for name in sorted(found) if name not in gone]
        if len(kept) == 1:
            return kept[0]
        # The order is stable: of one time by the names of journals, of one journal as written.
        return sorted(chain.from_iterable(kept), key=_time)

    def _read_once(self, limits: Mapping[str, int], found: dict[str, list[Entry]]) -> bool:
        """Read on in each journal that is listed; whether one was listed and is not there."""
        gone, vanished = self.replaced, False
        for name, path in self._paths().items():
            if name in gone:
                continue
            follower = self._followers.setdefault(name, Follower(path))
            try:
                entries = reread(partial(follower.read, limits.get(name)))
            except FileNotFoundError:
                vanished = True
                continue
            except OSError as error:  # the others are read all the same
                self.unreadable[name] = (error.strerror or str(error)).lower()
                continue
            self.unreadable.pop(name, None)
            if entries:
                found.setdefault(name, []).extend(self._taken(name, entries))
        return vanished

    def _taken(self, name: str, entries: list[Entry]) -> list[Entry]:
        """The records of a journal without what it says of itself."""
        if entries[0].serial:
            return entries
        first = entries[0].record
        if first["kind"] == PRUNE:
            self.prunes.append(first)
            self.pruning.add(name)
        if first["kind"] != WRITER:
            return entries
        self.formats[name] = first["format"]
        return entries[1:]

    def _paths(self) -> dict[str, Path]:
        try:
            changed_at = system.files.stat(self._folder).st_mtime_ns
            if changed_at != self._listed_as_of:
                self._listed = {path.stem: path for path in files_in(self._folder, SUFFIX)}
                # Within a tick of the clock another file may appear under the same time.
                is_settled = time.time_ns() - changed_at > TICK_NS
                self._listed_as_of = changed_at if is_settled else 0
        except FileNotFoundError:
            return {}
        return self._listed


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage: many records come at once, and none of them is any."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
