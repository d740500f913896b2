"""The contents of arrays and columns as digests: values, not layout.

An array in Fortran order and its copy in C order, or an Arrow column in one chunk and in three,
have the same content. What lies under a null or in the padding of a structured type is no content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blake3 import blake3

if TYPE_CHECKING:
    from nbckpt.digests import Digest

BLOCK_BYTES = 1 << 24


def digest_of_array(array: Any) -> Digest:
    """The digest of a numpy array's dtype, shape and values; not of object arrays."""
    hasher = blake3(f"{_dtype_name(array.dtype)}{array.shape}".encode())
    _feed_array(hasher, array)
    return hasher.hexdigest()


def digest_of_arrow(column: Any) -> Digest:
    """The digest of an Arrow array, chunked or not: its type and values."""
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if pa.types.is_dictionary(column.type) and len(chunks) > 1:
        chunks = column.unify_dictionaries().chunks
    feeds = _ArrowFeeds()
    for chunk in chunks:
        feeds.add(chunk, "")
    hasher = blake3(f"{column.type}{len(column)}".encode())
    for path, part in sorted(feeds.hashers.items()):
        hasher.update(path.encode() + part.digest())
    return hasher.hexdigest()


def digest_of_tensor(tensor: Any) -> Digest:
    """The digest of a torch tensor's values, wherever it lives, in row order."""
    import torch

    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    return blake3(memoryview(plain.view(torch.uint8).numpy())).hexdigest()


def _dtype_name(dtype: Any) -> str:
    if dtype.names is None:
        return f"{dtype.str}{dtype.metadata or ''}" if dtype.subdtype is None else repr(dtype)
    fields = (f"{name}:{_dtype_name(dtype[name])}" for name in dtype.names)
    return f"[{','.join(fields)}]"


def _feed_array(hasher: blake3, array: Any) -> None:
    if array.dtype.names is not None:  # the padding between fields holds anything
        for name in array.dtype.names:
            _feed_array(hasher, array[name])
        return
    if array.dtype.kind == "T":  # numpy's strings of any length lie outside the buffer
        for text in array.reshape(-1).tolist():
            data = repr(text).encode("utf-8", "surrogatepass")
            hasher.update(len(data).to_bytes(8, "little") + data)
        return
    for block in _row_blocks(array):
        hasher.update(block)


def _row_blocks(array: Any) -> Iterator[memoryview]:
    """The bytes of `array` in row order, without copying them all at once."""
    import numpy as np

    if array.size == 0:
        return
    if array.flags.c_contiguous or array.ndim == 0 or array.nbytes <= BLOCK_BYTES:
        yield _bytes_of(np.ascontiguousarray(array))
        return
    rows = max(1, BLOCK_BYTES * len(array) // array.nbytes)
    for start in range(0, len(array), rows):
        block = np.ascontiguousarray(array[start : start + rows])
        yield _bytes_of(block)


def _bytes_of(array: Any) -> memoryview:
    """The buffer of a contiguous array; not of its own type, which `memoryview` may not know."""
    return memoryview(array.reshape(-1).view("u1"))


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

            nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
            self.feed(f"{path}/null", _bytes_of(nulls + before))

    def _add_once(self, dictionary: Any, path: str) -> None:
        if path not in self.n_before:
            self.add(dictionary, path)
            self.n_before.setdefault(path, 0)

    def _add_lengths(self, lengths: Any, path: str) -> None:
        import numpy as np

        filled = lengths.fill_null(0).to_numpy(zero_copy_only=False)
        self.feed(f"{path}/length", _bytes_of(np.ascontiguousarray(filled, "<i8")))

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
