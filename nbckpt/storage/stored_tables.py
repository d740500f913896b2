"""The tables of a store: their Parquet files, and the records of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from nbckpt.digests import Digest
from nbckpt.errors import CaptureError
from nbckpt.model import Record, Variable, is_trusted
from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.known_records import KnownRecords


class StoredTables:
    """Tables by the digest of the value that each was made of.

    Parameters
    ----------
    prepare
        Called before a write.

    Attributes
    ----------
    folder
        Folder of the Parquet files.
    """

    def __init__(
        self, path: Path, known: KnownRecords, cipher: Cipher | None, prepare: Callable[[], None]
    ) -> None:
        self.folder = path / "tables"
        self._known = known
        self._cipher = cipher
        self._prepare = prepare

    def put(self, digest: Digest, name: str, value: object) -> Record:
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
        self._prepare()
        from nbckpt.storage.parquet_files import write_table

        try:
            info = write_table(self.folder, digest, value, self._cipher)
        except CaptureError as error:
            return {"file": None, "exact": False, "reason": f"{name!r}: {error}"}
        return dataclasses.asdict(info)

    def has(self, digest: Digest) -> bool:
        """True if it is known what became of the table of this value."""
        return digest in self._known.tables

    def record(self, digest: Digest) -> Record | None:
        """The newest record of what became of the table of a value."""
        return self._known.tables.get(digest)

    def record_of(self, variable: Variable) -> Record | None:
        """The record of a variable's table; of one's own variable, nobody else's word counts."""
        record = self.record(variable.value)
        return record if record is None or is_trusted(record) or not variable.trusted else None
