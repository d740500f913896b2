"""Data frames and Arrow tables as Parquet, and which of them come back exactly.

Parquet is the form for SQL, for people, and for readers that do not trust the store; the raw
buffers in packs stay the exact one. A frame that Parquet changes is still written: it can be
queried, and `TableInfo.reason` says what a reader would not get back.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from nbckpt.digests import Digest
from nbckpt.errors import CaptureError, FormatError, NotFoundError
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.storage.disk import OTHERS_TOO, OWN, digest_of_file, exists, refused, require_plain
from nbckpt.storage.new_files import NewFile, create_beside
from nbckpt.storage.sealed_tables import SUFFIX as SEALED
from nbckpt.storage.sealed_tables import opened_file, sealed_file
from nbckpt.storage.table_differences import DIFFERENCES, is_json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from nbckpt.storage.ciphers import Cipher

SUFFIX = ".parquet"
MARK = b"nbckpt"
Source: TypeAlias = Path | bytes
"""A file of Parquet, or its bytes."""
COMPRESSION = "zstd"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """Result of writing a value as a table.

    Attributes
    ----------
    file
        Name of the Parquet file in the store's folder of tables.
    file_digest
        Of its bytes.
    exact
        True if it reads back as an equal value: types, index, names, attributes, every bit.
    reason
        What differs; empty if it is exact.
    """

    file: str
    file_digest: Digest
    rows: int
    columns: int
    exact: bool
    reason: str


def table_path(folder: Path, digest: Digest, cipher: Cipher | None) -> Path:
    """Where the table of a value is; in an encrypted store that says nothing of the value."""
    if cipher is None:
        return folder / f"{digest}{SUFFIX}"
    return folder / f"{cipher.name_of_table(digest)}{SEALED}"


def write_table(
    folder: Path, digest: Digest, value: object, cipher: Cipher | None = None
) -> TableInfo:
    """Keep a pandas or polars frame or an Arrow table as Parquet, durably.

    Parameters
    ----------
    cipher
        Of an encrypted store: no byte of the table touches the disk that is not sealed.

    Raises
    ------
    CaptureError
        If it is no table, or one that Parquet refuses; the message says why.
    StoreError
        If the disk refuses.
    """
    kind = _kind(value)
    path = table_path(folder, digest, cipher)
    _write(kind, value, path, cipher, OWN)
    reason = _difference(kind, value, partial(_source, path, cipher))
    _release_unused()
    rows, columns = value.shape  # type: ignore[attr-defined]  # each of the kinds has it
    with refused(path):
        file_digest = digest_of_file(path)
    return TableInfo(path.name, file_digest, rows, columns, not reason, reason)


def write_parquet(path: Path, value: object) -> str:
    """Write a table as a Parquet file for other programs; the part that it changes, if any.

    Raises
    ------
    CaptureError
        If it is no table, or one that Parquet refuses; the message says why.
    StoreError
        If the disk refuses.
    """
    kind = _kind(value)
    _write(kind, value, path, None, OTHERS_TOO, writers=_UNMARKED)
    reason = _difference(kind, value, partial(_source, path, None))
    _release_unused()
    return reason


def _write(
    kind: str,
    value: object,
    path: Path,
    cipher: Cipher | None,
    mode: int,
    writers: Mapping[str, Callable[[Any, Any], None]] | None = None,
) -> None:
    write = (writers or _WRITERS)[kind]
    with refused(path), create_beside(path, mode=mode) as beside:
        try:
            if cipher is None:
                write(value, beside)
            else:
                parquet = io.BytesIO()
                write(value, parquet)
                beside.write(sealed_file(cipher, parquet.getbuffer(), path.name))
        except OSError:
            raise
        except user_code_errors() as error:  # whatever a third party's column type raises
            if beside.refusal:  # polars makes it an error of its own
                raise beside.refusal from error
            message = f"Parquet cannot hold it: {_first_line(error)}"
            raise CaptureError(message) from error


def _release_unused() -> None:
    """Give back what Arrow's allocator keeps for later: as much as the table, for ever."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def read_table(folder: Path, digest: Digest, cipher: Cipher | None = None) -> object:
    """The table that was kept of a value, of the kind that was written.

    Raises
    ------
    NotFoundError
        If there is none.
    FormatError
        If the file is damaged.
    """
    path = table_path(folder, digest, cipher)
    if not exists(path):
        message = f"the store holds no table {digest[:12]}…"
        raise NotFoundError(message)
    try:
        require_plain(path)
        source = _source(path, cipher)
        return _READERS[_kind_of_file(source)](source)
    except user_code_errors() as error:
        message = f"table {path.name} is damaged or not readable here: {_first_line(error)}"
        raise FormatError(message) from error


def arrow_table(path: Path, cipher: Cipher | None) -> pa.Table:
    """The Arrow table of a file, sealed or not, in memory.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    import pyarrow as pa

    source = _source(path, cipher)
    try:
        return _read_arrow(source)
    except pa.ArrowNotImplementedError:  # polars has types that Arrow's reader lacks
        return _read_polars(source).to_arrow()


def _source(path: Path, cipher: Cipher | None) -> Source:
    return path if cipher is None else opened_file(cipher, path)


def _kind(value: object) -> str:
    for kind, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        table_type = getattr(sys.modules.get(kind), name, None)
        if table_type is not None and isinstance(value, table_type):
            return kind
    message = f"a {type(value).__qualname__} is no table"
    raise CaptureError(message)


def _first_line(error: BaseException) -> str:
    told = str(error)
    if told == str(error.args):  # Arrow gives several sentences as a tuple
        told = str(error.args[0])
    return (told.splitlines() or [type(error).__name__])[0]


# -- writing and reading, by kind


def _write_pandas(frame: pd.DataFrame, file: BinaryIO | NewFile, mark: bytes = b"pandas") -> None:
    import pyarrow as pa

    if frame.attrs and not is_json(frame.attrs):
        frame = frame.copy(deep=False)
        frame.attrs = {}  # Arrow would warn, and leave them out
    _write_arrow(pa.Table.from_pandas(frame), file, mark)


def _write_arrow(table: pa.Table, file: BinaryIO | NewFile, mark: bytes = b"pyarrow") -> None:
    import pyarrow.parquet as pq

    metadata = {**(table.schema.metadata or {}), **({MARK: mark} if mark else {})}
    pq.write_table(table.replace_schema_metadata(metadata), file, compression=COMPRESSION)


def _write_polars(frame: pl.DataFrame, file: BinaryIO | NewFile) -> None:
    objects = [name for name, dtype in frame.schema.items() if dtype.is_object()]
    if objects:  # polars would panic
        message = f"column {objects[0]!r} holds Python objects"
        raise TypeError(message)
    frame.write_parquet(file, compression=COMPRESSION)


def _read_pandas(source: Source) -> pd.DataFrame:
    frame: pd.DataFrame = _read_arrow(source).to_pandas()
    return frame


def _read_arrow(source: Source) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(_readable(source)) as file:
        table = file.read()
    metadata = {k: v for k, v in (table.schema.metadata or {}).items() if k != MARK}
    return table.replace_schema_metadata(metadata or None)


def _readable(source: Source) -> object:
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _read_polars(source: Source) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(source, use_pyarrow=False, glob=False)


def _kind_of_file(source: Source) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(_readable(source)).metadata or {}
    except pa.ArrowNotImplementedError:  # polars has types that Arrow's reader lacks
        return "polars"
    return str(metadata.get(MARK, b"polars"), "ascii")


_WRITERS: dict[str, Callable[[Any, Any], None]] = {
    "pandas": _write_pandas,
    "polars": _write_polars,
    "pyarrow": _write_arrow,
}
_UNMARKED: dict[str, Callable[[Any, Any], None]] = {
    **_WRITERS,
    "pandas": partial(_write_pandas, mark=b""),
    "pyarrow": partial(_write_arrow, mark=b""),
}
"""Writers of files that other programs read, without the mark of the library they are of."""
_READERS: dict[str, Callable[[Source], object]] = {
    "pandas": _read_pandas,
    "polars": _read_polars,
    "pyarrow": _read_arrow,
}


# -- what a reader would not get back


def _difference(kind: str, value: Any, written: Callable[[], Source]) -> str:
    """The first difference between a table and its file; empty if there is none."""
    try:
        back = _READERS[kind](written())
        if type(value) is not type(back):
            return f"is a {type(value).__qualname__}, comes back as {type(back).__qualname__}"
        return DIFFERENCES[kind](value, back)
    except user_code_errors() as error:  # a third party's column type again
        return f"cannot be read back: {_first_line(error)}"
