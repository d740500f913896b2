"""nbckpt's own names that a stream may use: makers of arrays, views and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain import arrays, tensors
from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.names import Known, Table, table

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits


def names() -> Table:
    """Table of nbckpt's own names that a stream may use."""
    return _TABLE


def _memoryview(_: Limits, given: tuple[Any, ...]) -> object:
    import array

    from nbckpt.codecs import views

    require(len(given) == 2)
    obj, layout = given
    require(are((bytes, bytearray, array.array, memoryview), obj))
    if layout is not None:
        require(isinstance(layout, tuple) and len(layout) == 5)
        offset, form, shape, strides, is_read_only = layout
        require(are(int, offset) and are(str, form) and are(bool, is_read_only))
        require(are(tuple, shape, strides) and are(int, *shape, *strides))
    return views.make_view(obj, layout)


def _layout(_: Limits, given: tuple[Any, ...]) -> object:
    from nbckpt.fingerprint.values.views import Layout

    return Layout(*given)


_HOME = "nbckpt.codecs"

_TABLE = table(
    [
        (f"{_HOME}.arrays:array_from", Known("array_from", make=arrays.array_from)),
        (f"{_HOME}.arrays:empty_from", Known("empty_from", make=arrays.empty_from)),
        (f"{_HOME}.arrays:view_of", Known("view_of", make=arrays.view_of)),
        (f"{_HOME}.arrays:subclass_from", Known("subclass_from", make=arrays.subclass_from)),
        (f"{_HOME}.arrays:set_members", Known("set_members", make=arrays.set_members)),
        (
            f"{_HOME}.arrays:_set_read_only_state",
            Known("read_only", make=arrays.read_only, settles=True),
        ),
        ("nbckpt.fingerprint.values.views:Layout", Known("memoryview", object(), new=_layout)),
        (f"{_HOME}.views:make_view", Known("memoryview", make=_memoryview)),
        (f"{_HOME}.tensors:tensor_from", Known("tensor_from", make=tensors.tensor_from)),
        (f"{_HOME}.tensors:set_members", Known("set_members", make=tensors.set_members)),
        (f"{_HOME}.storages:storage_from", Known("storage_from", make=tensors.storage_from)),
        (f"{_HOME}.storages:bytes_of", Known("bytes_of", make=tensors.bytes_of)),
    ]
)
