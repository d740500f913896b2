"""Data frames and Arrow tables as Parquet, and which of them come back exactly.

Parquet is the form for SQL, for people, and for readers that do not trust the store; the raw
buffers in packs stay the exact one. A frame that Parquet changes is still written: it can be
queried, and `TableInfo.reason` says what a reader would not get back.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from nbckpt.digests import Digest
from nbckpt.errors import CaptureError, FormatError, NotFoundError
from nbckpt.storage.disk import (
    OTHERS_TOO,
    OWN,
    NewFile,
    create_beside,
    digest_of_file,
    exists,
    refused,
    require_plain,
)
from nbckpt.storage.sealed_tables import SUFFIX as SEALED
from nbckpt.storage.sealed_tables import opened_file, sealed_file

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
    _write(kind, value, path, None, OTHERS_TOO)
    reason = _difference(kind, value, partial(_source, path, None))
    _release_unused()
    return reason


def _write(kind: str, value: object, path: Path, cipher: Cipher | None, mode: int) -> None:
    with refused(path), create_beside(path, mode=mode) as beside:
        try:
            if cipher is None:
                _WRITERS[kind](value, beside)
            else:
                parquet = io.BytesIO()
                _WRITERS[kind](value, parquet)
                beside.write(sealed_file(cipher, parquet.getbuffer(), path.name))
        except OSError:
            raise
        except Exception as error:  # whatever a third party's column type raises
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
    except Exception as error:
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


def _write_pandas(frame: pd.DataFrame, file: BinaryIO | NewFile) -> None:
    import pyarrow as pa

    if frame.attrs and not _is_json(frame.attrs):
        frame = frame.copy(deep=False)
        frame.attrs = {}  # Arrow would warn, and leave them out
    _write_arrow(pa.Table.from_pandas(frame), file, "pandas")


def _write_arrow(table: pa.Table, file: BinaryIO | NewFile, kind: str = "pyarrow") -> None:
    import pyarrow.parquet as pq

    metadata = {**(table.schema.metadata or {}), MARK: kind.encode()}
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
        return _DIFFERENCES[kind](value, back)
    except Exception as error:  # a third party's column type again
        return f"cannot be read back: {_first_line(error)}"


def _difference_pandas(frame: pd.DataFrame, back: pd.DataFrame) -> str:
    if frame.flags.allows_duplicate_labels != back.flags.allows_duplicate_labels:
        return "its flags are lost"
    if frame.attrs and not _is_json(frame.attrs):
        return "its attrs are not JSON"
    if frame.attrs != back.attrs:
        return "its attrs change"
    for what, ours, theirs in (
        ("column labels", frame.columns, back.columns),
        ("index", frame.index, back.index),
    ):
        if difference := _difference_index(ours, theirs):
            return f"its {what}: {difference}"
    for i, label in enumerate(frame.columns):
        if difference := _difference_array(frame.iloc[:, i].array, back.iloc[:, i].array):
            return f"column {label!r}: {difference}"
    return ""


def _difference_index(ours: Any, theirs: Any) -> str:
    if type(ours) is not type(theirs):
        return f"{type(ours).__name__} comes back as {type(theirs).__name__}"
    if list(ours.names) != list(theirs.names):
        return "names change"
    if ours.nlevels > 1:
        pairs = zip(ours.levels, theirs.levels, strict=True)
        differences = (_difference_index(a, b) for a, b in pairs)
        same_codes = all(map(_same_bits, ours.codes, theirs.codes))
        return next(filter(None, differences), "" if same_codes else "its codes change")
    for trait in ("start", "step", "freq"):
        if getattr(ours, trait, None) != getattr(theirs, trait, None):
            return f"{trait} is lost"
    return _difference_array(ours.array, theirs.array)


def _difference_array(ours: Any, theirs: Any) -> str:
    if repr(ours.dtype) != repr(theirs.dtype) or type(ours) is not type(theirs):
        return f"{ours.dtype} comes back as {theirs.dtype}"
    if hasattr(ours, "categories"):
        if difference := _difference_index(ours.categories, theirs.categories):
            return f"categories: {difference}"
        return "" if _same_bits(ours.codes, theirs.codes) else "codes change"
    if type(ours).__name__ == "NumpyExtensionArray":
        return _difference_numpy(ours.to_numpy(), theirs.to_numpy())
    return "" if ours.equals(theirs) else "values change"


def _difference_numpy(ours: Any, theirs: Any) -> str:
    if ours.dtype != object:
        return "" if _same_bits(ours, theirs) else "bits change"
    if not all(type(x) is str for x in ours):
        return "holds Python objects"
    return "" if list(ours) == list(theirs) else "values change"


def _same_bits(ours: Any, theirs: Any) -> bool:
    import numpy as np

    a, b = np.ascontiguousarray(ours), np.ascontiguousarray(theirs)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return np.array_equal(a.view(np.uint8), b.view(np.uint8))


def _difference_polars(frame: pl.DataFrame, back: pl.DataFrame) -> str:
    if frame.schema != back.schema:
        changed = [n for n in frame.columns if frame.schema[n] != back.schema.get(n)]
        return f"column {changed[0]!r} changes its type" if changed else "its columns change"
    return "" if frame.equals(back, null_equal=True) else "values change"


def _difference_arrow(table: pa.Table, back: pa.Table) -> str:
    if not table.schema.equals(back.schema, check_metadata=True):
        return "its schema changes"
    for name, ours, theirs in zip(table.column_names, table.columns, back.columns, strict=True):
        if not _same_column(ours, theirs):
            return f"column {name!r}: values change, or NaN inside keeps them from being compared"
    return ""


def _same_column(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    if ours.equals(theirs):
        return True
    if not pa.types.is_floating(ours.type) or ours.type.bit_width < 32:
        return False
    bits = pa.int64() if ours.type.bit_width == 64 else pa.int32()
    a, b = (pa.chunked_array([c.view(bits) for c in x.chunks], bits) for x in (ours, theirs))
    return bool(a.equals(b))  # as bits, because NaN is not equal to itself


def _is_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


_DIFFERENCES: dict[str, Callable[[Any, Any], str]] = {
    "pandas": _difference_pandas,
    "polars": _difference_polars,
    "pyarrow": _difference_arrow,
}
