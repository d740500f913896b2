"""Follow all journals of a store: what is new since the last look, in order of time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.model import Record, is_trusted
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.storage import file_calls
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.disk import files_in, reread
from nbckpt.storage.file_names import is_name
from nbckpt.storage.folder import id_of_store
from nbckpt.storage.journal import PRUNE, SUFFIX, WRITER, Entry
from nbckpt.storage.journal_follower import Follower
from nbckpt.storage.record_counts import Claims, seen
from nbckpt.storage.signers import TICK_NS, Signers

_NONE: frozenset[str] = frozenset()

_time = itemgetter(0)
TRIES = 10
"""More prunes than these do not come while journals are read."""


class Journals:
    """Everybody's records, read without waiting for anybody.

    Parameters
    ----------
    signers
        Of the journals. Who gives them sees to it that they know what is new.
    in_runs
        Whether events of a large journal come as an `EventRun`.

    Attributes
    ----------
    prunes
        The records of prunes that were met. One that is not trusted says nothing of what is.
    pruning
        Names of the journals that prunes left.
    unreadable
        Name of each journal that the disk did not give last time → what it said.
    """

    def __init__(
        self, folder: Path, signers: Signers | None = None, *, in_runs: bool = False
    ) -> None:
        self._folder = folder
        self._in_runs = in_runs
        if signers is None:
            store = folder.parent
            signers = Signers(cipher=cipher_of(store), store_id=id_of_store(store))
            signers.look()
        self._signers = signers
        self._claims = Claims()
        self._misnamed: list[str] = []
        self._named_replaced: tuple[int, frozenset[str], frozenset[str]] = (0, _NONE, _NONE)
        self._followers: dict[str, Follower] = {}
        self._listed: dict[str, Path] = {}
        self._listed_as_of = 0
        self.prunes: list[Record] = []
        self.pruning: set[str] = set()
        self.unreadable: dict[str, str] = {}

    @property
    def count(self) -> int:
        """Number of journals met, without those that are replaced."""
        return sum(name not in self.replaced for name in self._followers)

    @property
    def replaced(self) -> frozenset[str]:
        """Names of the journals that do not count: another one has what is left of them."""
        by_own, by_others = self._replaced()
        return by_own.union(n for n in by_others if not self._has_own(n)) if by_others else by_own

    def _replaced(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names of the journals replaced by trusted prunes, and of those replaced by others."""
        if len(self.prunes) != self._named_replaced[0]:
            by_own, by_others = (
                frozenset(n for prune in prunes for n in prune.get("replaces", ()))
                for prunes in (
                    [prune for prune in self.prunes if is_trusted(prune)],
                    [prune for prune in self.prunes if not is_trusted(prune)],
                )
            )
            self._named_replaced = (len(self.prunes), by_own, by_others)
        return self._named_replaced[1:]

    def _has_own(self, name: str) -> bool:
        follower = self._followers.get(name)
        return follower is not None and follower.has_own

    def _is_over(self, name: str) -> bool:
        """True if a journal need not be read: what it holds is known not to count."""
        by_own, by_others = self._replaced()
        if name in by_own:
            return True
        return name in by_others and name in self._followers and not self._has_own(name)

    def gone(self, what: str) -> set[str]:
        """Names of the packs (`condemned`) or `tables`, or ids (`pruned`), that prunes took."""
        return {name for prune in self.prunes for name in prune.get(what, ())}

    @property
    def untrusted(self) -> dict[str, set[bytes]]:
        """Name of each journal that counts → digests of its lines that are not trusted, if any."""
        gone, found = self.replaced, self._followers.items()
        return {name: f.untrusted for name, f in found if f.untrusted and name not in gone}

    @property
    def foreign(self) -> set[str]:
        """Names of the journals with lines that another user signed, or a key that is lost."""
        return {name for name, follower in self._followers.items() if follower.is_foreign}

    def serial(self, journal: str) -> int:
        """Number of records of a journal that were read, or are known to be lost."""
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
        ends = (
            f"journal {name}{SUFFIX}: {count} records at its end are gone"
            if name in self._followers
            else f"journal {name}{SUFFIX}: is gone, with {count} records"
            for name, count in self._short().items()
        )
        return [*self._misnamed, *refused, *lines, *ends]

    @property
    def damaged(self) -> set[str]:
        """Names of the journals that are gone, or have lines that cannot be read."""
        torn = {name for name, follower in self._followers.items() if follower.damages}
        return torn | self.unreadable.keys() | self._short().keys()

    def _short(self) -> dict[str, int]:
        """Name of each journal that lost its end → how many records."""
        over = self.replaced | self.unreadable.keys()
        return self._claims.short(self.serial, self._has_own, over)

    def unclaimed(self) -> dict[str, int]:
        """The claims that a new session makes about other journals: see `record_counts`."""
        over = self.replaced
        counts = {n: f.serial for n, f in self._followers.items() if n not in over}
        return seen(self._folder, counts, self._claims)

    def read(self, limits: Mapping[str, int]) -> list[Entry]:
        """Entries added since the last read, oldest first; those of one journal as written.

        Parameters
        ----------
        limits
            Name of a journal → number of its bytes that may be read.
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
        vanished = False
        for name, path in self._paths().items():
            if self._is_over(name):
                continue
            if (follower := self._followers.get(name)) is None:
                follower = Follower(path, self._signers.of(name), in_runs=self._in_runs)
                self._followers[name] = follower
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
        if first["kind"] in (PRUNE, WRITER):
            self._claims.take(name, first)
        if first["kind"] == PRUNE:
            self.prunes.append(first)
            self.pruning.add(name)
        return entries[1:] if first["kind"] == WRITER else entries

    def _paths(self) -> dict[str, Path]:
        try:
            return reread(self._list)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            message = f"{self._folder} cannot be read: {reason}; nothing that was durable is lost"
            raise StoreError(message) from error

    def _list(self) -> dict[str, Path]:
        try:
            changed_at = file_calls.files.stat(self._folder).st_mtime_ns
            if changed_at != self._listed_as_of:
                found = {path.stem: path for path in files_in(self._folder, SUFFIX)}
                self._listed = {name: path for name, path in found.items() if is_name(name)}
                self._misnamed = [
                    f"journal {name!a}: no journal has such a name; it does not count"
                    for name in found.keys() - self._listed.keys()
                ]
                # Within a tick of the clock another file may appear under the same time.
                is_settled = time.time_ns() - changed_at > TICK_NS
                self._listed_as_of = changed_at if is_settled else 0
        except FileNotFoundError:
            return {}
        return self._listed
