"""Check of an encrypted store without its key: that its bytes are those that were written.

Every line, index, chunk and table carries a checksum that stands outside of what is sealed. Only
the key shows if all is there that records name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from nbckpt.errors import FormatError
from nbckpt.storage import file_calls
from nbckpt.storage.check_report import Kind, Problem, Report
from nbckpt.storage.disk import files_in, read_at, read_whole, reading
from nbckpt.storage.envelope import envelope_of
from nbckpt.storage.folder import ENCRYPTION, MARK, read_mark
from nbckpt.storage.index_frames import WholeFrame, whole_frame
from nbckpt.storage.journal import SUFFIX
from nbckpt.storage.journal_follower import whole_lines
from nbckpt.storage.line_signatures import digest_of_line
from nbckpt.storage.packs import HEADER, frame_offsets, header_problem, open_pack
from nbckpt.storage.packs import SUFFIX as PACK
from nbckpt.storage.sealed_tables import SUFFIX as TABLE
from nbckpt.storage.sealed_tables import is_whole
from nbckpt.storage.sealing import check_of, pieces_in

_SERIAL = re.compile(rb'\{"sealed":"[^"]*","n":([0-9]{1,18})\Z')
_TAIL = len(',"sum":"0123456789abcdef"}')


def check_from_outside(path: Path) -> Report:
    """The report on the encrypted store at `path`, of which blobs are not counted."""
    return _Check(path).run()


class _Check:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[Problem] = []
        self._records = self._chunks = self._size = 0

    def run(self) -> Report:
        try:
            envelope_of((read_mark(self._path) or {}).get(ENCRYPTION))
        except FormatError as error:
            self._tell("damaged", MARK, str(error))
        journals = files_in(self._path / "journal", SUFFIX)
        packs = files_in(self._path / "packs", PACK)
        tables = files_in(self._path / "tables", TABLE)
        for journal in journals:
            self._read_journal(journal)
        for pack in packs:
            self._read_pack(pack)
        for table in tables:
            data = read_whole(table)
            self._size += len(data)
            if not is_whole(data):
                self._tell("damaged", f"table {table.name}", "the sealed form of a table")
        return Report(
            len(journals),
            self._records,
            len(packs),
            self._chunks,
            0,
            len(tables),
            self._size,
            tuple(self._problems),
        )

    def _tell(self, kind: Kind, where: str, what: str) -> None:
        self._problems.append(Problem(kind, where, what))

    def _read_journal(self, path: Path) -> None:
        expected = 0
        with reading(path) as fd:
            lines = whole_lines(fd, 0, file_calls.files.fstat(fd).st_size)
            for number, (_, line) in enumerate(lines, 1):
                self._records += 1
                where = f"journal {path.name}, line {number}"
                found = _SERIAL.match(line[:-_TAIL])
                if found is None or digest_of_line(line) is None:
                    self._tell("damaged", where, "is damaged; what it recorded is lost")
                    expected += 1
                    continue
                if int(found[1]) > expected:
                    gone = int(found[1]) - expected
                    self._tell("damaged", where, f"{gone} lines before it are gone")
                expected = int(found[1]) + 1

    def _read_pack(self, path: Path) -> None:
        fd, end = open_pack(path.parent, path.stem), HEADER.size
        try:
            if problem := header_problem(fd):
                self._tell("damaged", f"pack {path.stem}", problem)
            before = 0
            for offset, frame in self._frames(fd, path.stem):
                if frame.previous != before:
                    where = f"pack {path.stem} at offset {frame.previous}"
                    self._tell("damaged", where, "the index of a batch")
                before, end = offset, offset + frame.length
                self._read_pieces(fd, path.stem, frame)
            size = file_calls.files.fstat(fd).st_size
        finally:
            file_calls.files.close(fd)
        self._size += size
        if size > end:
            told = f"{size - end:,} bytes, of a crash or a damaged index; the key tells which"
            self._tell("unreachable", f"pack {path.stem} at offset {end}", told)

    def _frames(self, fd: int, pack: str) -> Iterator[tuple[int, WholeFrame]]:
        for offset in frame_offsets(fd):
            frame = whole_frame(partial(read_at, fd), offset)
            if frame is None or not frame.is_sealed:
                self._tell("damaged", f"pack {pack} at offset {offset}", "the index of a batch")
            else:
                yield offset, frame

    def _read_pieces(self, fd: int, pack: str, frame: WholeFrame) -> None:
        for piece in pieces_in(frame.body, frame.n_entries):
            self._chunks += 1
            if not piece.length:
                continue
            stored = read_at(fd, piece.length, piece.offset)
            if len(stored) != piece.length or check_of(stored) != piece.check:
                self._tell("damaged", f"pack {pack} at offset {piece.offset}", "a sealed chunk")
