"""Arrays of numpy, their views on each other's memory, and its numbers."""

from __future__ import annotations

import array as standard
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.layouts import dtype_begun, require_extent, shape_of, strings_dtype
from nbckpt.codecs.plain.names import Known, Pending, Table, table

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.plain.limits import Limits

_BYTES = (bytes, bytearray, memoryview)


@functools.cache
def names() -> Table:
    """Table of the numpy names that a stream may use."""
    import numpy as np

    scalars = {k for k in vars(np).values() if isinstance(k, type) and issubclass(k, np.generic)}
    kinds = {k: Known(k.__name__, k) for k in (np.ndarray, np.matrix, np.recarray, *scalars)}
    found = [(f"numpy:{kind.__name__}", known) for kind, known in kinds.items()]
    found += [
        ("numpy:dtype", Known("numpy.dtype", np.dtype, dtype_begun)),
        ("numpy.ma:MaskedArray", Known("numpy.ma.MaskedArray", np.ma.MaskedArray)),
        ("numpy.rec:recarray", kinds[np.recarray]),
        ("numpy._core._internal:_convert_to_stringdtype_kwargs", _of("dtype", strings_dtype)),
    ]
    for home in ("numpy._core.multiarray", "numpy.core.multiarray"):
        found += [
            (f"{home}:_reconstruct", _of("ndarray", _ndarray_begun)),
            (f"{home}:scalar", _of("generic", _scalar)),
        ]
    return table(found)


def _of(name: str, make: Any) -> Known:
    return Known(f"numpy.{name}", make=make)


def is_plain_dtype(value: object) -> bool:
    """True if `value` is a type of elements that are nothing but bytes."""
    import numpy as np

    return isinstance(value, np.dtype) and not value.hasobject and value.kind != "T"


def array_from(limits: Limits, given: tuple[Any, ...]) -> object:
    """An array in simple order that lies on its bytes."""
    from nbckpt.codecs import arrays

    require(len(given) == 5)
    data, dtype, shape, order, writeable = given
    require(are(_BYTES, data) and is_plain_dtype(dtype) and are(bool, writeable))
    require(order in ("C", "F"))
    flat = _flat(data)
    require(math.prod(shape_of(shape)) * dtype.itemsize == flat.nbytes)
    require(dtype.itemsize or math.prod(shape) <= limits.n_bytes)
    return arrays.array_from(flat if type(data) is memoryview else data, *given[1:])


def empty_from(_: Limits, given: tuple[Any, ...]) -> object:
    """An array without elements."""
    from nbckpt.codecs import arrays

    require(len(given) == 3)
    dtype, shape, writeable = given
    require(is_plain_dtype(dtype) and are(bool, writeable) and math.prod(shape_of(shape)) == 0)
    return arrays.empty_from(*given)


def view_of(limits: Limits, given: tuple[Any, ...]) -> object:
    """An array on another's memory."""
    import numpy as np

    from nbckpt.codecs import arrays

    require(len(given) == 6)
    memory, offset, shape, dtype, strides, writeable = given
    require(are(int, offset) and are(bool, writeable) and type(strides) is tuple)
    require(are(int, *strides))
    if isinstance(memory, np.ndarray):
        require(type(memory) is np.ndarray and isinstance(dtype, np.dtype))
        if memory.dtype.hasobject:
            require(memory.dtype == dtype == np.dtype(object))
            require(memory.flags.c_contiguous or memory.flags.f_contiguous)
            require(not any(place % dtype.itemsize for place in (offset, *strides)))
        else:
            require(is_plain_dtype(dtype) and memory.dtype.kind != "T")
        size = _span(memory)
    else:
        require(are((*_BYTES, standard.array), memory) and is_plain_dtype(dtype))
        if type(memory) is bytes and writeable:
            limits.spend(len(memory))
        memory = _flat(memory) if type(memory) is memoryview else memory
        size = memoryview(memory).nbytes
    require_extent(shape_of(shape), strides, offset, dtype.itemsize, size)
    return arrays.view_of(memory, *given[1:])


def _span(memory: np.ndarray) -> int:
    from nbckpt.fingerprint.values.spans import span_of

    if memory.flags.c_contiguous or memory.flags.f_contiguous:
        return memory.nbytes
    return span_of(memory).nbytes if memory.size else 0


def _flat(data: Any) -> memoryview:
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def _ndarray_begun(_: Limits, given: tuple[Any, ...]) -> object:
    import numpy as np

    require(len(given) == 3 and given[0] is np.ndarray)
    return Pending(_ndarray_of)


def _ndarray_of(state: Any) -> object:
    """An array as numpy writes it: of objects, or of strings of any length."""
    import numpy as np

    require(type(state) is tuple and len(state) == 5)
    _, shape, dtype, is_fortran, items = state
    require(isinstance(dtype, np.dtype) and type(is_fortran) is bool and type(items) is list)
    require(math.prod(shape_of(shape)) == len(items))
    if dtype.kind == "T":
        require(are(str, *items))
        flat = np.array(items, dtype=dtype)
    else:
        require(dtype == np.dtype(object))
        flat = np.fromiter(items, dtype=object, count=len(items))
    made = flat.reshape(shape)
    return np.asfortranarray(made) if is_fortran else made


def read_only(_: Limits, given: tuple[Any, ...]) -> object:
    """An array of objects that nobody may change."""
    import numpy as np

    (array,) = given
    require(type(array) is np.ndarray)
    array.flags.writeable = False
    return array


def _scalar(_: Limits, given: tuple[Any, ...]) -> object:
    import numpy as np

    require(len(given) == 2)
    dtype, data = given
    require(is_plain_dtype(dtype) and are(bytes, data) and len(data) == dtype.itemsize)
    if not dtype.itemsize:
        require(dtype.kind in "US")
        return dtype.type()
    found = np.frombuffer(data, dtype, 1)[0]
    return found.copy() if dtype.kind == "V" else found


def subclass_from(_: Limits, given: tuple[Any, ...]) -> object:
    """An array seen as a matrix, as records, or with a mask."""
    import numpy as np

    from nbckpt.codecs import arrays

    require(len(given) == 2 and type(given[1]) is np.ndarray)
    require(given[0] in (np.matrix, np.recarray, np.ma.MaskedArray))
    require(given[0] is not np.matrix or given[1].ndim == 2)
    return arrays.subclass_from(*given)


def set_members(_: Limits, given: tuple[Any, ...]) -> object:
    """Give an array with a mask what it had beside its elements."""
    import numpy as np

    from nbckpt.codecs import arrays

    require(len(given) == 2 and type(given[1]) is dict)
    array, members = given
    require(type(array) in (np.matrix, np.recarray, np.ma.MaskedArray))
    if type(array) is not np.ma.MaskedArray:
        require(set(members) <= {"_getitem"} and are(bool, *members.values()))
        arrays.set_members(array, members)
        return None
    fits: dict[str, Callable[[Any, Any], bool]] = _MASKED
    require(all(name in fits and fits[name](array, v) for name, v in members.items()))
    require(members.keys() >= {"_mask", "_baseclass"})
    arrays.set_members(array, members)
    return None


def _is_mask(array: Any, value: Any) -> bool:
    import numpy as np

    if type(value) is np.bool_:
        return not value
    is_array = type(value) is np.ndarray and value.shape == array.shape
    return is_array and value.dtype == np.ma.make_mask_descr(array.dtype)


def _is_fill(array: Any, value: Any) -> bool:
    import numpy as np

    if value is None:
        return True
    return type(value) is np.ndarray and value.shape == () and value.dtype == array.dtype


def _is_flag(_: Any, value: Any) -> bool:
    return type(value) is bool


_MASKED: dict[str, Any] = {
    "_mask": _is_mask,
    "_fill_value": _is_fill,
    "_hardmask": _is_flag,
    "_sharedmask": _is_flag,
    "_isfield": _is_flag,
    "_baseclass": lambda _, value: _is_ndarray(value),
    "_optinfo": lambda _, value: value == {} and type(value) is dict,
    "_basedict": lambda _, value: value == {} and type(value) is dict,
}


def _is_ndarray(value: object) -> bool:
    import numpy as np

    return value is np.ndarray
