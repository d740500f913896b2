"""What one session writes: chunks into packs of its own, then records into its own journal.

Bytes before record: a commit seals the batch of chunks put so far, syncs it, and only then writes
the records, the batch's own among them, and syncs those.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import StoreError
from nbckpt.model import Record
from nbckpt.storage import journal, lines
from nbckpt.storage.blobs import Part, cut, encode_tree, flat
from nbckpt.storage.disk import read_at, refused
from nbckpt.storage.index import Index
from nbckpt.storage.journal import Journal
from nbckpt.storage.packs import (
    CHUNK_BYTES,
    MAPPED_BYTES,
    ROLL_BYTES,
    Batch,
    Frame,
    Name,
    PackWriter,
    Place,
    open_pack,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer


def new_name(now: float) -> str:
    """A writer's name: sorts by the time `now`, unique by chance."""
    return f"{int(now * 1000):012x}-{secrets.token_hex(4)}"


def batch_record(batch: Batch) -> Record:
    """The record that leads readers to a batch."""
    return {"kind": "batch", "pack": batch.pack, "frame": batch.frame}


class Writer:
    """Puts chunks and commits records, for one process.

    Attributes
    ----------
    name
        Of the journal, and the beginning of the packs' names.
    verified
        Chunks whose bytes are known to be right; `put_blob` adds what it wrote.
    """

    def __init__(self, path: Path, index: Index, verified: set[Name]) -> None:
        self.name = new_name(time.time())
        self.journal = Journal(path / "journal" / f"{self.name}{journal.SUFFIX}")
        self.verified = verified
        self._folder = path / "packs"
        self._index = index
        self._lock = threading.Lock()
        self._packs: list[PackWriter] = []
        self._begun = 0
        self._pending: dict[Name, Place] = {}  # in the kernel's cache, not known to be durable
        self._suspect: dict[Name, Place] = {}  # of those: a sync failed, the disk may lack them
        self._frames: list[tuple[PackWriter, Frame]] = []  # written, to be synced
        self._bodies: list[str] = []  # records that wait for their bytes
        self._scratch = bytearray(CHUNK_BYTES)

    def put_blob(self, parts: Sequence[Buffer]) -> Digest:
        """The digest of a blob whose bytes are in the kernel's hands, not durable yet.

        Raises
        ------
        StoreError
            If the disk refuses; what was put before stays, the room that this blob took is free
            again, and the next put goes on.
        """
        wanted = sum(memoryview(part).nbytes for part in parts)
        with self._lock, refused(self._folder, wanted):
            ends = {pack.name: pack.end for pack in self._packs}
            try:
                tree = encode_tree([self._put_part(part) for part in parts])
                return self._put_chunk(memoryview(tree)).hex()
            except OSError:
                self._cut_back(ends)
                raise

    def find(self, name: Name) -> Place | None:
        """The place of a chunk that was put here and is not durable yet."""
        return self._pending.get(name)

    def commit(self, bodies: Sequence[str], *, durable: bool) -> None:
        """Return when everything put so far, and these records, survive a power cut.

        Records that the disk refused are kept and go out with the next commit, before its own,
        so that no durable record ever lacks the ones it builds on.

        Parameters
        ----------
        bodies
            From `lines.encode`.
        durable
            If false, the records are written and not synced, and chunks are left as they are.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        durable = durable or bool(self._bodies)  # those lack their bytes still
        self._bodies += bodies
        size = sum(map(len, self._bodies)) + self.journal.waiting_bytes
        with refused(self.journal.path, size):
            batches = self._seal() if durable else []
            self.journal.add([lines.encode(batch_record(batch)) for batch in batches])
            self.journal.add(self._bodies)
            self._bodies = []
            self.journal.write(durable=durable)

    def close(self) -> None:
        """Let go of all files, as they are."""
        self.journal.close()
        for pack in {id(p): p for p in [*self._packs, *(p for p, _ in self._frames)]}.values():
            with suppress(OSError):
                pack.close()
        self._packs = []

    # -- chunks: called with the lock held

    def _put_part(self, part: Buffer) -> Part:
        view = flat(part)
        readonly = memoryview(part).readonly
        stable = isinstance(view.obj, bytes)
        mapped = len(view) >= MAPPED_BYTES
        names: list[Name] = []
        last: Place | None = None
        for chunk in cut(view):
            data = chunk if stable else self._copy(chunk)
            name = blake3(data).digest()
            names.append(name)
            last = None if self._has(name) else self._write(name, data, after=last, mapped=mapped)
        return Part(len(view), readonly, tuple(names))

    def _copy(self, chunk: memoryview) -> memoryview:
        """The chunk as it is at this instant.

        Another thread may write to the buffer between digest and write; then the bytes on disk
        would not be those that their digest names. The copy stays in the processor's cache.
        """
        copy = memoryview(self._scratch)[: len(chunk)]
        copy[:] = chunk
        return copy

    def _put_chunk(self, data: memoryview) -> Name:
        name = blake3(data).digest()
        if not self._has(name):
            self._write(name, data, after=None, mapped=False)
        return name

    def _cut_back(self, ends: Mapping[str, int]) -> None:
        """Forget the chunks that lie past these ends, and give their room back to the disk."""
        for pack in self._packs:
            for name in pack.cut_back(ends.get(pack.name)):
                self._pending.pop(name, None)
                self.verified.discard(name)

    def _has(self, name: Name) -> bool:
        return name in self._pending or self._index.find(name) is not None

    def _write(self, name: Name, data: memoryview, *, after: Place | None, mapped: bool) -> Place:
        pack = self._pack(roll=after is None)
        place = pack.put(name, data, after=after, mapped=mapped)
        self._pending[name] = place
        self.verified.add(name)
        return place

    def _pack(self, *, roll: bool) -> PackWriter:
        if not self._packs or (roll and self._packs[-1].end >= ROLL_BYTES):
            self._packs.append(PackWriter.begin(self._folder, f"{self.name}-{self._begun}"))
            self._begun += 1
        return self._packs[-1]

    # -- batches: called by the one committing thread

    def _seal(self) -> list[Batch]:
        """Close and sync the batch of each pack that has new chunks."""
        if not self._pending:
            return []
        with self._lock:
            self._rewrite()
            for pack in self._packs:
                if pack.open_chunks:
                    self._frames.append((pack, pack.seal()))
        try:
            for pack in {id(pack): pack for pack, _ in self._frames}.values():
                pack.sync()
        except OSError:
            self._distrust()
            raise
        return self._accept()

    def _accept(self) -> list[Batch]:
        with self._lock:
            batches = []
            for pack, frame in self._frames:
                self._index.add(pack.name, frame)
                batches.append(Batch(pack.name, frame.offset))
                for name, _ in frame.chunks:
                    self._pending.pop(name, None)
            self._frames = []
            self._let_go_of_full_packs()
        return batches

    def _let_go_of_full_packs(self) -> None:
        full = [pack for pack in self._packs[:-1] if not pack.open_chunks]
        for pack in full:
            self._packs.remove(pack)
            pack.close()

    def _distrust(self) -> None:
        """After a failed sync, give up these packs: the kernel may have dropped their pages.

        Syncing once more would succeed and mean nothing [1]_. What can still be read back is
        written again, elsewhere, by the next commit.

        References
        ----------
        .. [1] Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020.
        """
        with self._lock:
            self._suspect |= self._pending
            for pack in self._packs:
                pack.close()
            self._packs = []
            self._frames = []

    def _rewrite(self) -> None:
        for name, place in list(self._suspect.items()):
            fd = open_pack(self._folder, place.pack)
            try:
                data = read_at(fd, place.length, place.offset)
            finally:
                os.close(fd)
            if blake3(data).digest() != name:
                message = (
                    f"the disk that holds {self._folder} lost bytes that it had accepted:"
                    " nothing more can be kept by this session; restart the kernel and %resume"
                )
                raise StoreError(message)
            self._write(name, memoryview(data), after=None, mapped=place.length >= MAPPED_BYTES)
            del self._suspect[name]
