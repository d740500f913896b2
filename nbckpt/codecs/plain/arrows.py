"""Arrays, tables and types of Arrow: from their buffers, which Arrow then looks through.

`validate(full=True)` is what Arrow offers for data that anybody may have written; what it is asked
of here was put together by `from_buffers`, which does not believe a length either.
"""

from __future__ import annotations

import datetime as dt
import functools
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.names import Known, Make, Table, table

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

MAX_DEPTH = 32
_SCALARS = (bool, int, float, str, bytes, dt.date, dt.datetime, dt.time, dt.timedelta, Decimal)


@functools.cache
def names() -> Table:
    """Table of the Arrow names that a stream may use."""
    import pyarrow as pa

    makers: dict[str, Make] = {
        "_restore_array": _array,
        "_reconstruct_table": _table,
        "_reconstruct_record_batch": _batch,
        "chunked_array": _chunked,
        "py_buffer": _buffer,
        "scalar": _scalar,
        "type_for_alias": _type_of("type_for_alias", str),
        "field": _field,
        "schema": _schema,
        "list_": _nested("list_"),
        "large_list": _nested("large_list"),
        "struct": _struct,
        "map_": _map,
        "dictionary": _dictionary,
        "binary": _type_of("binary", int),
        **{
            name: _type_of(name, int, str, type(None))
            for name in ("timestamp", "duration", "time32", "time64")
        },
        **{f"decimal{n}": _type_of(f"decimal{n}", int) for n in (32, 64, 128, 256)},
    }
    found = [
        (f"pyarrow.lib:{name}", Known(f"pyarrow.{name}", make=make))
        for name, make in makers.items()
        if hasattr(pa.lib, name)
    ]
    return table(found)


def _type_of(name: str, *kinds: type) -> Make:
    def make(_: Limits, given: tuple[Any, ...]) -> object:
        import pyarrow as pa

        require(1 <= len(given) <= 2 and are(kinds, *given))
        found = getattr(pa.lib, name)(*given)
        require(isinstance(found, pa.DataType))
        return found

    return make


def _is_type(*values: object) -> bool:
    import pyarrow as pa

    return all(isinstance(v, pa.DataType) and not isinstance(v, _extended()) for v in values)


def _extended() -> tuple[type, ...]:
    import pyarrow as pa

    return (pa.BaseExtensionType,)


def _field(limits: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 4)
    name, kind, nullable, metadata = given
    require(are(str, name) and _is_type(kind) and are(bool, nullable))
    return limits.compose(pa.field(name, kind, nullable, _metadata(metadata)), [kind])


def _metadata(metadata: Any) -> Any:
    if metadata is None:
        return None
    require(type(metadata) is dict)
    require(are((str, bytes), *metadata.keys(), *metadata.values()))
    return metadata


def _is_field(*values: object) -> bool:
    import pyarrow as pa

    return all(isinstance(v, pa.Field) for v in values)


def _schema(limits: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 2 and type(given[0]) is list and _is_field(*given[0]))
    return limits.compose(pa.schema(given[0], _metadata(given[1])), given[0])


def _nested(name: str) -> Make:
    def make(limits: Limits, given: tuple[Any, ...]) -> object:
        import pyarrow as pa

        require(1 <= len(given) <= 2 and are(int, *given[1:]))
        require(_is_field(given[0]) or _is_type(given[0]))
        item = given[0] if _is_field(given[0]) else pa.field("item", given[0])
        return limits.compose(getattr(pa, name)(item, *given[1:]), given[:1])

    return make


def _struct(limits: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 1 and type(given[0]) is list and _is_field(*given[0]))
    return limits.compose(pa.struct(given[0]), given[0])


def _map(limits: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(2 <= len(given) <= 3 and are(bool, *given[2:]))
    require(all(_is_field(v) or _is_type(v) for v in given[:2]))
    return limits.compose(pa.map_(*given), given[:2])


def _dictionary(limits: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 3 and _is_type(*given[:2]) and are(bool, given[2]))
    return limits.compose(pa.dictionary(*given), given[:2])


def _buffer(limits: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 1 and are((bytes, bytearray, memoryview), *given))
    data = given[0]
    if type(data) is bytes or limits.is_look:
        return pa.py_buffer(data)
    # A copy: what is looked through must not change any more, and who wrote a file may write again.
    limits.spend(memoryview(data).nbytes)
    return pa.py_buffer(bytearray(data))


def _array(limits: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 1)
    array = _made(limits, given[0], 0)
    array.validate(full=True)
    return array


_BUFFERS_OF_INDICES = 2
"""Of numbers: whether they are there, and they. Arrow does not look whether it is given so many."""


def _made(limits: Limits, parts: Any, depth: int) -> Any:
    """An array that is still to be looked through."""
    import pyarrow as pa

    require(type(parts) is tuple and len(parts) == 7 and depth < MAX_DEPTH)
    kind, length, null_count, offset, buffers, children, dictionary = parts
    require(_is_type(kind) and _is_rebuilt(kind), f"it holds an Arrow array of {kind}")
    require(are(int, length, null_count, offset) and length >= 0 and offset >= 0)
    require(length + offset < 1 << 60 and are(list, buffers, children))
    require(all(b is None or isinstance(b, pa.Buffer) for b in buffers))
    limits.spend(sum(b.size for b in buffers if b is not None))
    made = [_made(limits, child, depth + 1) for child in children]
    is_dictionary = pa.types.is_dictionary(kind)
    require((dictionary is not None) == is_dictionary)
    if is_dictionary:
        values = _made(limits, dictionary, depth + 1)
        require(values.type == kind.value_type and not made)
        require(len(buffers) == _BUFFERS_OF_INDICES)
        values.validate(full=True)
        return pa.DictionaryArray.from_buffers(kind, length, buffers, values, null_count, offset)
    require(len(made) == kind.num_fields)
    require(all(child.type == kind.field(i).type for i, child in enumerate(made)))
    return pa.Array.from_buffers(kind, length, buffers, null_count, offset, made)


def _is_rebuilt(kind: Any) -> bool:
    """True if arrays of this type have the buffers that `from_buffers` counts."""
    import pyarrow as pa

    is_any = (pa.types.is_union, pa.types.is_run_end_encoded)
    return not any(test(kind) for test in is_any) and "view" not in str(kind).split("<")[0]


def _scalar(_: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 2 and are(_SCALARS, given[0]) and _is_type(given[1]))
    return pa.scalar(*given)


def _is_array(*values: object) -> bool:
    import pyarrow as pa

    return all(isinstance(v, pa.Array) for v in values)


def _chunked(_: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 2 and type(given[0]) is list and _is_array(*given[0]))
    require(_is_type(given[1]))
    return pa.chunked_array(*given)


def _table(_: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 2 and type(given[0]) is list and isinstance(given[1], pa.Schema))
    require(all(isinstance(column, pa.ChunkedArray) for column in given[0]))
    made = pa.Table.from_arrays(given[0], schema=given[1])
    made.validate()
    return made


def _batch(_: Limits, given: tuple[Any, ...]) -> object:
    import pyarrow as pa

    require(len(given) == 2 and type(given[0]) is list and isinstance(given[1], pa.Schema))
    require(_is_array(*given[0]))
    made = pa.RecordBatch.from_arrays(given[0], schema=given[1])
    made.validate()
    return made
