"""Series and frames of polars, which are written as a stream of Arrow's.

It is read by Arrow, which looks through what it has read; polars believes what it is given.
"""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.names import Known, Pending, Table, table
from nbckpt.errors import UntrustedError

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

_EXTENSION = b"ARROW:extension:name"


@functools.cache
def names() -> Table:
    """Table of the polars names that a stream may use."""
    import polars as pl

    return table(
        [
            ("polars.series.series:Series", Known("polars.Series", pl.Series, new=_series)),
            ("polars.dataframe.frame:DataFrame", Known("polars.DataFrame", pl.DataFrame, new=_new)),
        ]
    )


def _new(limits: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return Pending(lambda state: _frame_of(limits, state))


def _series(limits: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return Pending(lambda state: _series_of(limits, state))


def _series_of(limits: Limits, state: Any) -> object:
    frame = _frame_of(limits, state)
    require(frame.width == 1)
    return frame.to_series(0)


def _frame_of(limits: Limits, state: Any) -> Any:
    import polars as pl
    import pyarrow as pa

    require(are(bytes, state))
    require(_EXTENSION not in state, "it holds an Arrow array of a type of somebody's own")
    limits.spend(len(state))
    source = pa.BufferReader(state)
    for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(state)):
        require(not _is_compressed(memoryview(message.metadata)), "it is compressed")
    with pa.ipc.open_stream(source) as reader:
        found = reader.read_all()
    found.validate(full=True)
    _require_text(found.schema)
    try:
        frame = pl.from_arrow(found, rechunk=False)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, which is no `Exception`
            raise
        message = "polars cannot read it"
        raise UntrustedError(message) from error
    require(isinstance(frame, pl.DataFrame))
    return frame


def _require_text(schema: Any) -> None:
    """Raise unless all names and notes are text: polars would end in a panic."""
    _decode(schema.metadata)
    fields = [schema.field(i) for i in range(len(schema))]
    while fields:
        field = fields.pop()
        field.name.encode()  # Arrow decodes it when it is asked for
        _decode(field.metadata)
        fields += [field.type.field(i) for i in range(field.type.num_fields)]


def _decode(notes: dict[bytes, bytes] | None) -> None:
    for note in (notes or {}).items():
        b"".join(note).decode()


def _is_compressed(metadata: memoryview) -> bool:
    """True if the body of a message of Arrow's is compressed: it may then become any size.

    Notes
    -----
    The message is a flatbuffer: its root has the header as member 2, and the header of rows has
    their compression as member 3.
    """
    (root,) = struct.unpack_from("<I", metadata)
    kind = _member(metadata, root, 1)
    header = _member(metadata, root, 2)
    if kind is None or header is None:
        return False
    rows = header + struct.unpack_from("<I", metadata, header)[0]
    if metadata[kind] == _DICTIONARY:
        data = _member(metadata, rows, 1)
        if data is None:
            return False
        rows = data + struct.unpack_from("<I", metadata, data)[0]
    elif metadata[kind] != _ROWS:
        return False
    return _member(metadata, rows, 3) is not None


_DICTIONARY, _ROWS = 2, 3


def _member(metadata: memoryview, at: int, index: int) -> int | None:
    """Where member `index` of the table at `at` lies; None if the table lacks it."""
    (back,) = struct.unpack_from("<i", metadata, at)
    start = at - back
    require(start >= 0)
    (size,) = struct.unpack_from("<H", metadata, start)
    if 4 + 2 * index + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, start + 4 + 2 * index)
    return at + offset if offset else None
