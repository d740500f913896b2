"""Plan of a prune, made from what stands in the journals; nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property
from pathlib import Path

from nbckpt.model import Record
from nbckpt.storage.chunks_to_move import Pack, Reach, packed_bytes, packs_in
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.counted_records import (
    CHECKPOINT,
    TABLE,
    Taken,
    blobs_named,
    counting,
    values_of,
)
from nbckpt.storage.disk import list_folder
from nbckpt.storage.index_frames import Name, Place
from nbckpt.storage.journal import Entry
from nbckpt.storage.pruned_calls import Leaving
from nbckpt.storage.pruned_journals import PrunedJournals
from nbckpt.storage.rewriting import (
    NAMING,
    compacted,
    corrections,
    folded,
    require_same,
    rewritten,
)
from nbckpt.storage.signers import Signers
from nbckpt.storage.sizes import size_of_file
from nbckpt.text.units import bytes_text
from nbckpt.timeline.prune_retention import Retention, kept
from nbckpt.timeline.recordings import RECORDING

Edit = Callable[[Record], Record | None]
"""Gives the new form of a record whose journal is written anew; None: it is left out."""

MANY_JOURNALS = 32
"""So many of dead sessions are made one, even where nothing else is to be done."""


class Plan:
    """Division of a store into what is kept and what goes.

    Parameters
    ----------
    now
        Seconds since the epoch.
    unwritten
        Entries that a session of this process is still trying to write.
    signers
        Of the journals.
    edit
        Has all that can be written anew written anew, as it says; every checkpoint is kept.

    Attributes
    ----------
    journals
        Read up to what was planned with.
    kept
        Ids of checkpoints.
    removed
        Ids and names of those that are to go, oldest first.
    calls
        Those that are to go with them.
    """

    def __init__(
        self,
        path: Path,
        retention: Retention,
        now: float,
        unwritten: Sequence[Entry] = (),
        signers: Signers | None = None,
        edit: Edit | None = None,
    ) -> None:
        self._path = path
        self.is_edit = edit is not None
        self._now = now
        self._drop = retention.drop
        self._max_size = retention.max_size
        self.journals = journals = PrunedJournals(path, unwritten, signers)
        entries, dead = journals.entries, journals.dead
        if edit is not None:
            entries = _edited(entries, dead, edit)
        self.reach = Reach(path / "packs", journals.find)
        records = counting([entry.record for entry in entries])
        counted = set(map(id, records))
        self._entries = [entry for entry in entries if id(entry.record) in counted]
        self._before = folded(records)
        self._records = records
        standing = journals.standing(self._entries)
        if edit is None:
            self.kept = kept(self._before, retention, now, self._size_of, standing=standing)
        else:
            self.kept = set(self._before.checkpoints)
        checkpoints = self._before.checkpoints.values()
        self.removed = [(c.id, c.name) for c in checkpoints if c.id not in self.kept]
        self.calls = Leaving(self._entries, retention, self._before, self.kept, dead, now)
        self._records = list(self.calls.stay(self._records))
        self._entries = [entry for entry in self._entries if not self.calls.has(entry.record)]
        self._new = rewritten(self._before, records, self.kept, now)

    # -- what is kept

    @cached_property
    def records(self) -> list[Record]:
        """Records of the new journal, without batches and the record of the prune."""
        left = compacted(self._entries, self.journals.dead, self.kept, self._new, self.values)
        after = folded(self._all_with(left))
        more = corrections(self._before, after, self.kept, self._drop, self._now)
        left += more
        require_same(self._before, folded(self._all_with(left)), self.kept, self._drop)
        return left

    @cached_property
    def pruned(self) -> list[str]:
        """Ids in journals that stay, or that readers know, and that do not count any more."""
        found = {i for i, _ in self.removed}
        for entry in self.journals.entries:
            record = entry.record
            if record["kind"] == CHECKPOINT and entry.journal not in self.journals.dead:
                found.add(record["id"])
        return sorted((found - self.kept) | self._forgotten_of_the_living())

    @cached_property
    def values(self) -> set[str]:
        """Digests of the values that kept checkpoints hold."""
        return {
            value for record in self._needing(self.kept, self._new) for value in values_of(record)
        }

    @cached_property
    def needed(self) -> dict[str, dict[Name, Place]]:
        """Pack → the chunks in it that what is kept needs."""
        return self.reach.needed(self._digests(self.kept, self._new))

    @cached_property
    def packs(self) -> list[Pack]:
        """Packs that are worth writing anew, or deleting."""
        needed = self.needed
        self.journals.require_all()
        if self.reach.damaged:
            return []
        packs = packs_in(self._path / "packs", needed)
        return packs if self.is_edit else [p for p in packs if p.is_wasteful]

    @cached_property
    def tables(self) -> list[Path]:
        """Files of tables that no kept checkpoint has."""
        return self.tables_without(self.values)

    def tables_without(self, values: Iterable[str]) -> list[Path]:
        """Files of tables of other values than these."""
        folder, cipher = self._path / "tables", cipher_of(self._path)
        wanted = {cipher.name_of_table(value) for value in values} if cipher else set(values)
        found = [folder / name for name in list_folder(folder)]
        return [p for p in sorted(found) if p.stem not in wanted and not p.name.startswith(".")]

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to do."""
        if self.is_edit:
            return not self.journals.dead
        has_work = self.removed or self.calls.gone or self.packs or self.tables or self._drop
        return not has_work and len(self.journals.dead) < MANY_JOURNALS

    @cached_property
    def too_large(self) -> str:
        """Why the store will be larger than was asked for; empty if it will not."""
        asked = self._max_size
        if asked is None or (size := self._size_of(self.kept)) <= asked:
            return ""
        return (
            f"about {bytes_text(size)} are left, more than {bytes_text(asked)}: heads of branches,"
            " tagged checkpoints and where sessions stand are kept; drop a branch, or take a tag"
            " away"
        )

    @cached_property
    def left(self) -> str:
        """Text on requests that the plan does not meet; empty if it meets all."""
        unknown = ", ".join(map(repr, self.calls.unknown))
        told = [self.too_large, f"no model call has the tag {unknown}" if unknown else ""]
        return "; ".join(filter(None, told))

    def freed_bytes(self) -> int:
        """Approximate number of bytes that the prune will free."""
        packs = sum(
            p.size - (packed_bytes(p.needed.values()) if p.needed else 0) for p in self.packs
        )
        return packs + sum(map(size_of_file, self.tables))

    # -- what was written since

    def goes_on(self, more: Iterable[Entry]) -> bool:
        """True if it still holds with these records: they lean on nothing that goes."""
        records = [entry.record for entry in more]
        known = {*self.kept, *(r["id"] for r in records if r["kind"] == CHECKPOINT), None}
        for record in records:
            if record["kind"] == CHECKPOINT:
                if record.get("name", "") in self.calls.steps:
                    return False
                leans_on = {record.get("parent"), *record.get("inherited", ())}
            elif record["kind"] in NAMING:
                leans_on = {record["checkpoint"]}
            else:
                continue
            if not leans_on <= known:
                return False
        return True

    def needed_by(self, more: list[Entry]) -> dict[str, dict[Name, Place]]:
        """Pack → the chunks in it that records need which were written since."""
        self.journals.expect(more)
        needed = self.reach.needed(d for e in more for d, _ in blobs_named(e.record))
        self.journals.require_all()
        return needed

    # -- within

    def _forgotten_of_the_living(self) -> set[str]:
        """Ids of recordings that do not count any more, in journals that stay."""
        before = Taken(self.journals.prunes)
        return {
            record["id"]
            for _, journal, _, record in self.journals.entries
            if journal not in self.journals.dead
            and record["kind"] == RECORDING
            and (self.calls.has(record) or before.has(record))
        }

    def _needing(self, ids: set[str], new: dict[str, Record]) -> Iterable[Record]:
        """The records of checkpoints as they will be."""
        for record in self._records:
            if record["kind"] == CHECKPOINT and record["id"] in ids:
                yield new.get(record["id"], record)

    def _digests(self, ids: set[str], new: dict[str, Record]) -> set[str]:
        others = (r for r in self._records if r["kind"] not in (CHECKPOINT, TABLE))
        records = [*self._needing(ids, new), *others]
        return {digest for record in records for digest, _ in blobs_named(record)}

    def _size_of(self, ids: set[str]) -> int:
        """Bytes of the store when just these checkpoints are kept."""
        new = rewritten(self._before, self._records, ids, self._now)
        values = {value for record in self._needing(ids, new) for value in values_of(record)}
        tables, journals = self._path / "tables", self._path / "journal"
        kept_tables = {tables / name for name in list_folder(tables)} - {
            *self.tables_without(values)
        }
        lines = sum(size_of_file(journals / name) for name in list_folder(journals))
        share = len(ids) / max(len(self._before.checkpoints), 1)
        sizes = map(size_of_file, kept_tables)
        return self.reach.size(self._digests(ids, new)) + sum(sizes) + int(lines * share)

    def _all_with(self, left: list[Record]) -> list[Record]:
        """All records as readers will have them."""
        own = {"kind": "prune", "pruned": self.pruned, "replaces": [], "condemned": []}
        return [own, *self.journals.staying(), *left]


def _edited(entries: Iterable[Entry], dead: Container[str], edit: Edit) -> list[Entry]:
    """The entries as they will be: those of journals that stay are as they are."""
    found = []
    for entry in entries:
        record = edit(entry.record) if entry.journal in dead else entry.record
        if record is not None:
            found.append(entry._replace(record=record))
    return found
