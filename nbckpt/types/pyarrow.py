"""Arrow: tables and columns, whose digests count values and not their layout.

A column in one chunk and in three has the same content. What lies under a null is no content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blake3 import blake3

from nbckpt.runtime.dirty_pages.memory import Place
from nbckpt.runtime.dirty_pages.several import remember_all
from nbckpt.types.adapter import TypeAdapter

UNNAMED = "value"
"""Name of the column, in a table, of a column that has none."""

if TYPE_CHECKING:
    from nbckpt.digests import Digest


def digest_of_arrow(column: Any, *, lasts: bool = True) -> Digest:
    """The digest of an Arrow array, chunked or not: its type and values.

    Parameters
    ----------
    column
        The array.
    lasts
        False if its memory was only made to be digested.
    """
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if not lasts or not _is_all_buffers(column.type):
        return _digest(column, chunks)
    places = [Place(one.address, one.size) for chunk in chunks for one in chunk.buffers() if one]
    key = (str(column.type), tuple((len(chunk), chunk.offset) for chunk in chunks))
    return remember_all(places, key, lambda: _digest(column, chunks))


def _is_all_buffers(kind: Any) -> bool:
    """True if a column of this type is no more than its buffers, a length and an offset."""
    import pyarrow as pa

    has_more = isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind)
    return not has_more and kind.num_fields == 0


def _digest(column: Any, chunks: list[Any]) -> Digest:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) and len(chunks) > 1:
        chunks = column.unify_dictionaries().chunks
    feeds = _ArrowFeeds()
    for chunk in chunks:
        feeds.add(chunk, "")
    hasher = blake3(f"{column.type}{len(column)}".encode())
    for path, part in sorted(feeds.hashers.items()):
        hasher.update(path.encode() + part.digest())
    return hasher.hexdigest()


class _ArrowFeeds:
    """One hasher for each buffer of a column, fed chunk by chunk."""

    def __init__(self) -> None:
        self.hashers: dict[str, blake3] = {}
        self.n_before: dict[str, int] = {}

    def feed(self, path: str, data: Any) -> None:
        self.hashers.setdefault(path, blake3()).update(data)

    def add(self, array: Any, path: str) -> None:
        """Feed the values of `array`, which lies at `path` inside the column."""
        import pyarrow as pa

        kind = array.type
        self._add_nulls(array, path)
        if isinstance(array, pa.ExtensionArray):
            self.add(array.storage, f"{path}/storage")
        elif pa.types.is_dictionary(kind):
            self.add(array.indices, f"{path}/index")
            self._add_once(array.dictionary, f"{path}/dictionary")
        elif pa.types.is_struct(kind):
            for i, part in enumerate(array.flatten()):
                self.add(part, f"{path}/{i}")
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            self._add_lengths(array.value_lengths(), path)
            self.add(array.flatten(), f"{path}/items")
        elif pa.types.is_fixed_size_list(kind):
            self.add(array.flatten(), f"{path}/items")
        elif _is_text(kind):
            self._add_text(array, path)
        elif pa.types.is_primitive(kind):
            self._add_primitive(array, path)
        elif not pa.types.is_null(kind):
            self.feed(f"{path}/items", repr(array.to_pylist()).encode("utf-8", "surrogatepass"))

    def _add_nulls(self, array: Any, path: str) -> None:
        before = self.n_before.get(path, 0)
        self.n_before[path] = before + len(array)
        if array.null_count:
            import numpy as np

            nulls: Any = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)) + before
            self.feed(f"{path}/null", nulls.view("u1"))

    def _add_once(self, dictionary: Any, path: str) -> None:
        if path not in self.n_before:
            self.add(dictionary, path)
            self.n_before.setdefault(path, 0)

    def _add_lengths(self, lengths: Any, path: str) -> None:
        import numpy as np

        filled: Any = lengths.fill_null(0).to_numpy(zero_copy_only=False)
        self.feed(f"{path}/length", np.ascontiguousarray(filled, "<i8").view("u1"))

    def _add_text(self, array: Any, path: str) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_string_view(array.type):
            array = array.cast(pa.large_string())
        wide = array.cast(pa.large_binary())
        if wide.null_count:
            wide = wide.fill_null(b"")
        self._add_lengths(pc.binary_length(wide), path)
        _, offsets, data = wide.buffers()
        if data is None or len(wide) == 0:
            return
        at = memoryview(offsets).cast("q")
        first, last = at[wide.offset], at[wide.offset + len(wide)]
        self.feed(f"{path}/text", memoryview(data)[first:last])

    def _add_primitive(self, array: Any, path: str) -> None:
        import pyarrow as pa

        if pa.types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        width = array.type.bit_width // 8
        if array.null_count:
            array = _zeroed(array)
        data = array.buffers()[1]
        if data is not None:
            start = array.offset * width
            self.feed(f"{path}/value", memoryview(data)[start : start + len(array) * width])


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    checks = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_string_view,
        pa.types.is_binary_view,
    )
    return any(check(kind) for check in checks)


def _zeroed(array: Any) -> Any:
    """`array` with zeros where it is null: what lay there is undefined."""
    import pyarrow as pa

    whole = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    integers = whole.get(array.type.bit_width)
    if integers is None:
        return array.fill_null(pa.scalar(0).cast(array.type))
    return array.view(integers).fill_null(0)


def _parts_of_table(table: Any) -> list[object]:
    fields = [(f.name, str(f.type), f.nullable, _metadata(f.metadata)) for f in table.schema]
    columns = [digest_of_arrow(table.column(i)) for i in range(table.num_columns)]
    return [_metadata(table.schema.metadata), table.num_rows, *fields, *columns]


def _metadata(metadata: Any) -> tuple[object, ...]:
    return tuple(sorted((metadata or {}).items()))


def _parts_of_column(column: Any) -> list[object]:
    return [digest_of_arrow(column)]


def _table_of_batch(batch: Any) -> tuple[object, str]:
    import pyarrow as pa

    return pa.Table.from_batches([batch]), "it is a record batch"


def _table_of_column(column: Any) -> tuple[object, str]:
    import pyarrow as pa

    return pa.table({UNNAMED: column}), "it is an array, the one column of this table"


ADAPTERS = (
    TypeAdapter(("pyarrow.lib:Table",), is_immutable=True, digest=_parts_of_table),
    TypeAdapter(
        ("pyarrow.lib:RecordBatch",),
        is_immutable=True,
        digest=_parts_of_table,
        export=_table_of_batch,
    ),
    TypeAdapter(
        ("pyarrow.lib:Array", "pyarrow.lib:ChunkedArray"),
        is_immutable=True,
        digest=_parts_of_column,
        export=_table_of_column,
    ),
    TypeAdapter(
        (
            "pyarrow.lib:DataType",
            "pyarrow.lib:Schema",
            "pyarrow.lib:Field",
            "pyarrow.lib:Buffer",
            "pyarrow.lib:Scalar",
        ),
        is_immutable=True,
    ),
)
