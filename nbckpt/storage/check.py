"""Tell what is damaged, missing or unreachable in a store; change nothing.

Everything is read anew from disk, trusting neither an index nor what was verified before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path

from nbckpt.digests import Digest
from nbckpt.model import Record
from nbckpt.storage.blobs import Part, decode_root, names_in
from nbckpt.storage.check_packs import CheckedPacks
from nbckpt.storage.check_report import Kind, Problem, Report
from nbckpt.storage.counted_records import TABLE, blobs_named, counting
from nbckpt.storage.disk import (
    digest_of_file,
    exists,
    list_folder,
    unfinished_in,
    unreadable,
)
from nbckpt.storage.following import TRIES, Journals
from nbckpt.storage.index_frames import Frame, Name
from nbckpt.storage.journal import BATCH
from nbckpt.storage.journal import SUFFIX as JOURNAL
from nbckpt.storage.packs import SUFFIX
from nbckpt.storage.sizes import size_of_file
from nbckpt.storage.writer import batch_of


def check(path: Path) -> Report:
    """The report on the store at `path`.

    Raises
    ------
    StoreError
        If the disk does not give what it gave a moment before: nothing can be said then.
    """
    tries = TRIES
    while True:
        checked = _Check(path)
        try:
            report = checked.run()
        except OSError as error:
            tries -= 1
            if isinstance(error, FileNotFoundError) and tries:
                continue  # a prune took what was listed a moment before
            raise unreadable(error, path) from error
        if report.ok or not checked.was_pruned_meanwhile():
            return report


class _Check:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.packs = CheckedPacks(path, self._tell)
        self.reached: set[Name] = set()
        self.size_bytes = 0  # of tables
        self.journals = Journals(path / "journal")

    def run(self) -> Report:
        # Journals first: what they name was written before them, even while others go on writing.
        journals = self.journals
        records = [entry.record for entry in journals.read({})]
        frames = self.packs.read({r["pack"] for r in records if r["kind"] == BATCH})
        for damage in journals.damages:
            where, _, what = damage.partition(": ")
            self._tell("damaged", where, what)
        self._find_batches(records, frames)
        counted = counting(records)
        blobs = self._find_blobs(counted)
        tables = self._find_tables(counted)
        self._find_garbage(frames, {r["pack"] for r in records if r["kind"] == BATCH})
        self._find_leftovers()
        return Report(
            journals.count,
            len(records),
            self.packs.count,
            self.packs.chunks,
            blobs,
            tables,
            self.packs.size_bytes + self.size_bytes,
            tuple(self.problems),
        )

    def was_pruned_meanwhile(self) -> bool:
        """True if somebody took files away while this looked for them."""
        before = len(self.journals.prunes)
        self.journals.read({})
        return len(self.journals.prunes) > before

    def _tell(self, kind: Kind, where: str, what: str) -> None:
        self.problems.append(Problem(kind, where, what))

    # -- references

    def _find_batches(self, records: list[Record], frames: dict[str, list[Frame]]) -> None:
        there = {(pack, frame.offset) for pack, found in frames.items() for frame in found}
        batches = (batch_of(record) for record in records if record["kind"] == BATCH)
        named = {(batch.pack, batch.frame): batch for batch in batches}
        before = {(p, f.previous): None for p, found in frames.items() for f in found if f.previous}
        for pack, found in frames.items():
            for frame in found:
                batch = named.get((pack, frame.offset))
                if batch is not None and batch.sum not in (b"", frame.sum):
                    where = f"pack {pack} at offset {frame.offset}"
                    self._tell("damaged", where, "the index of a batch is not the one named")
        gone: dict[str, None] = {}
        for pack, offset in sorted({**named, **before}.keys() - there):
            where = f"pack {pack} at offset {offset}"
            if pack in frames:
                self._tell("damaged", where, "the index of a batch")
                self.packs.salvage(pack, offset)
            elif pack in self.journals.gone("condemned"):
                continue
            elif not exists(self.path / "packs" / f"{pack}{SUFFIX}"):
                gone[pack] = None
        for pack in gone:
            self._tell("missing", f"pack {pack}", "the whole of it")

    def _find_blobs(self, records: list[Record]) -> int:
        users: dict[Digest, list[str]] = defaultdict(list)
        for record in records:
            for digest, what in blobs_named(record):
                users[digest].append(what)
        for digest, whats in users.items():
            self._find_blob(digest, _and_others(whats))
        return len(users)

    def _find_blob(self, digest: Digest, what: str) -> None:
        try:
            name = bytes.fromhex(digest)
        except ValueError:
            self._tell("missing", f"blob {digest}", f"is no digest; {what}")
            return
        if not self._find_chunk(name, what):
            return
        parts = decode_root(self.packs.bytes_of(name))
        if parts is None:
            self._tell("damaged", f"blob {digest}", f"is no tree; {what}")
            return
        for part in parts:
            for chunk in self._names(part, what):
                if chunk not in self.reached:
                    self._find_chunk(chunk, what)

    def _names(self, part: Part, what: str) -> Iterator[Name]:
        """The chunks of a part; those that a group names only if it can be read."""
        if not part.grouped:
            yield from part.names
            return
        for group in part.names:
            if group not in self.reached:
                self._find_chunk(group, what)
            if group in self.packs.sound:
                yield from names_in(self.packs.bytes_of(group))

    def _find_chunk(self, name: Name, what: str) -> bool:
        self.reached.add(name)
        if name in self.packs.sound:
            return True
        if place := self.packs.bad.get(name):
            self._tell("damaged", f"pack {place.pack} at offset {place.offset}", what)
        else:
            self._tell("missing", f"chunk {name.hex()}", what)
        return False

    # -- tables

    def _find_tables(self, records: list[Record]) -> int:
        tables = {r["file"]: r for r in records if r["kind"] == TABLE and r.get("file")}
        folder, gone = self.path / "tables", self.journals.gone("tables")
        tables = {n: r for n, r in tables.items() if n not in gone or exists(folder / n)}
        for name, record in tables.items():
            self._find_table(folder / name, record)
        for path in (folder / name for name in list_folder(folder)):
            if path.name not in tables:
                self._tell("unreachable", f"table {path.name}", f"{size_of_file(path):,} bytes")
        return len(tables)

    def _find_table(self, path: Path, record: Record) -> None:
        try:
            digest = digest_of_file(path)
        except FileNotFoundError:
            self._tell("missing", f"table {path.name}", "the Parquet form of a table")
            return
        except OSError as error:
            self._tell("damaged", f"table {path.name}", f"cannot be read: {error.strerror}")
            return
        self.size_bytes += size_of_file(path)
        if digest != record["file_digest"]:
            self._tell("damaged", f"table {path.name}", "the Parquet form of a table")

    # -- garbage

    def _find_leftovers(self) -> None:
        """Report unfinished packs and replaced journals that a killed prune left behind."""
        journals = self.path / "journal"
        left = unfinished_in(self.path / "packs")
        replaced = (journals / f"{name}{JOURNAL}" for name in sorted(self.journals.replaced))
        for path in (*left, *(path for path in replaced if exists(path))):
            where = f"{path.parent.name} {path.name}"
            self._tell("unreachable", where, "left by a prune; the next one deletes it")

    def _find_garbage(self, frames: dict[str, list[Frame]], named: Container[str]) -> None:
        for pack, found in frames.items():
            orphaned = "" if pack in named else self._told_orphaned(pack)
            chunks = [chunk for frame in found for chunk in frame.chunks]
            unnamed = [place for name, place in chunks if name not in self.reached]
            spare = [
                place
                for name, place in chunks
                if place in self.packs.spoiled and name in self.packs.sound
            ]
            for places, what in (
                (unnamed, f"that no checkpoint names{orphaned}"),
                (spare, "damaged, of which there are sound copies"),
            ):
                if places:
                    size = sum(place.length for place in places)
                    told = f"{len(places)} chunks, {size:,} bytes, {what}"
                    self._tell("unreachable", f"pack {pack}", told)

    def _told_orphaned(self, pack: str) -> str:
        """Text on the missing journal of an unnamed pack; empty if it is there or was replaced.

        No claim need report it: nobody can tell a journal that was deleted from one that was
        never begun.
        """
        journal = pack.rpartition("-")[0]
        is_there = exists(self.path / "journal" / f"{journal}{JOURNAL}")
        if is_there or journal in self.journals.replaced:
            return ""
        return (
            f", and its journal, {journal}{JOURNAL}, is not there: it was deleted, and a copy of it"
            " brings back what it names, or its session died before it kept anything"
        )


def _and_others(whats: list[str]) -> str:
    return whats[0] if len(whats) == 1 else f"{whats[0]} and {len(whats) - 1} more"
