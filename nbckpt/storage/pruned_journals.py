"""Journals of a store, divided into those that a prune replaces and those that stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.model import Record, is_trusted
from nbckpt.storage.chunk_index import Index
from nbckpt.storage.counted_records import CHECKPOINT, TABLE
from nbckpt.storage.disk import exists
from nbckpt.storage.following import Journals
from nbckpt.storage.index_frames import Name, Place
from nbckpt.storage.journal import BATCH, SUFFIX, Entry, is_live
from nbckpt.storage.packs import SUFFIX as PACK_SUFFIX
from nbckpt.storage.signers import Signers
from nbckpt.storage.writer import batch_of, batch_record


class PrunedJournals:
    """Entries of all journals, and the places of the chunks that they lead to.

    Parameters
    ----------
    path
        Folder of the store.
    unwritten
        Entries that a session of this process is still trying to write.
    signers
        Of the journals.

    Attributes
    ----------
    entries
        All of them, up to what was read first.
    dead
        Names of the journals to replace: nobody adds to them, every line can be read, and none
        is signed by another user.
    """

    def __init__(
        self, path: Path, unwritten: Sequence[Entry] = (), signers: Signers | None = None
    ) -> None:
        self._path = path
        self._journals = Journals(path / "journal", signers)
        self.entries = [*self.more(), *unwritten]
        self._index = Index(path / "packs")
        self.require_all()
        self._live = {n for n in _names(self.entries) if is_live(self._path_of(n))}
        self._live |= _names(unwritten)
        not_ours = self._journals.damaged | self._journals.foreign
        self.dead = _names(self.entries) - self._live - not_ours
        self.expect(self.entries)

    def more(self) -> list[Entry]:
        """Entries that were written since the last call."""
        return self._journals.read({})

    @property
    def replaced(self) -> frozenset[str]:
        """Names of journals that prunes before have replaced."""
        return self._journals.replaced

    @property
    def prunes(self) -> list[Record]:
        """Records of prunes before."""
        return self._journals.prunes

    def staying(self) -> list[Record]:
        """Records in the journals that stay."""
        return [entry.record for entry in self.entries if entry.journal not in self.dead]

    def batches(self) -> list[Record]:
        """Of each pack that dead journals name and that is there, what leads to its frames."""
        found: dict[tuple[str, bool], list[Record]] = {}
        gone = self._journals.gone("condemned")
        for entry in self.entries:
            record = entry.record
            if record["kind"] == BATCH and entry.journal in self.dead:
                if record["pack"] in gone and not exists(
                    self._path / "packs" / f"{record['pack']}{PACK_SUFFIX}"
                ):
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
        named = {r.get(member) for r in self.staying() if r["kind"] in (BATCH, TABLE)}
        return self._journals.gone(what) & named

    def old(self) -> list[Path]:
        """Of the journals that are replaced, by this prune or by one before."""
        paths = (self._path_of(name) for name in sorted({*self.dead, *self._journals.replaced}))
        return [path for path in paths if exists(path)]

    def require_all(self) -> None:
        """Raise if the disk did not give all: what that needs would be taken for unneeded.

        Raises
        ------
        StoreError
            If a journal or pack could not be read.
        """
        told = [
            f"{self._path_of(n)} cannot be read: {s}" for n, s in self._journals.unreadable.items()
        ]
        for problem in (*told, *self._index.unreadable.values()):
            message = f"{problem}; nothing of {self._path} was removed: prune again when it can"
            raise StoreError(message)

    def standing(self, entries: Sequence[Entry]) -> set[str]:
        """Where live sessions stand, as far as these entries of their journals tell."""
        found: dict[tuple[str, str], str] = {}
        for _, journal, _, record in reversed(entries):
            what = "event" if record["kind"] == "event" else "head"
            if journal not in self._live or (journal, what) in found:
                continue
            if record["kind"] == CHECKPOINT and record.get("state", "done") == "done":
                found[journal, what] = record["id"]
            elif record["kind"] == what and record.get("checkpoint"):
                found[journal, what] = record["checkpoint"]
        return set(found.values())

    def expect(self, entries: Iterable[Entry]) -> None:
        """Know where the chunks lie that these entries lead to."""
        records = (entry.record for entry in entries)
        self._index.expect(batch_of(record) for record in records if record["kind"] == BATCH)

    def find(self, name: Name) -> Place | None:
        """The place of a chunk; None if it has none."""
        return self._index.find(name) or self._index.search(name)

    def _path_of(self, name: str) -> Path:
        return self._path / "journal" / f"{name}{SUFFIX}"


def _names(entries: Iterable[Entry]) -> set[str]:
    return {entry.journal for entry in entries}
