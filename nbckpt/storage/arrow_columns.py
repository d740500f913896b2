"""Arrow arrays of Python values, laid out by hand.

`pyarrow.array` imports pandas if it is installed, which takes longer than most queries.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_column(values: Sequence[Any], kind: str) -> pa.Array:
    """The values of a column as an Arrow array.

    Parameters
    ----------
    values
        Numbers, texts, truths or lists of texts, as the kind wants them; None for null. A
        ``timestamp`` is in seconds since the epoch.
    kind
        A DuckDB type: ``bigint``, ``double``, ``timestamp``, ``boolean``, ``varchar`` or
        ``varchar[]``.
    """
    import pyarrow as pa

    match kind:
        case "varchar":
            return _texts(values)
        case "varchar[]":
            inner = [text for texts in values if texts for text in texts]
            places = _places(len(texts or ()) for texts in values)
            kept = [_validity(values), places]
            kind_of = pa.large_list(pa.large_string())
            return pa.Array.from_buffers(kind_of, len(values), kept, children=[_texts(inner)])
        case "boolean":
            kept = [_validity(values), _bits(values)]
            return pa.Array.from_buffers(pa.bool_(), len(values), kept)
        case "double":
            return _numbers(pa.float64(), values, "d", values)
        case "timestamp":
            micros = [None if value is None else int(float(value) * 1_000_000) for value in values]
            return _numbers(pa.timestamp("us"), values, "q", micros)
    return _numbers(pa.int64(), values, "q", values)


def _numbers(
    kind: pa.DataType, values: Sequence[Any], code: str, numbers: Sequence[Any]
) -> pa.Array:
    import pyarrow as pa

    there = array(code, [0 if number is None else number for number in numbers])
    return pa.Array.from_buffers(kind, len(values), [_validity(values), pa.py_buffer(there)])


def _texts(values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    # Arrow has no lone surrogates, which a source text or a preview may hold.
    encoded = [b"" if value is None else str(value).encode("utf-8", "replace") for value in values]
    data = pa.py_buffer(b"".join(encoded))
    kept = [_validity(values), _places(map(len, encoded)), data]
    return pa.Array.from_buffers(pa.large_string(), len(values), kept)


def _places(lengths: Iterable[int]) -> pa.Buffer:
    """Where each item begins in what holds all of them, and where the last one ends."""
    import pyarrow as pa

    return pa.py_buffer(array("q", accumulate(lengths, initial=0)))


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    """A bit for each value that is not null; None if all are not."""
    if None not in values:
        return None
    return _bits([value is not None for value in values])


def _bits(truths: Sequence[Any]) -> pa.Buffer:
    import pyarrow as pa

    digits = "".join(["1" if truth else "0" for truth in reversed(truths)])
    return pa.py_buffer(int(digits or "0", 2).to_bytes(-(-len(truths) // 8), "little"))
