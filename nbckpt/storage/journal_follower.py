"""Read a journal from where it was last read to: its records, and what of it is damaged."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

from nbckpt.storage import file_calls
from nbckpt.storage.disk import read_at, reading
from nbckpt.storage.events import EVENT, EventRun
from nbckpt.storage.journal import BATCH, LOST, Entry, when
from nbckpt.storage.journal_lines import MembersAt, Unread, event_in, read_text, serial_of
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.shelves import Shelf

PIECE = 1 << 18
"""Lines of so much are still in the processor's cache when they are looked at."""
LONGEST_BYTES = 256 << 20
"""No record is longer: a file of somebody else's may hold no end of a line at all."""
SHELVED_BYTES = 1 << 18
"""Of a journal that is larger, the lines of recordings are not kept in memory."""


class Follower:
    """Reads a journal from where it last stopped.

    Parameters
    ----------
    signer
        Of the journal; by default one that trusts nothing.
    in_runs
        Whether to give the events of a large journal as `EventRun`s.

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
        open_line, own_text = self._signer.open, self._signer.own_text
        with reading(self.path) as fd:
            size = file_calls.files.fstat(fd).st_size
            end = size if limit is None else min(size, limit)
            if end > SHELVED_BYTES and self._again is None:
                self._again = Shelf(self.path, fd, self._signer).members_at
            again = self._again
            run = EventRun(again) if again is not None and self._in_runs else None
            for offset, line in whole_lines(fd, self._offset, end):
                number += 1
                # Most lines of a long journal are such events: the general way takes twice as long.
                if (
                    run is not None
                    and (event := event_in(line)) is not None
                    and (text := own_text(line)) is not None
                    and text.endswith(b',"n":%d' % serial)
                ):
                    own = serial = serial + 1
                    run.add(*event, offset, not_before=latest)
                    latest = max(latest, event[1])
                    continue
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
                if run is not None and run.times and record["kind"] == EVENT:
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
