"""Tables of checkpoints as Parquet: for SQL, for people, for other readers. Made when asked for.

A checkpoint stores raw buffers; a table is made of them by the first query that reads it, or while
nobody waits. It is built from the blob and never from the live frame, which a cell may change.
"""

from __future__ import annotations

import builtins
import dataclasses
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from nbckpt.digests import Digest
from nbckpt.errors import (
    NOT_YOURS,
    TRUST_IT,
    CaptureError,
    NbckptError,
    RestoreError,
    StoreError,
    UntrustedError,
    UsageError,
)
from nbckpt.model import Manifest, Record, Variable
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import result_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.storage.store import Store

AHEAD_BYTES = 128 << 20
"""A larger table waits until it is asked for: making it takes a multiple of its memory."""

_TABLES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}


def is_table(value: object) -> bool:
    """True if `value` is a data frame or an Arrow table; asks without importing anything."""
    for package, name in _TABLES.items():
        kind = getattr(sys.modules.get(package), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return True
    return False


class TableKeeper:
    """Makes Parquet of stored tables, of each value once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: dict[Digest, Record] = {}
        self._given_up: set[Digest] = set()
        self._one_at_a_time = threading.Lock()
        self._aside: Path | None = None

    def record(self, variable: Variable, manifest: Manifest) -> Record:
        """Return the record of a variable's table, which is made now if it is not there.

        Parameters
        ----------
        manifest
            Of the checkpoint: a value may need definitions of its notebook.

        Returns
        -------
        Record
            Its `table` record. `file` is None where Parquet refused, and an absolute path where
            the store cannot be written: the file is then one of this process alone.

        Raises
        ------
        UsageError
            If the variable is not a table.
        UntrustedError
            If it is not trusted, and its author made no Parquet of it.
        RestoreError
            If its value cannot be built here.
        NotFoundError, FormatError
            If the store lacks its bytes, or they are damaged.
        StoreError
            If no disk takes the file.
        """
        with self._one_at_a_time:
            if known := self._known(variable):
                return known
            table = _built(self._store, variable, manifest)
            record = self._kept_or_aside(variable, table)
            self._made[variable.value] = record
            return record

    def make_ahead(
        self,
        manifest: Manifest,
        namespace: Mapping[str, object],
        *,
        goes_on: Callable[[], bool],
    ) -> None:
        """Have the tables of a manifest made in a slow thread, as long as `goes_on()`.

        Parameters
        ----------
        namespace
            The live variables; tells which of them are tables without building any.
        """
        wanted = [
            variable
            for name, variable in manifest.items()
            if variable.size_bytes <= AHEAD_BYTES
            and variable.trusted
            and variable.value not in self._given_up
            and is_table(namespace.get(name))
            and not self._is_there(variable)
        ]
        if wanted:
            self._store.queue.in_background(partial(self._make, wanted, manifest, goes_on))

    def _make(
        self, wanted: Iterable[Variable], manifest: Manifest, goes_on: Callable[[], bool]
    ) -> None:
        for variable in wanted:
            if not goes_on():
                return
            try:
                self.record(variable, manifest)
            except NbckptError:  # nobody asked for it yet; who does is told
                self._given_up.add(variable.value)

    def _is_there(self, variable: Variable) -> bool:
        """True if a table was made; its bytes are not looked at, which would take its time."""
        record = self._recorded(variable)
        if record is None or record["file"] is None:
            return record is not None
        return bool((self._store.tables.folder / record["file"]).exists())

    def _known(self, variable: Variable) -> Record | None:
        """The record of a table that was made; one whose file is damaged is made again."""
        record = self._recorded(variable)
        if record is None or record["file"] is None:
            return record
        from nbckpt.storage.whole_tables import is_whole

        return record if is_whole(self._store.tables.folder, record) else None

    def _recorded(self, variable: Variable) -> Record | None:
        return self._made.get(variable.value) or self._store.tables.record_of(variable)

    def _kept_or_aside(self, variable: Variable, table: object) -> Record:
        """Keep a table in the store; aside, if the store refuses."""
        with suppress(StoreError):
            return self._kept(variable, table)
        return self._kept_aside(variable, table)

    def _kept(self, variable: Variable, table: object) -> Record:
        info = self._store.tables.put(variable.value, variable.name, table)
        record = _record(variable, info)
        result_of(self._store.append([record]))
        return record

    def _kept_aside(self, variable: Variable, table: object) -> Record:
        """A store that is read-only or full can be queried too, from files of this process."""
        if self._aside is None:
            import shutil
            import tempfile

            self._aside = Path(tempfile.mkdtemp(prefix="nbckpt-"))
            weakref.finalize(self, shutil.rmtree, self._aside, ignore_errors=True)
        try:
            from nbckpt.storage.parquet_files import write_table

            kept = write_table(self._aside, variable.value, table, self._store.cipher)
            info = dataclasses.asdict(kept)
        except CaptureError as error:
            reason = f"{variable.name!r}: {error}"
            return _record(variable, {"file": None, "exact": False, "reason": reason})
        return _record(variable, {**info, "file": str(self._aside / info["file"])})


def _record(variable: Variable, members: Mapping[str, object]) -> Record:
    at = clock.now()
    return {"kind": "table", "value": variable.value, "name": variable.name, "at": at, **members}


def _built(store: Store, variable: Variable, manifest: Manifest) -> object:
    """The value of a variable, which is a table."""
    from nbckpt.capture.decode import Values

    name, type_name = variable.name, variable.type_name
    told = f"{name!r} is no table but of type {type_name}"
    if not _may_be_table(type_name):
        raise UsageError(told)
    if variable.recipe:
        message = f"{name!r} is made again by its statement: it has no bytes to query"
        raise UsageError(message)
    if not variable.trusted:
        message = (
            f"{name!r} {NOT_YOURS}, and has no Parquet file to query: it is not built to make one;"
            f" {TRUST_IT}"
        )
        raise UntrustedError(message)
    try:
        table = Values(store, manifest).build(name)
    except NbckptError:
        raise
    except ImportError as error:
        message = f"{name!r} is a {type_name}, which needs what is not installed here: {error}"
        raise RestoreError(message) from error
    except user_code_errors() as error:  # a value's own code may raise anything
        message = f"{name!r} cannot be built: {type(error).__name__}: {error}"
        raise RestoreError(message) from error
    if not is_table(table):
        raise UsageError(told)
    return table


def _may_be_table(type_name: str) -> bool:
    """True if a type of this name may be a table's; what is not need not be built to be told."""
    return not hasattr(builtins, type_name) and not type_name.startswith("numpy.")
