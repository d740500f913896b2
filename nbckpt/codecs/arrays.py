"""NumPy arrays, their subclasses and their views.

Arrays on one memory stay arrays on one memory, also on that of a `bytearray` or a tensor. pandas
is the exception: its frames are values (copy on write), so the arrays inside them are always
written on their own. A block of several columns is written column by column, each a buffer: the
store has the others already, wherever pandas puts them when one is replaced, dropped or inserted.
"""

from __future__ import annotations

import array as standard
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nbckpt.codecs import array_elements, memmaps, tensors
from nbckpt.codecs.array_memory import (
    as_columns,
    bytes_of,
    guarded,
    has_large_columns,
    while_writeable,
)
from nbckpt.fingerprint.values.reducing import refuses_without_need
from nbckpt.fingerprint.values.spans import (
    address_of,
    bounds_of,
    is_writeable,
    owner_of,
    span_of,
    start_of,
)
from nbckpt.runtime.mapped_files import require_there

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.pickler import NamespacePickler

MAX_GAPS = 4
"""An array that is spread over more than so many times its size is written without the gaps."""

SMALL_BYTES = 16 * 1024
"""Gaps of less than this are written always."""


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for arrays and the like of type `kind`; None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "ndarray"):
        return None
    if kind is numpy.ndarray:
        return reduce_array
    if kind is numpy.flatiter:
        return array_elements.reduce_flat
    if issubclass(kind, numpy.void):
        return array_elements.reduce_record
    if kind is numpy.finfo:
        return _reduce_finfo
    if kind is _void_dtype():
        return _reduce_dtype
    if not issubclass(kind, numpy.ndarray):
        return None
    if kind is numpy.memmap:
        return _reduce_memmap
    return _reduce_subclass if _is_taken_apart(kind) else None


def _void_dtype() -> object:
    """The class of dtypes with fields.

    Not asked of `numpy` itself: where its first import was interrupted, it asks itself for
    ``numpy.dtypes`` without end.
    """
    return getattr(sys.modules.get("numpy.dtypes"), "VoidDType", None)


def _is_taken_apart(kind: type) -> bool:
    """True if all that a subclass of arrays holds is an array and the instance's attributes."""
    import numpy as np

    if refuses_without_need(kind):
        return True
    known: tuple[Any, ...] = (np.ndarray, np.ma.MaskedArray)
    names = ("__reduce__", "__reduce_ex__", "__setstate__")
    return any(all(getattr(kind, n) is getattr(base, n) for n in names) for base in known)


def reduce_array(pickler: NamespacePickler, array: np.ndarray) -> Any:
    """An array as its buffer, or as a view of the memory that it shares."""
    require_there(array)
    if id(array) in pickler.private:
        by_column = has_large_columns(array)
        return as_columns(pickler, array) if by_column else _as_buffer(pickler, array)
    owner = owner_of(array)
    if elsewhere := _memory_elsewhere(pickler, owner):
        return _as_view(array, *elsewhere)
    pickler.views.setdefault(id(owner), set()).add(id(array))
    if is_writeable(array):
        pickler.written.add(id(owner))
    if id(owner) not in pickler.linked or not _can_be_viewed(owner):
        return _as_buffer(pickler, array)
    root = _plain(pickler, owner)
    if root is array:
        return _as_buffer(pickler, array)
    return _as_view(array, root, start_of(root))


def _plain(pickler: NamespacePickler, owner: np.ndarray) -> np.ndarray:
    """An owner of memory as a plain array: one for all that lie on it."""
    import numpy as np

    if type(owner) is np.ndarray:
        return owner
    root: np.ndarray | None = pickler.roots.get(id(owner))
    if root is None:
        root = pickler.roots[id(owner)] = np.ndarray.view(owner, np.ndarray)
        pickler.keep(owner)
    return root


def _memory_elsewhere(pickler: NamespacePickler, owner: np.ndarray) -> tuple[object, int] | None:
    """The holder of `owner`'s shared memory, if not a plain array, and its first address."""
    base: Any = owner.base
    has_torch = "torch" in sys.modules
    if (base is None and not has_torch) or owner.dtype.hasobject or owner.size == 0:
        return None
    if memmaps.is_on_file(owner):
        return owner, start_of(owner)
    if has_torch:
        first = start_of(owner)
        pickler.addresses.add(first)
        if first in pickler.linked or tensors.is_tensor(base):
            ref = tensors.ref_of_array(pickler, owner, span_of(_plain(pickler, owner)))
            return tensors.array_of(pickler, ref), ref.address
    exporter = base.obj if isinstance(base, memoryview) else base
    if not isinstance(exporter, bytearray | standard.array):
        return None
    pickler.exporters[id(exporter)] = exporter
    pickler.views.setdefault(id(exporter), set()).add(id(owner))
    if id(exporter) not in pickler.linked:
        return None
    import numpy as np

    return exporter, address_of(np.frombuffer(exporter, "u1"))


def tie_memories(pickler: NamespacePickler, memo: Mapping[int, tuple[int, object]]) -> None:
    """Note what arrays share with what is no array: a `bytearray` that was met, a tensor."""
    if pickler.exporters:
        for _, obj in memo.values():
            if id(obj) in pickler.exporters:
                pickler.views[id(obj)].add(id(obj))
    for address in pickler.addresses & pickler.storages.keys():
        pickler.views[address] = {address, id(pickler)}


def _can_be_viewed(root: np.ndarray) -> bool:
    # pickle makes arrays of objects anew in one of these two orders.
    return not root.dtype.hasobject or root.flags.c_contiguous or root.flags.f_contiguous


def _as_view(array: np.ndarray, memory: object, first: int) -> Any:
    layout = (array.shape, array.dtype, array.strides, is_writeable(array))
    return view_of, (memory, address_of(array) - first, *layout)


def _as_buffer(pickler: NamespacePickler, array: np.ndarray) -> Any:
    if array.dtype.hasobject:
        return _as_list(pickler, array)
    if array.size == 0:
        return empty_from, (array.dtype, array.shape, is_writeable(array))
    if array.flags.c_contiguous or array.flags.f_contiguous:
        order = "C" if array.flags.c_contiguous else "F"
        data = bytes_of(pickler, array)
        return array_from, (data, array.dtype, array.shape, order, is_writeable(array))
    return _as_span(pickler, array)


def _as_list(pickler: NamespacePickler, array: np.ndarray) -> Any:
    """As numpy does; `pickle` has no way to say that an array of objects is read-only."""
    contents = pickler.contents
    if contents and (known := contents.reduced(array)) is not NotImplemented:
        return known
    if is_writeable(array):
        return NotImplemented
    reduced: Any = array.__reduce_ex__(2)
    make, arguments, state = reduced
    return make, arguments, state, None, None, _set_read_only_state


def _set_read_only_state(array: np.ndarray, state: Any) -> None:
    array.__setstate__(state)
    array.flags.writeable = False


def _as_span(pickler: NamespacePickler, array: np.ndarray) -> Any:
    """An array in no simple order: the memory from its first byte to its last, and the strides."""
    import numpy as np

    first, end = bounds_of(array)
    can_write = is_writeable(array)
    if end - first > max(SMALL_BYTES, MAX_GAPS * array.nbytes):
        array = np.array(array, order="K")
        pickler.keep(array)
        first, _ = bounds_of(array)
    data = bytes_of(pickler, array)
    layout = (array.shape, array.dtype, array.strides, can_write)
    return view_of, (data, address_of(array) - first, *layout)


def array_from(
    data: Any, dtype: np.dtype, shape: tuple[int, ...], order: Any, writeable: bool
) -> np.ndarray:
    """An array that lies on `data`, or owns a copy of it if it came with the stream."""
    import numpy as np

    array: np.ndarray = np.ndarray(shape, dtype, buffer=data, order=order)
    if isinstance(data, bytes | bytearray):
        array = array.copy(order)
    return guarded(array, writeable)


def empty_from(dtype: np.dtype, shape: tuple[int, ...], writeable: bool) -> np.ndarray:
    """An array without elements."""
    import numpy as np

    return guarded(np.empty(shape, dtype), writeable)


def view_of(
    memory: Any,
    offset: int,
    shape: tuple[int, ...],
    dtype: np.dtype,
    strides: tuple[int, ...],
    writeable: bool,
) -> np.ndarray:
    """The array that begins `offset` bytes into `memory`: an array or a buffer."""
    import numpy as np

    if isinstance(memory, np.ndarray):
        # `buffer=` wants C order; the bytes of a Fortran array in memory order are its transpose's.
        take = _in_order if memory.dtype.hasobject else span_of
        memory = while_writeable(memory, take) if writeable else take(memory)
    elif isinstance(memory, bytes) and writeable:
        memory = bytearray(memory)
    if isinstance(memory, bytearray | standard.array):
        # `buffer=` would let the object grow, and have other memory: this forbids that.
        memory = np.frombuffer(memory, "u1")
    return guarded(
        np.ndarray(shape, dtype, buffer=memory, offset=offset, strides=strides), writeable
    )


def _in_order(array: np.ndarray) -> np.ndarray:
    return array.view() if array.flags.c_contiguous else array.T


def _reduce_subclass(pickler: NamespacePickler, array: np.ndarray) -> Any:
    """A matrix, masked array, recarray or array of the user's class: its memory and attributes.

    numpy's own way forgets the attributes that a user's class sets, and whether a mask is hard.
    """
    import numpy as np

    if owner_of(array) is array:
        plain = _plain(pickler, array)
    else:
        plain = np.ndarray.view(array, np.ndarray)
        pickler.keep(plain)
    members = getattr(array, "__dict__", None) or {}
    return subclass_from, (type(array), plain), members, None, None, set_members


def _reduce_memmap(pickler: NamespacePickler, array: np.memmap) -> Any:
    import numpy as np

    require_there(array)
    owner = owner_of(array)
    if not memmaps.is_on_file(owner):
        reduced = list(_reduce_subclass(pickler, array))
        reduced[2] = {**reduced[2], "_mmap": None}
        return tuple(reduced)
    if owner is array:
        return memmaps.reduce_owner(array)
    plain = np.ndarray.view(array, np.ndarray)
    pickler.keep(plain)
    return memmaps.reduce_view(array, plain)


def subclass_from(kind: type[np.ndarray], plain: np.ndarray) -> np.ndarray:
    """`plain` as an array of a subclass; `set_members` fills in the rest."""
    import numpy as np

    return np.ndarray.view(plain, kind)


def set_members(array: np.ndarray, members: dict[str, object]) -> None:
    """Give an array the attributes that it had, and no others."""
    if hasattr(array, "__dict__"):
        vars(array).clear()
        vars(array).update(members)


def _reduce_finfo(_: object, info: Any) -> Any:
    return type(info), (info.dtype,)


def _reduce_dtype(pickler: NamespacePickler, dtype: Any) -> Any:
    """A type of records; the dict of its fields, which it shows, cannot be changed either."""
    reduced = dtype.__reduce__()
    state = reduced[2] if len(reduced) > 2 else ()
    pickler.private.update(id(part) for part in state if isinstance(part, dict))
    return reduced
