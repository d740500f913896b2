"""NumPy arrays, their views, and the blocks of pandas frames.

Two arrays on one memory stay two arrays on one memory. pandas is the exception: its frames are
values (copy on write), so the arrays inside them are always written on their own.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.pickler import NamespacePickler


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """How arrays and holders of arrays of type `kind` are written; None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        return reduce_array
    pandas = sys.modules.get("pandas")
    if pandas is None or not kind.__module__.startswith("pandas"):
        return None
    internals = sys.modules["pandas._libs.internals"]
    if issubclass(kind, internals.Block):
        return _reduce_block
    if issubclass(kind, pandas.Index | pandas.api.extensions.ExtensionArray):
        return _reduce_owner
    return None


def root_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `array`: itself, or the last of its chain of bases."""
    import numpy as np

    while type(array.base) is np.ndarray:
        array = array.base
    return array


def reduce_array(pickler: NamespacePickler, array: np.ndarray) -> Any:
    """An array as its buffer, or as a view of the array whose memory it shares."""
    if id(array) in pickler.private:
        return _as_buffer(array)
    root = root_of(array)
    pickler.views.setdefault(id(root), set()).add(id(array))
    if root is not array and id(root) in pickler.linked:
        return _as_view(array, root)
    return _as_buffer(array)


def _as_view(array: np.ndarray, root: np.ndarray) -> Any:
    offset = _address(array) - _address(root)
    layout = (array.shape, array.dtype, array.strides, array.flags.writeable)
    return view_of, (root, offset, *layout)


def _as_buffer(array: np.ndarray) -> Any:
    import numpy as np

    if array.dtype.hasobject or array.size == 0 or array.ndim == 0:
        return NotImplemented
    if array.flags.c_contiguous:
        order, flat = "C", array.reshape(-1)
    elif array.flags.f_contiguous:
        order, flat = "F", array.T.reshape(-1)
    else:
        order, flat = "C", np.ascontiguousarray(array).reshape(-1)
    data = pickle.PickleBuffer(flat.view(np.uint8))  # type: ignore[arg-type]  # it is a buffer
    return array_from, (data, array.dtype, array.shape, order, array.flags.writeable)


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def array_from(
    data: Any, dtype: np.dtype, shape: tuple[int, ...], order: Any, writeable: bool
) -> np.ndarray:
    """An array that lies on `data`."""
    import numpy as np

    array: np.ndarray = np.ndarray(shape, dtype, buffer=data, order=order)
    if array.flags.writeable and not writeable:
        array.flags.writeable = False
    return array


def view_of(
    root: np.ndarray,
    offset: int,
    shape: tuple[int, ...],
    dtype: np.dtype,
    strides: tuple[int, ...],
    writeable: bool,
) -> np.ndarray:
    """The view of `root` that begins `offset` bytes into it."""
    import numpy as np

    if root.dtype.hasobject:
        view = np.lib.stride_tricks.as_strided(_shifted(root, offset), shape, strides)
    else:
        # A base that is itself read-only gives a read-only view, as it was.
        view = np.ndarray(shape, dtype, buffer=_memory(root), offset=offset, strides=strides)
    if view.flags.writeable and not writeable:
        view.flags.writeable = False
    return view


def _memory(root: np.ndarray) -> np.ndarray:
    # `buffer=` wants C order; the bytes of a Fortran array in memory order are its transpose's.
    return root if root.flags.c_contiguous else root.T


def _shifted(root: np.ndarray, offset: int) -> np.ndarray:
    flat = root.reshape(-1) if root.flags.c_contiguous else root.T.reshape(-1)
    return flat[offset // root.itemsize :]


def _reduce_block(pickler: NamespacePickler, block: Any) -> Any:
    # A fresh view for each block, so that two frames on one memory come back as two values.
    make, (values, *rest) = block.__reduce_ex__(5)
    if type(values).__module__ == "numpy":
        values = values.view()
        pickler.keep(values)
    _own(pickler, values)
    return make, (values, *rest)


def _reduce_owner(pickler: NamespacePickler, owner: Any) -> Any:
    for attribute in ("_data", "_ndarray", "_codes", "_mask"):
        _own(pickler, getattr(owner, attribute, None))
    return NotImplemented


def _own(pickler: NamespacePickler, values: object) -> None:
    pickler.private.add(id(values))
