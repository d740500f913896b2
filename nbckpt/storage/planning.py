"""Plan of a prune, made from what stands in the journals; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.model import Record, is_trusted
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.counting import (
    CHECKPOINT,
    TABLE,
    Taken,
    blobs_named,
    counting,
    values_of,
)
from nbckpt.storage.disk import exists, list_folder
from nbckpt.storage.following import Journals
from nbckpt.storage.frames import Name, Place
from nbckpt.storage.index import Index
from nbckpt.storage.journal import BATCH, SUFFIX, Entry, is_live
from nbckpt.storage.leaving import Leaving
from nbckpt.storage.moving import Pack, Reach, packed_bytes, packs_in
from nbckpt.storage.packs import SUFFIX as PACK_SUFFIX
from nbckpt.storage.rewriting import (
    NAMING,
    compacted,
    corrections,
    folded,
    require_same,
    rewritten,
)
from nbckpt.storage.signing import Signers
from nbckpt.storage.sizes import size_of_file
from nbckpt.storage.writer import batch_of, batch_record
from nbckpt.text.units import bytes_text
from nbckpt.timeline.recordings import RECORDING
from nbckpt.timeline.retention import Retention, kept

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

    Attributes
    ----------
    journals
        Read up to what was planned with.
    dead
        Names of the journals to replace: nobody adds to them, every line can be read, and none
        is signed by another user.
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
    ) -> None:
        self._path = path
        self._now = now
        self._drop = retention.drop
        self._max_size = retention.max_size
        self.journals = Journals(path / "journal", signers)
        entries = [*self.journals.read({}), *unwritten]
        self._index = Index(path / "packs")
        self.require_all()
        self._live = {n for n in self._names(entries) if is_live(self.journal(n))}
        self._live |= self._names(unwritten)
        not_ours = self.journals.damaged | self.journals.foreign
        self.dead = self._names(entries) - self._live - not_ours
        self._expect(entries)
        self.reach = Reach(path / "packs", self._find)
        records = counting([entry.record for entry in entries])
        counted = set(map(id, records))
        self._entries = [entry for entry in entries if id(entry.record) in counted]
        self._everything = entries
        self._before = folded(records)
        self._records = records
        self.kept = kept(self._before, retention, now, self._size_of, standing=self._standing())
        checkpoints = self._before.checkpoints.values()
        self.removed = [(c.id, c.name) for c in checkpoints if c.id not in self.kept]
        self.calls = Leaving(self._entries, retention, self._before, self.kept, self.dead, now)
        self._records = list(self.calls.stay(self._records))
        self._entries = [entry for entry in self._entries if not self.calls.has(entry.record)]
        self._new = rewritten(self._before, records, self.kept, now)

    # -- what is kept

    @cached_property
    def records(self) -> list[Record]:
        """Records of the new journal, without batches and the record of the prune."""
        left = compacted(self._entries, self.dead, self.kept, self._new, self.values)
        after = folded(self._all_with(left))
        more = corrections(self._before, after, self.kept, self._drop, self._now)
        left += more
        require_same(self._before, folded(self._all_with(left)), self.kept, self._drop)
        return left

    @cached_property
    def pruned(self) -> list[str]:
        """Ids in journals that stay, or that readers know, and that do not count any more."""
        found = {i for i, _ in self.removed}
        for entry in self._everything:
            record = entry.record
            if record["kind"] == CHECKPOINT and entry.journal not in self.dead:
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
        self.require_all()
        if self.reach.damaged:
            return []
        return [p for p in packs_in(self._path / "packs", needed) if p.is_wasteful]

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
        has_work = self.removed or self.calls.gone or self.packs or self.tables or self._drop
        return not has_work and len(self.dead) < MANY_JOURNALS

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

    def batches(self) -> list[Record]:
        """Of each pack that dead journals name and that is there, what leads to its frames."""
        found: dict[tuple[str, bool], list[Record]] = {}
        gone = self.journals.gone("condemned")
        for entry in self._everything:
            record = entry.record
            if record["kind"] == BATCH and entry.journal in self.dead:
                if record["pack"] in gone and not exists(self._pack(record["pack"])):
                    continue
                found.setdefault((record["pack"], is_trusted(record)), []).append(record)
        return [record for named in found.values() for record in self._fewest(named)]

    def _fewest(self, named: list[Record]) -> list[Record]:
        """The last of some records of batches of a pack, where that can stand for them all."""
        last = max(named, key=itemgetter("frame"))
        if not is_trusted(last):
            return [last]
        with suppress(OSError):
            if vouched := self._index.vouched(last["pack"], last["frame"]):
                return [batch_record(vouched)]
        return named

    def gone(self, what: str) -> set[str]:
        """Packs or tables that were pruned before, and that journals which stay name."""
        member = {"condemned": "pack", "tables": "file"}[what]
        stay = (e.record for e in self._everything if e.journal not in self.dead)
        named = {r.get(member) for r in stay if r["kind"] in (BATCH, TABLE)}
        return self.journals.gone(what) & named

    def _pack(self, name: str) -> Path:
        return self._path / "packs" / f"{name}{PACK_SUFFIX}"

    def journal(self, name: str) -> Path:
        """The path of a journal."""
        return self._path / "journal" / f"{name}{SUFFIX}"

    def old_journals(self) -> list[Path]:
        """Of the journals that are replaced, by this prune or by one before."""
        paths = (self.journal(name) for name in sorted({*self.dead, *self.journals.replaced}))
        return [path for path in paths if exists(path)]

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
        self._expect(more)
        needed = self.reach.needed(d for e in more for d, _ in blobs_named(e.record))
        self.require_all()
        return needed

    def require_all(self) -> None:
        """Raise if the disk did not give all: what that needs would be taken for unneeded.

        Raises
        ------
        StoreError
            If a journal or pack could not be read.
        """
        told = [
            f"{self.journal(n)} cannot be read: {s}" for n, s in self.journals.unreadable.items()
        ]
        for problem in (*told, *self._index.unreadable.values()):
            message = f"{problem}; nothing of {self._path} was removed: prune again when it can"
            raise StoreError(message)

    # -- within

    def _forgotten_of_the_living(self) -> set[str]:
        """Ids of recordings that do not count any more, in journals that stay."""
        before = Taken(self.journals.prunes)
        return {
            record["id"]
            for _, journal, _, record in self._everything
            if journal not in self.dead
            and record["kind"] == RECORDING
            and (self.calls.has(record) or before.has(record))
        }

    def _names(self, entries: Iterable[Entry]) -> set[str]:
        return {entry.journal for entry in entries}

    def _expect(self, entries: Iterable[Entry]) -> None:
        records = (entry.record for entry in entries)
        self._index.expect(batch_of(record) for record in records if record["kind"] == BATCH)

    def _find(self, name: Name) -> Place | None:
        return self._index.find(name) or self._index.search(name)

    def _standing(self) -> set[str]:
        """Where live sessions stand, as far as their journals tell."""
        found: dict[tuple[str, str], str] = {}
        for _, journal, _, record in reversed(self._entries):
            what = "event" if record["kind"] == "event" else "head"
            if journal not in self._live or (journal, what) in found:
                continue
            if record["kind"] == CHECKPOINT and record.get("state", "done") == "done":
                found[journal, what] = record["id"]
            elif record["kind"] == what and record.get("checkpoint"):
                found[journal, what] = record["checkpoint"]
        return set(found.values())

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
        stay = [e.record for e in self._everything if e.journal not in self.dead]
        own = {"kind": "prune", "pruned": self.pruned, "replaces": [], "condemned": []}
        return [own, *stay, *left]
