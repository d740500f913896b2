"""A store: bytes by digest, records by time; written by this session, read by everybody."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.errors import CaptureError, StoreError, UntrustedError
from nbckpt.model import Record, is_trusted
from nbckpt.runtime.interrupts import (
    Turn,
    error_of,
    result_of,
    whole,
)
from nbckpt.storage import lines
from nbckpt.storage.ciphers import Cipher, remember
from nbckpt.storage.committing import (
    Commit,
    Job,
    Queued,
    Writing,
    committing,
    end,
    insist,
    run_jobs,
)
from nbckpt.storage.configuration import read_config, write_config
from nbckpt.storage.counting import CHECKPOINT
from nbckpt.storage.folder import ROOMS, id_of, open_folder
from nbckpt.storage.frames import Batch, Name, Place, Verified
from nbckpt.storage.index import Index
from nbckpt.storage.journal import Entry
from nbckpt.storage.known import Known
from nbckpt.storage.locks import Holds
from nbckpt.storage.private import keep_private
from nbckpt.storage.reader import Reader
from nbckpt.storage.room import Room
from nbckpt.storage.signing import Signers
from nbckpt.storage.unlocking import new_members, unlocked
from nbckpt.storage.vouching import SETTINGS, Untrusted, digest_of_settings, told_apart
from nbckpt.storage.waiting import MOST_BYTES
from nbckpt.storage.workers import Worker
from nbckpt.storage.writer import Writer
from nbckpt.text.escape import legible

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.storage.check import Report
    from nbckpt.storage.repairing import Repaired

BACKGROUND_NICENESS = 10


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
    """

    def __init__(self, path: Path, cipher: Cipher | None = None, store_id: str = "") -> None:
        self.path = path
        self.cipher = remember(path, cipher)
        self._verified: Verified = set()
        self._index = Index(path / "packs")
        self.signers = Signers(cipher=self.cipher, store_id=store_id)
        self._known = Known(path, self._index, self._verified, self.signers)
        self._reader = self._reading(self._find)
        self._relied_on = self._reading(self._find_durable)
        self._closed = False
        self._most_waiting = MOST_BYTES
        self._own_settings: set[bytes] = set()
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
    def tables(self) -> Path:
        """The folder of the Parquet files."""
        return self.path / "tables"

    @property
    def damages(self) -> list[str]:
        """A sentence for each line or index that was met and cannot be read."""
        return [*self._known.damages, *self._index.damages]

    def config_text(self) -> str | None:
        """Text of its `config.json`; None if there is none."""
        return read_config(self.path)

    def write_config(self, text: str) -> None:
        """Replace its `config.json`, which counts as this user's own from now on."""
        self._is_to_write()
        digest = digest_of_settings(text)
        with suppress(StoreError):  # whose home cannot be written was told so: see `prepare`
            self.signers.user.vouch(SETTINGS, [digest])  # before it is there: it counts at once
        self._own_settings.add(digest)
        write_config(self.path, text)

    def is_own_config(self, text: str) -> bool:
        """True if this user has written a `config.json` by nbckpt, or vouched for it."""
        digest = digest_of_settings(text)
        return digest in self._own_settings or digest in self.signers.user.vouches(SETTINGS)

    def let_wait(self, size_bytes: int) -> None:
        """Have at most so many bytes of copies wait for the disk; the rest holds up its put."""
        self._most_waiting = self._writer.waiting.most_bytes = size_bytes

    # -- bytes

    @whole
    def put_blob(self, parts: Sequence[Buffer], *, within: int | None = None) -> Digest:
        """The digest of a blob: all its bytes are out of the caller's buffers when this returns.

        They are durable when a later `append` is. What the store has already is not written
        again.

        Parameters
        ----------
        parts
            C- or Fortran-contiguous buffers. The first is the pickle stream, by custom: if it is
            `bytes`, it is cut by its content, so that what changed in it is what it costs.
        within
            Bytes that the store may have then; None: as many as the disk takes.

        Raises
        ------
        StoreError
            If the disk refuses, or it does not fit. The next put works as soon as there is room.
        """
        self._is_to_write()
        with self.writing(until_committed=True):
            if not self._known.has_looked:
                self._known.look()  # so that what other sessions stored is not stored again
            wanted = 0 if within is None else sum(memoryview(part).nbytes for part in parts)
            with self._room.within(within, wanted) as room:
                return self._writer.put_blob(parts, room)

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
        if isinstance(of, lines.Unread) and of.near is not None:
            self._index.look_at(Batch(*of.near))
        return self._reader.read(digest)

    @whole
    def blob_size(self, digest: Digest) -> int:
        """The bytes of all parts together.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold the blob.
        """
        return self._reader.size(digest)

    @whole
    def has_blob(self, digest: Digest) -> bool:
        """True if every chunk of the blob has a place; their bytes are not looked at."""
        return self._reader.has(digest)

    @whole
    def can_rely_on(self, digest: Digest) -> bool:
        """True if a record that is written now may name a blob without putting it again."""
        return self._relied_on.has(digest)

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

    # -- tables

    def put_table(self, digest: Digest, name: str, value: object) -> Record:
        """Members of the record that says what became of a table, for the caller to append.

        Parameters
        ----------
        digest
            Of the variable's value.
        name
            Of the variable, for messages.
        value
            A pandas or polars frame, or an Arrow table. Read twice: give one that nobody changes.

        Returns
        -------
        Record
            The members of `TableInfo`; `file` is None where Parquet refused, and `reason` says
            why.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        self._is_to_write()
        from nbckpt.storage.tables import write_table

        try:
            info = write_table(self.tables, digest, value, self.cipher)
        except CaptureError as error:
            return {"file": None, "exact": False, "reason": f"{name!r}: {error}"}
        return dataclasses.asdict(info)

    def has_table(self, digest: Digest) -> bool:
        """True if it is known what became of the table of this value."""
        return digest in self._known.tables

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
        bodies = [lines.encode(record) for record in records]
        self._is_to_write()
        holds = self.holds
        done: Future[None] = Future()
        let_go = holds.exit
        holds.enter()
        try:
            self._promise(done)
            count = 1 + (holds.take_over() if durable else 0)
            self._commits.submit(Commit(bodies, durable, done, count))
        except BaseException:
            insist(let_go)
            self._open.pop(done, None)
            raise
        return done

    @whole
    def in_background(self, job: Job) -> Future[None]:
        """A future of `job`, which runs in a slow thread after what was queued before it.

        Commits do not wait for jobs. At the interpreter's exit, jobs that did not begin are
        dropped.
        """
        self._refuse_if_closed()
        after, done = list(self._open), Future[None]()
        try:
            self._promise(done)
            self._jobs.submit(Queued(job, after, done))
        except BaseException:
            self._open.pop(done, None)
            raise
        return done

    @whole
    def wait(self, timeout_s: float | None = None) -> None:
        """Return when everything queued so far, commits and jobs, is done and durable.

        Raises
        ------
        StoreError
            If it takes longer than `timeout_s`.
        NbckptError
            The first failure since the last call that raised one, or since the store was opened.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._wait_for(list(self._open), timeout_s, deadline)
        if self._writer.journal.waiting_bytes and not self._closed:  # written, and not synced
            self._wait_for([self.append([])], timeout_s, deadline)

    def _wait_for(
        self, queued: list[Future[None]], timeout_s: float | None, deadline: float | None
    ) -> None:
        for done in queued:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                error_of(done, left_s)
            except TimeoutError as error:
                unfinished = sum(not one.done() for one in queued)
                message = (
                    f"still writing to {self.path} after {timeout_s} s: {unfinished} to go;"
                    " wait again"
                )
                raise StoreError(message) from error
        self._raise_failure(queued)

    @whole
    def settle(self) -> None:
        """Try to write what waits: it would keep a prune away."""
        if self._writes and not self._closed:
            with suppress(StoreError):
                result_of(self.append([]))

    @whole
    def unwritten(self) -> list[Entry]:
        """Records of this session that the disk refuses, and that are tried again."""
        records = enumerate(self._writer.unwritten)
        return [Entry(0.0, self._writer.name, n, record) for n, record in records]

    @whole
    def refresh(self) -> list[Record]:
        """The records that appeared since the last call, from all journals, oldest first.

        The first call gives all. Own records come as soon as they are durable. What cannot be
        read is named in `damages`, and the rest is still given.
        """
        return self._known.news()

    def table(self, digest: Digest) -> Record | None:
        """The newest record of what became of the table of a value."""
        return self._known.tables.get(digest)

    def records(self, kind: str) -> Sequence[Record]:
        """All records of a kind that were seen so far, oldest first; not to be changed."""
        return self._known.of_kind(kind)

    def all_records(self) -> list[Record]:
        """All records that count now, those of prunes first."""
        return self._known.all()

    def untrusted(self) -> Untrusted:
        """Amount of the store that this user neither wrote nor vouched for: none of it is run."""
        self._known.look()
        journals = self._known.untrusted
        records = self._known.of_kind(CHECKPOINT)
        own = {record["id"] for record in records if is_trusted(record)}
        checkpoints = {record["id"] for record in records} - own  # others wrote some once more
        return Untrusted(len(journals), sum(map(len, journals.values())), len(checkpoints))

    def untrusted_mark(self) -> str:
        """Tells what is not trusted now, line for line, from anything else: see `trust`."""
        self._known.look()
        return told_apart(self._not_trusted())

    def _not_trusted(self) -> dict[str, frozenset[bytes]]:
        """Digests of what is not trusted, by the name under which a user vouches for it."""
        found = {journal: frozenset(own) for journal, own in self._known.untrusted.items()}
        with suppress(StoreError):
            text = self.config_text()
            if text is not None and not self.is_own_config(text):
                own = found.get(SETTINGS, frozenset())
                found[SETTINGS] = own | {digest_of_settings(text)}
        return found

    def trust(self, seen: str | None = None) -> Untrusted:
        """Vouch for all that is there now, and not for what is added later; what that was.

        Nothing is written into the store. Other open sessions of this user notice.

        Parameters
        ----------
        seen
            The `untrusted_mark` of what somebody has looked at.

        Raises
        ------
        UntrustedError
            If something else is there than what was looked at: nothing is trusted then.
        StoreError
            If this user's own folder cannot be written.
        """
        found = self.untrusted()
        # The lines that were read, whatever stands in the files by now.
        lines = self._not_trusted()
        if seen not in (None, told_apart(lines)):
            message = (
                f"somebody wrote to {legible(str(self.path))} after you looked, so nothing was"
                " trusted: look again"
            )
            raise UntrustedError(message)
        for journal, digests in lines.items():
            self.signers.user.vouch(journal, digests)
        self._known.look()
        return found

    def check(self) -> Report:
        """Report on durable data that is damaged, missing or unreachable; nothing is changed."""
        from nbckpt.storage.check import check

        return check(self.path)

    def repair(self) -> Repaired:
        """Rebuild what can be rebuilt, and say what is lost; what was damaged is kept aside.

        Raises
        ------
        StoreError
            If a prune or another repair is at work, or the disk refuses.
        """
        from nbckpt.storage.repairing import repair

        return repair(self)

    @whole
    def close(self) -> None:
        """Finish what is queued and let go of all files.

        Raises
        ------
        NbckptError
            The first failure that `wait` did not raise.
        """
        if self._closed:
            return
        self._jobs.close()  # their records are still taken
        self._closed = True
        self._ended()
        self._raise_failure(list(self._open))

    # -- within

    def _begin_writing(self) -> None:
        """Become a session of one's own: at the beginning, and in a forked child."""
        self.holds = Holds(self.path, self._known.look)
        self.turn = Turn()
        self._within = threading.local()
        self._writes = False
        self._open: dict[Future[None], None] = {}  # not done, or failed and not yet raised
        self._writer = Writer(self.path, self._index, self._verified, self.signers)
        self._writer.waiting.most_bytes = self._most_waiting
        self._room = Room(self.path, self._writer)
        self._known.begin(self._writer)
        self._commits: Worker[Commit] = Worker(
            "nbckpt-commit", committing(self._writer, self.holds)
        )
        self._jobs: Worker[Queued] = Worker(
            "nbckpt-background", run_jobs, at_most=1, niceness=BACKGROUND_NICENESS
        )
        self._ended = weakref.finalize(
            self, end, self._commits, self._jobs, self._writer, self.holds
        )
        _LIVE.add(self)

    def _begin_again_in_child(self) -> None:
        if self._closed:
            return
        self._ended.detach()
        self._writer.close()
        self.holds.close()
        self._index.renew_lock()
        self._begin_writing()

    def _find(self, name: Name) -> Place | None:
        place = self._writer.find(name) or self._index.place(name)
        if place is None:
            self._known.look()
            place = self._index.search(name)
        return place

    def _reading(self, find: Callable[[Name], Place | None]) -> Reader:
        look_again, forget = self._known.look_again, self._index.forget
        return Reader(self.path / "packs", find, self._verified, forget, look_again)

    def _find_durable(self, name: Name) -> Place | None:
        """The place of a chunk that new records may rely upon."""
        return self._writer.find(name) or self._index.find(name)

    def _promise(self, done: Future[None]) -> None:
        # Running from the start: what is queued cannot be taken back.
        done.set_running_or_notify_cancel()
        self._open[done] = None
        done.add_done_callback(self._kept)

    def _kept(self, done: Future[None]) -> None:
        if done.exception() is None:
            self._open.pop(done, None)

    def _raise_failure(self, done: Sequence[Future[None]]) -> None:
        errors = [error for future in done if (error := future.exception())]
        for future in done:
            self._open.pop(future, None)
        if errors:
            raise errors[0]

    def _is_to_write(self) -> None:
        self._refuse_if_closed()
        if not self._writes:
            self._writes = True
            self.signers.prepare()
            with suppress(OSError):  # the write itself says what the disk has against it
                keep_private(self.path, ROOMS)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            message = f"the store {self.path} is closed; open it again"
            raise StoreError(message)


_LIVE: weakref.WeakSet[Store] = weakref.WeakSet()


def _begin_again_in_child() -> None:
    for store in list(_LIVE):
        store._begin_again_in_child()  # noqa: SLF001 - the module's own class


os.register_at_fork(after_in_child=_begin_again_in_child)
