"""A store written anew beside another one, with another cipher or none.

Journals and packs keep their names, records their order and signatures. What names bytes of the
other files (where frames and tables are) is said anew, and signed by who does this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blake3 import blake3

from nbckpt.errors import FormatError
from nbckpt.storage import file_calls, journal_lines
from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.counted_records import TABLE
from nbckpt.storage.disk import (
    create,
    exists,
    files_in,
    read_at,
    read_whole,
    reading,
    sync_folder,
    write_at,
)
from nbckpt.storage.folder import id_of_store
from nbckpt.storage.following import Journals
from nbckpt.storage.index_frames import RAW, SEALED, Batch, Frame, Name, Place, chained
from nbckpt.storage.journal import BATCH, PRUNE, SUFFIX
from nbckpt.storage.journal_follower import whole_lines
from nbckpt.storage.new_files import create_beside
from nbckpt.storage.packs import MAPPED_BYTES, PAGE_BYTES, PackWriter, find_frames, open_pack
from nbckpt.storage.packs import SUFFIX as PACK
from nbckpt.storage.parquet_files import table_path
from nbckpt.storage.sealed_tables import opened_file, sealed_file
from nbckpt.storage.signers import Signers
from nbckpt.storage.writer import batch_record

_NAMING = re.compile(rb'\{"kind":"(?:batch|table|prune)"')


class Transcript:
    """Copies a sound store that nobody writes to.

    Parameters
    ----------
    source, target
        The store, and the folder of the new one, which is made already.
    signers
        Of the store, with its cipher.
    new
        The cipher of the new one; None: it is plain.
    """

    def __init__(self, source: Path, target: Path, signers: Signers, new: Cipher | None) -> None:
        self._source = source
        self._target = target
        self._old_signers = signers
        self._new_signers = Signers(signers.user, new, id_of_store(target))
        self._old, self._new = signers.cipher, new
        self._batches: dict[tuple[str, int], Batch] = {}
        self._tables: dict[str, dict[str, str]] = {}

    def write(self) -> None:
        """Write all of it, durably.

        Raises
        ------
        FormatError
            If something of the store is damaged.
        OSError
            If the disk refuses.
        """
        self._old_signers.look()
        journals = Journals(self._source / "journal", self._old_signers)
        entries = journals.read({})
        for path in files_in(self._source / "packs", PACK):
            self._pack(path.stem)
        for entry in entries:
            if entry.record["kind"] == TABLE and entry.record.get("file"):
                self._table(entry.record)
        self._new_signers.prepare()
        self._new_signers.look()
        for path in files_in(self._source / "journal", SUFFIX):
            if path.stem not in journals.replaced:
                self._journal(path)
        sync_folder(self._target / "journal")

    # -- packs

    def _pack(self, name: str) -> None:
        fd = open_pack(self._source / "packs", name)
        pack = PackWriter.begin(self._target / "packs", name, self._new)
        try:
            sums: list[bytes] = []
            for frame in find_frames(fd, name, cipher=self._old):
                new = self._frame(fd, pack, frame)
                before = chained(reversed(sums)) if sums else b""
                self._batches[name, frame.offset] = Batch(name, new.offset, new.sum, before)
                sums.append(new.sum)
            pack.sync()
        finally:
            pack.close()
            file_calls.files.close(fd)

    def _frame(self, fd: int, pack: PackWriter, frame: Frame) -> Frame:
        for name, place in frame.chunks:
            data = self._formed(fd, name, place)
            codec = place.codec & ~SEALED
            unit = PAGE_BYTES if codec == RAW and len(data) >= MAPPED_BYTES else 1
            new = pack.reserve(name, len(data), size=place.size, codec=codec, unit=unit)
            if data:
                pack.hold(new, data)
        pack.flush()
        return pack.seal()

    def _formed(self, fd: int, name: Name, place: Place) -> bytes:
        """A chunk's bytes, compressed as they were, and not sealed."""
        stored = read_at(fd, place.length, place.offset) if place.length else b""
        is_sealed = self._old is not None and place.length > 0
        data = self._old.chunks.open(stored, name) if self._old and is_sealed else stored
        if data is None or len(stored) != place.length:
            message = f"pack {place.pack} at offset {place.offset} is damaged"
            raise FormatError(message)
        return data

    # -- tables

    def _table(self, record: Mapping[str, Any]) -> None:
        path = self._source / "tables" / record["file"]
        new = table_path(self._target / "tables", record["value"], self._new)
        members = {"file": new.name}
        if path.name not in self._tables and exists(path):
            data = read_whole(path) if self._old is None else opened_file(self._old, path)
            if self._new is not None:
                data = sealed_file(self._new, data, new.name)
            with create_beside(new) as file:
                file.write(data)
            members["file_digest"] = blake3(data).hexdigest()
        self._tables.setdefault(path.name, members)

    # -- journals

    def _journal(self, path: Path) -> None:
        fd, end = create(self._target / "journal" / path.name), 0
        try:
            with reading(path) as source:
                size = file_calls.files.fstat(source).st_size
                for _, line in whole_lines(source, 0, size):
                    new = self._line(path.stem, line)
                    write_at(fd, new, end)
                    end += len(new)
            file_calls.files.fsync(fd)
        finally:
            file_calls.files.close(fd)

    def _line(self, journal: str, line: bytes) -> bytes:
        signer, opened = self._new_signers.of(journal), None
        plain = self._old_signers.of(journal).plain(line)
        if plain is not None:
            opened = self._old_signers.of(journal).open(line)
        if plain is None or opened is None:
            message = f"journal {journal} is damaged"
            raise FormatError(message)
        text, trusted, _ = opened
        serial = journal_lines.serial_of(text) or 0
        if not _NAMING.match(text):
            return signer.sealed(plain, serial)
        record = self._renamed(journal_lines.members_of(text, trusted=trusted))
        return signer.line(journal_lines.encode(record), serial, is_own=trusted)

    def _renamed(self, record: dict[str, Any]) -> dict[str, Any]:
        """A record that says where things are now."""
        if record["kind"] == BATCH:
            batch = self._batches.get((record["pack"], record["frame"]))
            if batch is None:  # of a pack that was pruned
                return record
            has_before = "before" in record or "sum" not in record
            return {**record, **batch_record(batch if has_before else batch._replace(before=b""))}
        if record["kind"] == PRUNE:
            known = (self._tables.get(name) for name in record.get("tables", ()))
            return {**record, "tables": sorted(table["file"] for table in known if table)}
        return {**record, **self._tables.get(record.get("file") or "", {})}
