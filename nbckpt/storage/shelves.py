"""Lines of a journal that are read again when somebody asks, instead of being kept."""

from __future__ import annotations

import errno
import weakref
from functools import partial
from pathlib import Path
from typing import Any

from nbckpt.errors import FormatError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import read_at, reading, reread
from nbckpt.storage.journal_lines import members_of
from nbckpt.storage.line_signatures import Signer

FIRST_BYTES = 4096
"""Most lines are shorter."""

AHEAD_BYTES = 256 * 1024
"""So much is read at once where lines are asked for one after the other."""


class Shelf:
    """The records of a journal, by where their lines begin.

    It holds the file open: a prune may take its name, and what was read of it still counts until
    the journals are read anew.

    Parameters
    ----------
    fd
        Of the journal; the caller goes on to own it.
    signer
        Of the journal.
    """

    def __init__(self, path: Path, fd: int, signer: Signer) -> None:
        self._path = path
        self._signer = signer
        self._fd = file_calls.files.dup(fd)
        self._latest: tuple[int, dict[str, Any]] = (-1, {})
        self._block: tuple[int, bytes] = (0, b"")  # where it begins; nobody changes what is written
        weakref.finalize(self, file_calls.files.close, self._fd)

    def members_at(self, offset: int) -> dict[str, Any]:
        """All members of a record; not to be changed.

        Raises
        ------
        FormatError
            If its line cannot be read any more.
        """
        at, members = self._latest  # who asks for one member asks for others
        if at != offset:
            members = self._read(offset)
            self._latest = (offset, members)
        return members

    def _read(self, offset: int) -> dict[str, Any]:
        line = self._line_of_block(offset)
        if line is None:
            try:
                line = reread(partial(self._line, offset))
            except OSError as error:
                raise self._damaged(offset) from error
        own = self._signer.own_text(line)  # of a checkpoint it would not do: there is none here
        if own is not None:
            return members_of(own)
        opened = self._signer.open(line)
        if opened is None:
            raise self._damaged(offset)
        text, trusted, _ = opened
        return members_of(text, trusted=trusted)

    def _damaged(self, offset: int) -> FormatError:
        return FormatError(
            f"journal {self._path.name} is damaged at offset {offset};"
            " `nbckpt check` lists what else is"
        )

    def _line_of_block(self, offset: int) -> bytes | None:
        """A line that was read with those before it; None if it was not."""
        start, data = self._block
        if start <= offset and (end := data.find(b"\n", offset - start)) >= 0:
            return data[offset - start : end]
        return None

    def _line(self, offset: int) -> bytes:
        start, data = self._block
        length = AHEAD_BYTES if 0 <= offset - start <= len(data) else FIRST_BYTES
        while True:
            data = self._piece(length, offset)
            end = data.find(b"\n")
            if end >= 0 or len(data) < length:
                self._block = (offset, data)
                return data[: max(end, 0)]
            length *= 4

    def _piece(self, length: int, offset: int) -> bytes:
        try:
            return read_at(self._fd, length, offset)
        except OSError as error:
            if error.errno == errno.ESTALE:
                with reading(self._path) as fd:
                    file_calls.files.dup2(fd, self._fd)
            raise
