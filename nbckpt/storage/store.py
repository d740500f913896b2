"""A store: bytes by digest, records by time; written by this session, read by everybody."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.model import Record
from nbckpt.runtime.interrupts import Turn, whole
from nbckpt.storage import journal_lines
from nbckpt.storage.chunk_index import Index
from nbckpt.storage.ciphers import Cipher, remember
from nbckpt.storage.configuration import StoredConfig
from nbckpt.storage.events import Events
from nbckpt.storage.folder import id_of, open_folder
from nbckpt.storage.index_frames import Verified
from nbckpt.storage.known_records import KnownRecords
from nbckpt.storage.locks import Holds
from nbckpt.storage.signers import Signers
from nbckpt.storage.stored_blobs import StoredBlobs
from nbckpt.storage.stored_tables import StoredTables
from nbckpt.storage.trust_takeover import StoredTrust
from nbckpt.storage.unlocking import new_members, unlocked
from nbckpt.storage.waiting_writes import MOST_BYTES
from nbckpt.storage.write_queue import WriteQueue
from nbckpt.storage.write_threads import Writing
from nbckpt.storage.writer import Writer

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Store:
    """The folder ``.nbckpt``, opened by one process.

    Bytes are put at once and become durable with the next commit; records are committed by one
    background thread, in the order they were given. Any number of stores may be open on one
    folder, in any number of processes: each writes files of its own and waits for nobody.

    After `os.fork` the child goes on as a session of its own: it reads what is durable, writes
    its own files, and has nothing of what the parent had queued.

    Attributes
    ----------
    path
        The folder.
    cipher
        What seals all that lies in it; None where it is not encrypted.
    holds
        Keeps prunes away while this process relies on what is there.
    turn
        Of the threads of this process that look at variables, or move.
    signers
        Tell which lines of journals are this user's.
    queue
        What is still to be written, and the jobs that come after.
    blobs, tables, config, trust
        Parts of the store.
    """

    def __init__(self, path: Path, cipher: Cipher | None = None, store_id: str = "") -> None:
        self.path = path
        self.cipher = remember(path, cipher)
        self._verified: Verified = set()
        self._index = Index(path / "packs")
        self.signers = Signers(cipher=self.cipher, store_id=store_id)
        user = self.signers.user
        self._known = KnownRecords(path, self._index, self._verified, self.signers)
        self.blobs = StoredBlobs(path, self._index, self._known, self._verified)
        self.tables = StoredTables(path, self._known, self.cipher, self._prepare)
        self.config = StoredConfig(path, user, self._prepare)
        self.trust = StoredTrust(path, self._known, self.config, user)
        self._most_waiting = MOST_BYTES
        self._begin_writing()

    @classmethod
    def open(cls, path: Path, *, create: bool = True, key: str | None = None) -> Store:
        """The store at `path`, made if it is not there and `create` allows it.

        Opening a store that exists writes nothing, so a read-only one can be read; the error
        comes with the first write.

        Parameters
        ----------
        key
            Where the key is that an encrypted store is opened with, and a new one made with; by
            default the setting `encryption` says so.

        Raises
        ------
        SealedError
            If it is encrypted, and its key is not there.
        StoreError
            If `path` is a file, or a folder with other things in it, or cannot be written; or if
            nothing is there and `create` is false.
        FormatError
            If a newer nbckpt made it, or its ``format.json`` is damaged.
        """
        path = Path(path).absolute()
        mark = open_folder(path, create=create, extra=partial(new_members, key))
        return cls(path, unlocked(path, mark, key), id_of(mark))

    @property
    def generation(self) -> int:
        """Grows when it is seen that somebody pruned: what was folded from records is stale."""
        return self._known.generation

    @property
    def added_bytes(self) -> int:
        """Bytes that this session has put and that the store did not have."""
        return self._writer.added_bytes

    @property
    def unwritten_bytes(self) -> int:
        """Those of them that wait for the disk."""
        return self._writer.unwritten_bytes

    @property
    def damages(self) -> list[str]:
        """A sentence for each line or index that was met and cannot be read."""
        return [*self._known.damages, *self._index.damages]

    def let_wait(self, size_bytes: int) -> None:
        """Have at most so many bytes of copies wait for the disk; the rest holds up its put."""
        self._most_waiting = self._writer.waiting.most_bytes = size_bytes

    # -- bytes

    def put_blob(self, parts: Sequence[Buffer], *, within: int | None = None) -> Digest:
        """The digest of one blob: see `put_blobs`."""
        [digest] = self.put_blobs([parts], within=within)
        return digest

    @whole
    def put_blobs(
        self, blobs: Sequence[Sequence[Buffer]], *, within: int | None = None
    ) -> list[Digest]:
        """The digests of blobs: all bytes are out of the caller's buffers when this returns.

        They are durable when a later `append` is. What the store has already is not written
        again.

        Parameters
        ----------
        blobs
            The parts of each: C- or Fortran-contiguous buffers. The first is the pickle stream, by
            custom: if it is `bytes`, it is cut by its content, so that what changed in it is what
            it costs.
        within
            Bytes that the store may have then; None: as many as the disk takes.

        Raises
        ------
        StoreError
            If the disk refuses, or they do not fit. The next put works as soon as there is room.
        """
        self.queue.prepare()
        with self.writing(until_committed=True):
            return self.blobs.put(blobs, within=within)

    @whole
    def get_blob(self, digest: Digest, *, of: Record | None = None) -> list[memoryview]:
        """The parts of a blob, as writable as they were when they were put.

        Buffers of 64 KiB and more are mapped copy-on-write: there at once, read when touched, and
        free to change, since their files never do. Each chunk is verified the first time that
        this process reads it.

        Parameters
        ----------
        of
            The record that names it. It tells where the blob most likely lies, which is quicker to
            find out, once, than where everything does.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold it.
        FormatError
            If its bytes are damaged.
        """
        return self.blobs.get(digest, of=of)

    def writing(self, *, until_committed: bool = False) -> Writing:
        """Within the block no prune takes anything: what is there may be relied upon.

        It belongs around all from a look at what is kept to the `append` of what relies on it,
        and never around what may take long. Prunes that came before are noticed: `generation`
        has grown then. `append` holds on by itself until its records are durable. No interrupt
        comes within the block but where it is `allowed`.

        Parameters
        ----------
        until_committed
            Unless this thread is in another such block, go on until the next durable `append`.
        """
        return Writing(self.holds, self._within, until_committed=until_committed)

    # -- records

    @whole
    def append(self, records: Sequence[Record], *, durable: bool = True) -> Future[None]:
        """A future that is done when these records, and all that came before, are durable.

        Parameters
        ----------
        records
            Encoded before this returns.
        durable
            If false, written soon and not synced: for events, whose loss in a power cut does
            not matter.

        Returns
        -------
        Future
            Holds a `StoreError` if the disk refused. The records are then tried again before
            those of the next `append`: giving them again is not needed, and does no harm.

        Raises
        ------
        ValueError
            If a number in a record is not finite.
        """
        bodies = [journal_lines.encode(record) for record in records]
        return self.queue.append(bodies, durable=durable)

    def wait(self, timeout_s: float | None = None) -> None:
        """Return when everything queued so far, commits and jobs, is done and durable.

        Raises
        ------
        StoreError
            If it takes longer than `timeout_s`.
        NbckptError
            The first failure since the last call that raised one, or since the store was opened.
        """
        self.queue.wait(timeout_s)

    @whole
    def refresh(self) -> list[Record]:
        """The records that appeared since the last call, from all journals, oldest first.

        The first call gives all. Own records come as soon as they are durable. What cannot be
        read is named in `damages`, and the rest is still given.
        """
        return self._known.news()

    def records(self, kind: str) -> Sequence[Record]:
        """All records of a kind that were seen so far, oldest first; not to be changed."""
        return self._known.of_kind(kind)

    @property
    def events(self) -> Events:
        """The events among these."""
        return self._known.events

    def all_records(self) -> list[Record]:
        """All records that count now, those of prunes first."""
        return self._known.all()

    def close(self) -> None:
        """Finish what is queued and let go of all files.

        Raises
        ------
        NbckptError
            The first failure that `wait` did not raise.
        """
        self.queue.close()

    # -- within

    def _begin_writing(self) -> None:
        """Become a session of one's own: at the beginning, and in a forked child."""
        self.holds = Holds(self.path, self._known.look)
        self.turn = Turn()
        self._within = threading.local()
        self._writer = Writer(self.path, self._index, self._verified, self.signers)
        self._writer.waiting.most_bytes = self._most_waiting
        self._known.begin(self._writer)
        self.blobs.begin(self._writer)
        self.queue = WriteQueue(self.path, self._writer, self.holds, self.signers, keeps=self)
        _LIVE.add(self)

    def _begin_again_in_child(self) -> None:
        if self.queue.is_closed:
            return
        self.queue.abandon()
        self._index.renew_lock()
        self._begin_writing()

    def _prepare(self) -> None:
        self.queue.prepare()


_LIVE: weakref.WeakSet[Store] = weakref.WeakSet()


def _begin_again_in_child() -> None:
    for store in list(_LIVE):
        store._begin_again_in_child()  # noqa: SLF001 - the module's own class


os.register_at_fork(after_in_child=_begin_again_in_child)
