"""Append records to a session's own journal, and follow everybody's.

A line is one JSON object with its serial number and its checksum. One process writes a journal and
any number read it; nobody locks, because a line counts from the moment its newline is there.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Sequence
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
    require_name,
    sync_data,
    sync_folder,
    write_at,
)
from nbckpt.storage.journal_lines import (
    encode,
    read_text,
)
from nbckpt.storage.line_signatures import Signer

SUFFIX = ".jsonl"
KEPT_UNSYNCED = 1 << 20
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
