"""The contents of arrays and tensors as digests: values, not layout.

An array in Fortran order and its copy in C order have the same content; `frames` tells them apart
where an array itself is the value. What lies in the padding
of a structured type is no content. Where the kernel tells which memory was written, what was not
is not read again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from nbckpt.runtime.dirty_pages.memory import (
    CHUNK_BYTES,
    WATCHED_BYTES,
    Place,
    digest_of_blocks,
    digest_of_memory,
    digest_of_names,
    look_at,
)
from nbckpt.runtime.mapped_files import is_there

if TYPE_CHECKING:
    from nbckpt.digests import Digest

BLOCK_BYTES = 1 << 24


def digest_of_array(array: Any, *, lasts: bool = True) -> Digest:
    """The digest of a numpy array's dtype, shape and values; not of object arrays.

    Parameters
    ----------
    array
        The array.
    lasts
        False if its memory was only made to be digested.
    """
    if not is_there(array):  # of what cannot be read nothing is the same
        return secrets.token_hex(16)
    return _digest(array.dtype, array.shape, _content(array, lasts))


def digests_of_columns(columns: Sequence[Any]) -> list[Digest]:
    """`digest_of_array` of columns of one block of memory, one behind the other in each row.

    Parameters
    ----------
    columns
        (n_rows,) arrays of one dtype, length and positive stride.
    """
    first = columns[0]
    addresses = [_address(column) for column in columns]
    low, stride, size = min(addresses), first.strides[0], first.itemsize
    width = max(addresses) - low + size
    n_rows = CHUNK_BYTES // size
    offsets = tuple(address - low for address in addresses)
    now = look_at(Place(low, (len(first) - 1) * stride + width))
    names: list[tuple[bytes, ...]] = []
    for begin in range(0, len(first), n_rows):
        end = min(begin + n_rows, len(first))

        def slab(begin: int = begin, end: int = end) -> tuple[bytes, ...]:
            return tuple(blake3(_packed(column[begin:end])).digest() for column in columns)

        key = ("columns", size, stride, offsets)
        names.append(now.remember(key, slab, begin * stride, (end - 1) * stride + width))
    return [
        _digest(column.dtype, column.shape, digest_of_names(of_one, column.nbytes))
        for column, of_one in zip(columns, zip(*names, strict=True), strict=True)
    ]


def lies_in_rows(column: Any) -> bool:
    """True if an array is large, and a column of something that is kept row by row."""
    return bool(
        column.ndim == 1
        and column.nbytes >= WATCHED_BYTES
        and column.strides[0] > column.itemsize
        and CHUNK_BYTES % column.itemsize == 0
        and column.dtype.kind not in "OT"
        and _is_packed(column.dtype)
    )


def digest_of_tensor(tensor: Any) -> Digest:
    """The digest of a torch tensor's values, wherever it lives, in row order."""
    import torch

    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    data = memoryview(plain.view(torch.uint8).numpy())
    if data.nbytes < WATCHED_BYTES:
        return digest_of_memory(data).hex()
    is_own = tensor.device.type == "cpu" and plain.data_ptr() == tensor.data_ptr()
    return digest_of_memory(data, watch=is_own).hex()


def _digest(dtype: Any, shape: tuple[int, ...], content: bytes) -> Digest:
    return blake3(f"{_dtype_name(dtype)}{shape}".encode() + content).hexdigest()


def _dtype_name(dtype: Any) -> str:
    if dtype.names is None:
        return f"{dtype.str}{dtype.metadata or ''}" if dtype.subdtype is None else repr(dtype)
    fields = (f"{name}:{_dtype_name(dtype[name])}" for name in dtype.names)
    return f"[{','.join(fields)}]" if _is_packed(dtype) else f"[{','.join(fields)},padded]"


def _is_packed(dtype: Any) -> bool:
    """True if every byte of a type is one of a value, in the order of its fields."""
    if dtype.names is None:
        return not _is_padded_number(dtype.base)
    end = 0
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        if offset != end or not _is_packed(field):
            return False
        end += field.itemsize
    return bool(end == dtype.itemsize)


def _is_padded_number(dtype: Any) -> bool:
    """True if a type is x86's `long double`, of which six bytes hold anything."""
    import numpy as np

    return dtype.char in "gG" and np.finfo(np.longdouble).nmant == 63


def _without_padding(array: Any) -> Any:
    """The ten bytes of each `long double`, as one more axis."""
    import numpy as np

    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    numbers = native[..., np.newaxis].view(np.longdouble)
    return numbers[..., np.newaxis].view("u1")[..., :10]


def _content(array: Any, lasts: bool) -> bytes:
    """The digest of the values in row order."""
    if array.dtype.names is not None and not _is_packed(array.dtype):
        return b"".join(_content(array[name], lasts) for name in array.dtype.names)
    if _is_padded_number(array.dtype):
        return _content(_without_padding(array), lasts and array.dtype.isnative)
    if array.dtype.kind == "T":  # numpy's strings of any length lie outside the buffer
        return _digest_of_texts(array.reshape(-1).tolist())
    if array.nbytes == 0:
        return blake3().digest()
    if array.flags.c_contiguous:
        return digest_of_memory(_packed(array), watch=lasts)
    return look_at(_span(array), watch=lasts).remember(
        ("values", array.itemsize, array.shape, array.strides),
        lambda: digest_of_blocks(_row_blocks(array), array.nbytes),
    )


def _digest_of_texts(texts: list[str]) -> bytes:
    hasher = blake3()
    for text in texts:
        data = repr(text).encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.digest()


def _row_blocks(array: Any) -> Iterator[memoryview]:
    """The bytes of `array` in row order, without copying them all at once."""
    if array.nbytes <= BLOCK_BYTES:
        yield _packed(array)
        return
    rows = max(1, BLOCK_BYTES * len(array) // array.nbytes)
    for start in range(0, len(array), rows):
        yield _packed(array[start : start + rows])


def _packed(array: Any) -> memoryview:
    """The bytes of an array in row order, copied if they lie otherwise.

    Not of its own type, which `memoryview` may not know.
    """
    import numpy as np

    whole: Any = np.ascontiguousarray(array).reshape(-1).view("u1")
    return memoryview(whole)


def _span(array: Any) -> Place:
    """All memory between the ends of an array."""
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    low = _address(array) + sum(step for step in steps if step < 0)
    return Place(low, sum(map(abs, steps)) + array.itemsize)


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])
