"""The memory that an array is written from, and comes back on: what may be written stays so."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values.spans import address_of, is_writeable, owner_of, span_of
from nbckpt.runtime.addresses import memory_at

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.pickler import NamespacePickler

LEAST_COLUMN_BYTES = 64 * 1024
"""Smaller columns of a block are one buffer together: readers put columns of their own together."""


def bytes_of(pickler: NamespacePickler, array: np.ndarray) -> pickle.PickleBuffer:
    """The memory between the ends of an array.

    It comes back as memory that can be written unless it could not: an array's own flag may be
    set again, and views that it had before may write.
    """
    span = span_of(array)
    if not is_writeable(array) and _can_be_written(owner_of(array)):
        pickler.keep(array)
        return pickle.PickleBuffer(memory_at(address_of(span), len(span)))
    pickler.keep(span)
    return pickle.PickleBuffer(span)  # type: ignore[arg-type]  # it is a buffer


def has_large_columns(block: np.ndarray) -> bool:
    """True if several columns of a table lie one behind the other, and are large."""
    return (
        block.ndim == 2
        and len(block) > 1
        and block.nbytes >= LEAST_COLUMN_BYTES * len(block)
        and block.flags.c_contiguous
        and not block.dtype.hasobject
    )


def as_columns(pickler: NamespacePickler, block: np.ndarray) -> Any:
    """A block of a table as pickle takes it: each column a buffer, which the store may have."""
    buffers = [bytes_of(pickler, column) for column in block]
    return columns_from, (block.dtype, block.shape[1], is_writeable(block), *buffers)


def columns_from(dtype: np.dtype, n_rows: int, writeable: bool, *columns: Any) -> np.ndarray:
    """The columns of a table in one piece of memory: (n_columns, n_rows)."""
    import numpy as np

    block: np.ndarray = np.empty((len(columns), n_rows), dtype)
    for place, column in zip(block.view("u1"), columns, strict=True):
        place[:] = np.frombuffer(column, "u1")
    return guarded(block, writeable)


def while_writeable(array: np.ndarray, take: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A view that may write, also of an array that was made read-only after it had this view."""
    is_read_only = not is_writeable(array)
    if is_read_only and _can_be_written(array):
        array.flags.writeable = True
    try:
        return take(array)
    finally:
        if is_read_only:
            array.flags.writeable = False


def _can_be_written(owner: np.ndarray) -> bool:
    """True unless the memory itself is read-only, as that of a `bytes` is."""
    base: Any = owner.base
    if base is None:
        return True
    try:
        with memoryview(base) as view:
            return not view.readonly
    except (TypeError, ValueError):  # what shows its memory under the address alone
        return is_writeable(owner)


def guarded(array: np.ndarray, writeable: bool) -> np.ndarray:
    """The array, read-only if it was."""
    if is_writeable(array) and not writeable:
        array.flags.writeable = False
    return array
