"""What the model calls of a store cost, with those that are in flight: one file for all processes.

A call is written down with the most that it may cost before it is sent, and with what it did cost
when it has ended. So one that a dead process had sent still counts.

Notes
-----
The file is `spending.jsonl`; `FORMAT.md` specifies its lines. It is not synced: what a power cut
takes of it counts for nothing. Lines that nobody can read count for nothing either. Where the file
system knows no locks, two processes may each send what is left for one.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.digests import digest_of
from nbckpt.runtime.processes import is_running
from nbckpt.storage import file_calls
from nbckpt.storage.disk import open_lock, read_at, write_at
from nbckpt.storage.locks import FOLDER
from nbckpt.storage.new_files import create_beside

FILE = "spending.jsonl"
LOCK = "spending"
MOST_BYTES = 4 << 20
"""A longer file is written anew, with one line for all that ended in one place."""


class Place(NamedTuple):
    """Where a call belongs.

    Attributes
    ----------
    day
        By the local clock, as ``2026-11-30``.
    session
        Id of the session.
    notebook, branch
        Digests of their names: the file is never encrypted.
    """

    day: str
    session: str
    notebook: str
    branch: str

    @classmethod
    def of(cls, at: float, session: str, notebook: str, branch: str) -> Place:
        """The place of a call that begins at a time, in seconds since 1970."""
        day = time.strftime("%Y-%m-%d", time.localtime(at))
        return cls(day, session, digest_of(notebook)[:16], digest_of(branch)[:16])


class InFlight(NamedTuple):
    """A call that was sent, and of whose end nothing is known.

    Attributes
    ----------
    usd
        The most that it may cost.
    process
        That sent it: host and process id.
    """

    usd: float
    place: Place
    process: str

    @property
    def may_end(self) -> bool:
        """False if the process that sent it is there no more; True if that is on another host."""
        host, _, pid = self.process.rpartition(":")
        return host != socket.gethostname() or (pid.isdecimal() and is_running(int(pid)))


class Spending:
    """The file of one store.

    Attributes
    ----------
    paid
        US dollars for calls that have ended, by place.
    in_flight
        Calls that have not, by id.
    """

    def __init__(self, store: Path) -> None:
        self.paid: defaultdict[Place, float] = defaultdict(float)
        self.in_flight: dict[str, InFlight] = {}
        self._path = store / FILE
        self._lock_path = store / FOLDER / LOCK
        self._mutex = threading.RLock()
        self._fd: int | None = None
        self._known: tuple[int, int] | None = None
        self._size = 0

    @contextmanager
    def turn(self) -> Iterator[Callable[[dict[str, Any]], None]]:
        """What is known holds within the block, which gets a function that writes a line.

        A thread may take a turn within its own: code of the notebook that is run as an object goes
        may end a call.

        Raises
        ------
        OSError
            If the disk refuses.
        """
        with self._mutex:
            if self._fd is not None:
                yield partial(self._add, self._fd)
                return
            lock = open_lock(self._lock_path)
            try:
                with suppress(OSError):  # some network file systems know no locks
                    file_calls.files.flock(lock, fcntl.LOCK_EX)
                self._fd = fd = self._looked_at()
                try:
                    yield partial(self._add, fd)
                finally:
                    self._fd = None
                    file_calls.files.close(fd)
            finally:
                with suppress(OSError):  # a child that was forked meanwhile has it open, too
                    file_calls.files.flock(lock, fcntl.LOCK_UN)
                file_calls.files.close(lock)

    def total(self, is_meant: Callable[[Place], bool]) -> float:
        """US dollars for calls in some places that have ended."""
        return sum(usd for place, usd in self.paid.items() if is_meant(place))

    def open_in(self, is_meant: Callable[[Place], bool]) -> dict[str, InFlight]:
        """Calls in some places that have not ended."""
        return {i: call for i, call in self.in_flight.items() if is_meant(call.place)}

    # -- lines

    @staticmethod
    def begun(call: str, usd: float, place: Place) -> dict[str, Any]:
        """The line of a call that is about to be sent, by this process."""
        process = f"{socket.gethostname()}:{os.getpid()}"
        return {"begun": call, "usd": usd, **place._asdict(), "process": process}

    @staticmethod
    def ended(call: str, usd: float) -> dict[str, Any]:
        """The line of a call that has ended."""
        return {"ended": call, "usd": usd}

    @staticmethod
    def more(usd: float, place: Place) -> dict[str, Any]:
        """The line of what an ended call costs besides, or is found to have cost less."""
        return {"paid": usd, **place._asdict()}

    # -- within

    def _looked_at(self) -> int:
        """A descriptor of the file, of which all is known."""
        fd = open_lock(self._path)
        try:
            self._look(fd)
            if self._size > MOST_BYTES:
                self._write_anew()
                file_calls.files.close(fd)
                fd = open_lock(self._path)
                self._look(fd)
        except BaseException:
            file_calls.files.close(fd)
            raise
        return fd

    def _look(self, fd: int) -> None:
        """Take in what was written since."""
        status = file_calls.files.fstat(fd)
        if self._known != (status.st_dev, status.st_ino) or status.st_size < self._size:
            self._known, self._size = (status.st_dev, status.st_ino), 0
            self.paid.clear()
            self.in_flight.clear()
        new = read_at(fd, status.st_size - self._size, self._size)
        for line in new.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                self.take(json.loads(line))
        self._size += len(new)
        if new and not new.endswith(b"\n"):  # a disk was full
            write_at(fd, b"\n", self._size)
            self._size += 1

    def take(self, line: dict[str, Any]) -> None:
        """Take in a line, wherever it is written."""
        if "ended" in line:
            if (call := self.in_flight.pop(line["ended"], None)) is not None:
                self.paid[call.place] += line["usd"]
            return
        place = Place(*(str(line[name]) for name in Place._fields))
        if "begun" in line:
            self.in_flight[line["begun"]] = InFlight(float(line["usd"]), place, line["process"])
        else:
            self.paid[place] += float(line["paid"])

    def _add(self, fd: int, line: dict[str, Any]) -> None:
        text = _text_of(line)
        write_at(fd, text, self._size)
        self._size += len(text)
        self.take(line)

    def _write_anew(self) -> None:
        lines = [self.more(usd, place) for place, usd in self.paid.items()]
        for call, (usd, place, process) in self.in_flight.items():
            lines.append({"begun": call, "usd": usd, **place._asdict(), "process": process})
        with create_beside(self._path) as file:
            file.write(b"".join(map(_text_of, lines)))


def _text_of(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"
