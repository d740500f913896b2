"""Views: memory, dicts and their keys seen through another object, which stays the same one.

cloudpickle writes copies in their place: what is changed through one would not be seen in the
other any more.
"""

from __future__ import annotations

import gc
import math
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_EMPTY: tuple[dict[str, int], ...] = ({}, OrderedDict())

_DICT_VIEWS: dict[type, str] = {
    type(getattr(empty, what)()): what for empty in _EMPTY for what in ("keys", "values", "items")
}


def _reduce_memoryview(_: object, view: memoryview) -> Any:
    from nbckpt.fingerprint.values.views import is_released, layout_of

    if is_released(view):
        return released_view, ()
    if getattr(view, "obj", None) is None:  # memory that belongs to no object
        flat: Any = memoryview(view.tobytes())
        view = flat.cast(view.format, list(view.shape or ()))
    layout = layout_of(view)
    for how in (None, layout):
        try:
            with make_view(view.obj, how) as again:
                if layout_of(again) == layout:
                    return make_view, (view.obj, how and tuple(how))
        except (TypeError, ValueError, LookupError, ArithmeticError, struct.error):
            continue
    message = "it is a view of a kind that cannot be made again"
    raise TypeError(message)


def make_view(obj: Any, layout: tuple[Any, ...] | None) -> memoryview:
    """A view of all of `obj`, or of a part of its memory.

    Parameters
    ----------
    layout
        Members of a `Layout`.
    """
    if layout is None:
        return memoryview(obj)
    flat: Any = memoryview(obj).cast("B")
    offset, form, shape, strides, is_read_only = layout
    n_rows, row = shape[0], struct.calcsize(form) * math.prod(shape[1:])
    step = strides[0] // row
    first = offset if step > 0 else offset + (n_rows - 1) * strides[0]
    rows = flat[first : first + (n_rows - 1) * abs(strides[0]) + row]
    many = (n_rows - 1) * abs(step) + 1
    table = rows.cast(form, [many, *shape[1:]]) if len(shape) > 1 else rows.cast(form)
    view: memoryview = table[::step]
    return view.toreadonly() if is_read_only else view


def released_view() -> memoryview:
    """A view that was let go of."""
    view = memoryview(b"")
    view.release()
    return view


def _reduce_dict_view(_: object, view: Any) -> Any:
    behind = gc.get_referents(view)
    return make_dict_view, (_DICT_VIEWS[type(view)], *behind)


def make_dict_view(what: str, mapping: dict[Any, Any]) -> Any:
    """The keys, values or items of `mapping`."""
    base = OrderedDict if isinstance(mapping, OrderedDict) else dict
    return getattr(base, what)(mapping)


def _reduce_proxy(pickler: NamespacePickler, proxy: MappingProxyType[Any, Any]) -> Any:
    behind = gc.get_referents(proxy)
    if proxy is getattr(sys.modules.get("dataclasses"), "_EMPTY_METADATA", None):
        pickler.private.update(map(id, behind))  # all fields that have none refer to it
    if len(behind) != 1 or not isinstance(behind[0], Mapping):
        return NotImplemented
    if "__module__" in behind[0] and (owner := _class_of(behind[0])) is not None:
        return vars, (owner,)
    return MappingProxyType, (behind[0],)


def _class_of(members: Any) -> type | None:
    """The class whose members these are; None if they are no class's."""
    told = (
        getattr(members.get(name), "__objclass__", None) for name in ("__dict__", "__weakref__")
    )
    for owner in (*told, *gc.get_referrers(members)):
        if isinstance(owner, type) and any(one is members for one in gc.get_referents(owner)):
            return owner
    return None


REDUCERS: dict[type, Callable[[NamespacePickler, Any], Any]] = {
    memoryview: _reduce_memoryview,
    MappingProxyType: _reduce_proxy,
    **dict.fromkeys(_DICT_VIEWS, _reduce_dict_view),
}
