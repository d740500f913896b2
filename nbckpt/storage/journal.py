"""Append records to a session's own journal, and follow everybody's.

A line is one JSON object with its serial number and its checksum. One process writes a journal and
any number read it; nobody locks, because a line counts from the moment its newline is there.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from nbckpt.model import Record, is_trusted
from nbckpt.storage import file_calls
from nbckpt.storage.disk import (
    create,
    delete,
    exists,
    is_locked,
    read_at,
    reading,
    require_name,
    sync_data,
    sync_folder,
    write_at,
)
from nbckpt.storage.events import EventRun
from nbckpt.storage.journal_lines import (
    MembersAt,
    Unread,
    encode,
    event_in,
    read_text,
    serial_of,
)
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.shelves import Shelf

SUFFIX = ".jsonl"
KEPT_UNSYNCED = 1 << 20
PIECE = 1 << 18
"""Lines of so much are still in the processor's cache when they are looked at."""
LONGEST_BYTES = 256 << 20
"""No record is longer: a file of somebody else's may hold no end of a line at all."""
SHELVED_BYTES = 1 << 20
"""Of a journal that is larger, the lines of recordings are not kept in memory."""
WRITER = "writer"
PRUNE = "prune"
BATCH = "batch"
LOST = "is damaged; what it recorded is lost"
_TIMELESS = (PRUNE, BATCH)
_CREATED = ("checkpoint", "recording")


class Journal:
    """The journal that this session writes; its file is made by the first record.

    Lines that the disk refused stay here and go out, unchanged and at the same place, with the
    next ones: a reader that saw a part of them stays right, and no record is ever durable
    without the ones that came before it.

    Parameters
    ----------
    signer
        Of this journal.

    Attributes
    ----------
    path
        Of the file, which need not exist yet.
    readable_bytes
        How far its own session may read: to what is durable, or was written as not durable.
    """

    def __init__(self, path: Path, signer: Signer) -> None:
        self.path = path
        self.readable_bytes = 0
        self._signer = signer
        self._fd: int | None = None
        self._is_named = False
        self._serial = 0
        self._synced = 0
        self._written = 0
        self._tail = bytearray()  # lines after `_synced`: written, refused, or still to write

    @property
    def waiting_bytes(self) -> int:
        """Bytes of lines that are not known to be durable."""
        return len(self._tail)

    @property
    def waiting(self) -> list[Record]:
        """The records of these lines."""
        opened = filter(None, map(self._signer.open, bytes(self._tail).split(b"\n")))
        return [record for text, _, _ in opened if (record := read_text(text))]

    def add(self, bodies: Sequence[str]) -> None:
        """Take encoded records; `write` puts them on disk."""
        if not bodies:
            return
        # All or none, and what needs memory first: a line that was taken twice stands there twice.
        lines = [self._signer.line(body, n) for n, body in enumerate(bodies, self._serial)]
        more, serial = b"".join(lines), self._serial + len(lines)
        self._tail += more
        self._serial = serial

    def write(self, *, durable: bool = True) -> None:
        """Write what is waiting; when `durable`, return when it survives a power cut.

        Raises
        ------
        OSError
            If the disk refuses. What was waiting still is.
        """
        fd = self._open()
        written = len(self._tail)
        write_at(fd, bytes(self._tail[self._written :]), self._synced + self._written)
        self._written = written
        if durable or len(self._tail) > KEPT_UNSYNCED:
            self._sync(fd)
        self.readable_bytes = self._synced + self._written

    def require_name(self) -> None:
        """Raise if the file was deleted since it was made.

        Raises
        ------
        OSError
            If it was.
        """
        if self._fd is not None and self._is_named:
            require_name(self._fd, self.path)

    def close(self) -> None:
        """Let go of the file: from now on the session counts as ended."""
        if self._fd is not None:
            file_calls.files.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is not None and self._is_named:
            return self._fd
        unnamed = self.path.with_name(f".{self.path.name}.tmp")
        if self._fd is None:
            delete(unnamed)  # of a try that was refused
            # Locked before it has its name, so that who finds a journal unlocked knows it is dead.
            self._fd = create(unnamed)
            with suppress(OSError):  # some network file systems know no locks
                file_calls.files.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not self._is_named:  # nothing is written before: nobody would find it
            if not exists(self.path):  # a disk may do it, and say that it did not
                file_calls.files.rename(unnamed, self.path)
            sync_folder(self.path.parent)
            self._is_named = True
        return self._fd

    def _sync(self, fd: int) -> None:
        synced, tail = self._synced + len(self._tail), bytearray()  # before there is no going back
        try:
            sync_data(fd)
        except OSError:
            # The kernel may have dropped the pages and called them clean: write them again.
            self._written = 0
            raise
        self._synced, self._written, self._tail = synced, 0, tail


def whole_journal(records: Iterable[Record], signer: Signer) -> bytes:
    """All lines of a journal of these records.

    What is not the user's is not signed by being written anew.
    """
    bodies = ((encode(dict(record)), is_trusted(record)) for record in records)
    return b"".join(
        signer.line(body, serial, is_own=is_own) for serial, (body, is_own) in enumerate(bodies)
    )


def is_live(path: Path) -> bool:
    """True if a process still writes this journal, or nobody can tell."""
    try:
        return is_locked(path)
    except FileNotFoundError:
        return False
    except OSError:  # taken for dead, it would be deleted under its writer
        return True


class Entry(NamedTuple):
    """A record and where it stands; entries of all journals sort by time, of one as written."""

    at: float
    journal: str
    serial: int
    record: Record


def when(record: Record) -> float:
    """The time that a record carries, in seconds since the epoch; 0.0 if it has none.

    A `prune` comes before all others: it says what of them counts.
    """
    kind = record.get("kind")
    if kind in _TIMELESS:
        return 0.0
    at = record.get("created_at" if kind in _CREATED else "at")
    if type(at) is float:
        return at
    if at is None:
        at = record.get("created_at")
    return float(at) if isinstance(at, int | float) else 0.0


class Follower:
    """Reads a journal from where it last stopped.

    Parameters
    ----------
    signer
        Of the journal; by default one that trusts nothing.
    in_runs
        Whether to give the events of a large journal as one `EventRun` a read.

    Attributes
    ----------
    damages
        A sentence for each line that was there and cannot be read.
    serial
        Of the next line.
    untrusted
        Digests of the lines that were read and are not the user's, or not altogether, and not
        vouched for.
    is_foreign
        Whether one of these is signed: by another user, or with a key that is lost.
    """

    def __init__(self, path: Path, signer: Signer | None = None, *, in_runs: bool = False) -> None:
        self.path = path
        self._in_runs = in_runs
        self.damages: list[str] = []
        self.untrusted: set[bytes] = set()
        self.is_foreign = False
        self._signer = signer or Signer()
        self._own = 0
        self._offset = 0
        self._line = 0
        self._again: MembersAt | None = None
        self.serial = 0
        self._at = 0.0

    @property
    def has_own(self) -> bool:
        """True if a line is trusted."""
        return self._own > 0

    def read(self, limit: int | None = None) -> list[Entry]:
        """Entries added since the last read; an unfinished last line is left for the next time.

        Parameters
        ----------
        limit
            Read no further than this many bytes from the start of the file.
        """
        entries, number = [], self._line
        offset, line = self._offset - 1, b""  # the end of the last line
        batch: tuple[str, int] | None = None  # plain, which the collector leaves alone
        name, latest, serial = self.path.stem, self._at, self.serial
        untrusted: set[bytes] = set()
        is_foreign, own = self.is_foreign, self._own
        digest_of = self._signer.digest_of
        damages: list[str] = []
        open_line = self._signer.open
        with reading(self.path) as fd:
            size = file_calls.files.fstat(fd).st_size
            end = size if limit is None else min(size, limit)
            if end > SHELVED_BYTES and self._again is None:
                self._again = Shelf(self.path, fd, self._signer).members_at
            again = self._again
            run = EventRun(again) if again is not None and self._in_runs else None
            for offset, line in whole_lines(fd, self._offset, end):
                number += 1
                if (opened := open_line(line)) is None:
                    damages.append(f"line {number}: {LOST}")
                    serial += 1
                    continue
                text, trusted, half = opened
                is_next = text.endswith(b',"n":%d' % serial)
                if run is not None and trusted and is_next and (event := event_in(text)):
                    own = serial = serial + 1
                    run.add(*event, offset, not_before=latest)
                    latest = max(latest, event[1])
                    continue
                try:
                    record = read_text(text, again, offset, trusted=trusted)
                except ValueError as error:
                    record, wrong = None, f"names {error}, which no store has; it does not count"
                else:
                    wrong = LOST
                if record is None:
                    damages.append(f"line {number}: {wrong}")
                    serial += 1
                    continue
                if not is_next:
                    serial, expected = _serial_after(text, serial), serial
                    if trusted and serial < own:  # copied, which takes no key
                        damages.append(f"line {number}: stands there a second time")
                        serial = expected
                        continue
                    if serial > expected:
                        gone = f"{serial - expected} lines before it are gone"
                        damages.append(f"line {number}: {gone}")
                if trusted:
                    own = serial + 1
                else:
                    untrusted.add(digest_of(line) or b"")
                    is_foreign = is_foreign or self._signer.is_signed(line)
                if isinstance(record, Unread):
                    if trusted:
                        record.near = batch
                        if half:
                            untrusted.add(digest_of(line) or b"")
                    at = record.time or when(record)
                elif record["kind"] == BATCH:
                    batch, at = (record["pack"], record["frame"]), latest
                else:
                    at = when(record)
                if at > latest:  # a clock set back must not reorder a journal
                    latest = at
                if run is not None and run.times and record["kind"] == "event":
                    entries.append(Entry(run.places[0], name, serial - 1, run))
                    run = EventRun(run.again)
                entries.append(Entry(latest, name, serial, record))
                serial += 1
        if run is not None and run.times:
            entries.append(Entry(run.places[0], name, serial - 1, run))
        # All at once: what a disk refuses in the middle is read again as a whole.
        self._at, self.serial, self._line = latest, serial, number
        self._offset = offset + len(line) + 1
        self.untrusted |= untrusted
        self.is_foreign, self._own = is_foreign, own
        self.damages += (f"journal {self.path.name}, {damage}" for damage in damages)
        return entries


def whole_lines(fd: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Each whole line of a file from `start` on, without its end, and where it begins.

    Raises
    ------
    OSError
        If one is longer than any record.
    """
    at = start
    rest = b""
    while (missing := end - (read := at + len(rest))) > 0:
        # As much again of a long line, which would be copied for each piece of it.
        if not (data := read_at(fd, min(missing, max(PIECE, len(rest))), read)):
            break
        *whole, rest = (rest + data).split(b"\n")
        if len(rest) > LONGEST_BYTES:
            raise OSError(errno.EINVAL, "it has a line that is longer than any record")
        for line in whole:
            yield at, line
            at += len(line) + 1


def _serial_after(text: bytes, expected: int) -> int:
    """The serial number of a line that does not follow the last one."""
    serial = serial_of(text)
    return expected if serial is None else serial
