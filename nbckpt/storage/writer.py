"""One session's writing: chunks into packs of its own, then records into its own journal.

Bytes before record: a commit seals the batch of chunks put so far, syncs it, and only then writes
the records, the batch's own among them, and syncs those.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.model import Record, is_trusted
from nbckpt.runtime import clock
from nbckpt.storage import journal, journal_lines
from nbckpt.storage.batches import Batches
from nbckpt.storage.chunk_index import Index
from nbckpt.storage.disk import refused
from nbckpt.storage.folder import FORMAT, require_cipher
from nbckpt.storage.index_frames import Batch, Name, Place, Verified
from nbckpt.storage.journal import WRITER, Journal
from nbckpt.storage.record_counts import SEEN
from nbckpt.storage.signers import Signers
from nbckpt.storage.waiting_writes import Waiting

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.storage.putting import Putter


def new_name(now: float) -> str:
    """A writer's name: sorts by the time `now`, unique by chance."""
    return f"{int(now * 1000):012x}-{os.urandom(4).hex()}"


def batch_record(batch: Batch) -> Record:
    """The record that leads readers to a batch."""
    record = {"kind": "batch", "pack": batch.pack, "frame": batch.frame, "sum": batch.sum.hex()}
    return {**record, "before": batch.before.hex()} if batch.before else record


def batch_of(record: Record) -> Batch:
    """The batch to which a record leads."""
    before = bytes.fromhex(record["before"]) if "before" in record else b""
    own = bytes.fromhex(record["sum"])
    return Batch(record["pack"], record["frame"], own, before, is_trusted(record))


class Writer:
    """Puts chunks and commits records, for one process.

    Attributes
    ----------
    name
        Of the journal, and the beginning of the packs' names.
    speaks_for
        Gives the journals of ended sessions, and how many records they have: see `record_counts`.
    """

    def __init__(self, path: Path, index: Index, verified: Verified, signers: Signers) -> None:
        self.name = new_name(clock.now())
        self.journal = Journal(
            path / "journal" / f"{self.name}{journal.SUFFIX}", signers.of(self.name)
        )
        self._folder = path / "packs"
        self._batches = Batches(self._folder, self.name, index, verified)
        self._bodies: list[str] = []  # records that wait for their bytes
        self._lacks_bytes = False  # whether some of them were refused
        self._has_begun = False
        self._is_marked = False
        self.speaks_for: Callable[[], Mapping[str, int]] = dict

    @cached_property
    def _putter(self) -> Putter:
        # Not before something is put: most commands write nothing.
        from nbckpt.storage.putting import Putter

        return Putter(self._batches)

    def put_blobs(self, blobs: Sequence[Sequence[Buffer]], room: int | None = None) -> list[Digest]:
        """The digests of blobs whose bytes are in the kernel's hands, not durable yet.

        Parameters
        ----------
        room
            Bytes that they may add to the store; None: any number.

        Raises
        ------
        StoreError
            If the disk refuses; what was put before stays, the room that these blobs took is free
            again, and the next put goes on.
        """
        from nbckpt.storage.blobs import size_of_parts

        wanted = sum(map(size_of_parts, blobs))
        with self._batches.lock, refused(self._folder, wanted):
            ends = self._batches.ends()
            self._batches.room = room
            try:
                digests = self._putter.put(blobs)
                self._batches.accept_blobs()
                return digests
            except BaseException:  # an interrupt also: some places have no bytes yet
                self._batches.cut_back(ends)
                raise
            finally:
                self._batches.room = None

    @property
    def added_bytes(self) -> int:
        """Bytes of all chunks that were put here and that the store did not have."""
        return self._batches.added_bytes

    @property
    def unwritten_bytes(self) -> int:
        """Those of them that are not durable yet."""
        return self._batches.unwritten_bytes

    @property
    def waiting(self) -> Waiting:
        """Those of them that no file has yet."""
        return self._batches.waiting

    def find(self, name: Name) -> Place | None:
        """The place of a chunk that was put here and is not durable yet."""
        return self._batches.find(name)

    def take(self, bodies: Sequence[str]) -> None:
        """Have these records written by the next commit."""
        self._lacks_bytes |= bool(self._bodies)
        self._bodies += bodies

    def commit(self, bodies: Sequence[str], *, durable: bool) -> None:
        """Return when everything put so far, and these records, survive a power cut.

        Records that the disk refused are kept and go out with the next commit, before its own,
        so that no durable record ever lacks the ones it builds on.

        Parameters
        ----------
        bodies
            From `journal_lines.encode`.
        durable
            If false, the records are written and not synced, and chunks are left as they are.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        if bodies:
            self.take(bodies)
        durable = durable or self._lacks_bytes
        size = sum(map(len, self._bodies)) + self.journal.waiting_bytes
        if not self._has_begun:
            self._has_begun = True
            first: dict[str, object] = {"kind": WRITER, "format": FORMAT}
            if found := self.speaks_for():
                first[SEEN] = found
            self.journal.add([journal_lines.encode(first)])
        with refused(self.journal.path, size):
            self.journal.require_name()
            if not self._is_marked:
                require_cipher(self._folder.parent, self._batches.cipher)
                self._is_marked = True
            batches = self._batches.seal() if durable else []
            self.journal.add([journal_lines.encode(batch_record(batch)) for batch in batches])
            self.journal.add(self._bodies)
            self._bodies, self._lacks_bytes = [], False
            self.journal.write(durable=durable)

    @property
    def unwritten(self) -> list[Record]:
        """Records that the disk has refused so far, or may have."""
        bodies = [journal_lines.read_text(body.encode()) for body in list(self._bodies)]
        return [*self.journal.waiting, *filter(None, bodies)]

    def begin_new_packs(self) -> None:
        """Add no more to packs that somebody may have pruned."""
        self._batches.begin_anew()

    def close(self) -> None:
        """Let go of all files, as they are."""
        self.journal.close()
        self._batches.close()
