"""Elements of arrays that lie on their memory: records, and iterators that stand at one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values.dict_iterators import skip
from nbckpt.types.adapter import RefusalError

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.pickler import NamespacePickler


def reduce_record(pickler: NamespacePickler, record: Any) -> Any:
    """An element of an array with fields, which lies on the memory of the array."""
    import numpy as np

    if not isinstance(record.base, np.ndarray):
        return NotImplemented
    place = _part_around(record, record.base)
    pickler.keep(place)
    return record_at, (place,)


def _part_around(record: Any, array: np.ndarray) -> np.ndarray:
    """The part of an array that is one element of it alone."""
    ways: list[Any] = [slice(None, None, -1 if step < 0 else 1) for step in array.strides]
    upwards = array[(*ways, ...)]
    rest = record.__array_interface__["data"][0] - upwards.__array_interface__["data"][0]
    index = [0] * array.ndim
    for axis in sorted(range(array.ndim), key=lambda axis: -upwards.strides[axis]):
        if step := upwards.strides[axis]:
            index[axis], rest = divmod(rest, step)
    places: list[Any] = [slice(i, i + 1) for i in index]
    part: np.ndarray = upwards[(*places, ...)]
    if rest or part.size != 1 or part.dtype != record.dtype:
        message = "it lies on the memory of an array, and it cannot be told where"
        raise RefusalError(message)
    return part


def record_at(part: np.ndarray) -> Any:
    """The one element of an array, on its memory."""
    return part[(0,) * part.ndim]


def reduce_flat(_: object, flat: Any) -> Any:
    """An iterator of an array's elements, by the array and the number that it has given."""
    return flat_of, (flat.base, flat.index)


def flat_of(array: np.ndarray, index: int) -> Any:
    """The iterator of an array's elements, ``array.flat``, that has given so many of them."""
    flat = array.flat
    skip(flat, index)
    return flat
