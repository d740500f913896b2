"""Records of all journals so far, and the places of their chunks."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nbckpt.digests import Digest
from nbckpt.model import Record, is_trusted
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.storage.chunk_index import Index
from nbckpt.storage.counted_records import CHECKPOINT, TABLE, Taken
from nbckpt.storage.events import EVENT, EVENTS, Events
from nbckpt.storage.following import Journals
from nbckpt.storage.index_frames import Verified
from nbckpt.storage.journal import BATCH, PRUNE, Entry
from nbckpt.storage.signers import Signers
from nbckpt.storage.writer import Writer, batch_of
from nbckpt.timeline.recordings import RECORDING

PLACING = (PRUNE, CHECKPOINT, "head", "tag", "note", "drop")
"""Kinds of records that say where checkpoints stand, and not what happened."""


class KnownRecords:
    """Records as they come in, until somebody prunes and all of them come in anew.

    Parameters
    ----------
    index
        Learns where chunks lie.
    verified
        Chunks whose bytes are known to be right; cleared when they lie elsewhere.
    signers
        Of the journals.

    Attributes
    ----------
    generation
        How often it was seen that somebody pruned.
    tables
        Value → the newest record of what became of its table.
    has_looked
        Whether the journals were read.
    """

    def __init__(self, path: Path, index: Index, verified: Verified, signers: Signers) -> None:
        self.generation = 0
        self.tables: dict[Digest, Record] = {}
        self.has_looked = False
        self._folder = path / "journal"
        self._index = index
        self._verified = verified
        self._signers = signers
        self._journals = Journals(self._folder, signers, in_runs=True)
        self._pruned = (0, Taken(()))
        self._by_kind: dict[str, list[Record]] = {}
        self._events = Events()
        self._all: list[Record] = []
        self._unseen: list[Record] = []

    def begin(self, writer: Writer) -> None:
        """Follow the session that `writer` is of; anew in a forked child."""
        self._lock = threading.RLock()
        self._writer = writer
        writer.speaks_for = self._unclaimed

    @property
    def damages(self) -> list[str]:
        """A sentence for each line that was met and cannot be read."""
        return self._journals.damages

    @property
    def untrusted(self) -> Mapping[str, set[bytes]]:
        """Name of each journal → digests of its lines that are not trusted, if any."""
        return self._journals.untrusted

    def look(self) -> None:
        """Take in what is new in all journals."""
        with self._lock, uncollected():
            if self._signers.look() and self.has_looked:  # what was read counts otherwise now
                self._begin_anew()
                return
            entries = self._read()
            if self.has_looked and any(entry.record["kind"] == PRUNE for entry in entries):
                self._show(entries)
                self._begin_anew()
                return
            self._take(entries)
            self._show(entries)
            self.has_looked = True

    def look_again(self) -> None:
        """A pack is gone: know where its chunks lie now."""
        with self._lock:
            generation = self.generation
            self.look()
            if generation == self.generation:
                self._begin_anew()

    def news(self) -> list[Record]:
        """The records that were not given before, oldest first."""
        with self._lock:
            self.look()
            records, self._unseen = self._unseen, []
        return records

    def all(self) -> list[Record]:
        """All records that count."""
        with self._lock:
            self.look()
            return list(self._all)

    def of_kind(self, kind: str) -> Sequence[Record]:
        """Those of a kind that were seen so far."""
        return self._events if kind == EVENT else self._by_kind.get(kind, ())

    @property
    def events(self) -> Events:
        """The events among them."""
        return self._events

    def _unclaimed(self) -> dict[str, int]:
        with self._lock:
            return self._journals.unclaimed() if self.has_looked else {}

    def _read(self) -> list[Entry]:
        own = self._writer.journal
        return self._journals.read({own.path.stem: own.readable_bytes})

    def _begin_anew(self) -> None:
        before = self._journals
        self._journals = Journals(self._folder, self._signers, in_runs=True)
        self._pruned = (0, Taken(()))
        self._by_kind, self._all, self.tables = {}, [], {}
        self._events = Events()
        entries = self._read()
        self._index.begin_anew()
        self._verified.clear()
        self._writer.begin_new_packs()
        self._take(entries)
        self._show(entry for entry in entries if entry.serial >= before.serial(entry.journal))
        self.generation += 1

    def _take(self, entries: Iterable[Entry]) -> None:
        self._index.excuse(self._journals.gone("condemned"))
        batches, by_kind, pruned = [], self._by_kind, self._gone()
        events = self._events
        prunes, every = self._pruned[0], self._all
        for entry in entries:
            record = entry.record
            kind = record["kind"]
            if kind == BATCH:
                batches.append(batch_of(record))
                continue
            if kind == RECORDING and prunes and pruned.has(record):
                continue
            every.append(record)
            if kind in (EVENT, EVENTS):
                events.append(record, entry.at)
                continue
            if kind == TABLE:
                self._take_table(record)
            if kind not in by_kind:
                by_kind[kind] = []
            by_kind[kind].append(record)
        events.look_ends()
        self._index.expect(batches)

    def _take_table(self, record: Record) -> None:
        known = self.tables.get(record["value"])
        if known is None or is_trusted(record) >= is_trusted(known):
            self.tables[record["value"]] = record

    def _gone(self) -> Taken:
        """The checkpoints and recordings that prunes took."""
        prunes = len(self._journals.prunes)
        if prunes != self._pruned[0]:
            self._pruned = (prunes, Taken(self._journals.prunes))
        return self._pruned[1]

    def _show(self, entries: Iterable[Entry]) -> None:
        """Have these given to who follows; of what a prune has left, only what places."""
        pruning = self._journals.pruning if self.has_looked else ()
        if not pruning:
            self._unseen += (e.record for e in entries if e.record["kind"] != BATCH)
            return
        for entry in entries:
            kind = entry.record["kind"]
            if kind != BATCH and (entry.journal not in pruning or kind in PLACING):
                self._unseen.append(entry.record)
