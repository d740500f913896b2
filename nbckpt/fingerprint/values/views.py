"""Layout of a `memoryview` on the object whose memory it shows."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbckpt.fingerprint.values.walking import Walk

_FULL_READ_ONLY = 0x11C
"""``PyBUF_FULL_RO``: any layout will do."""


class Layout(NamedTuple):
    """Place of a view in the memory of its object.

    Attributes
    ----------
    offset
        Bytes from the first element of the whole object to the first of the view.
    strides
        Bytes from one element to the next, along each axis.
    """

    offset: int
    format: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_read_only: bool


def layout_of(view: memoryview) -> Layout:
    """The layout of a view on an object.

    Raises
    ------
    ValueError
        If the view was released.
    """
    with memoryview(view.obj) as whole:
        offset = address_of(view) - address_of(whole)
    shape, strides = tuple(view.shape or ()), tuple(view.strides or ())
    return Layout(offset, view.format, shape, strides, view.readonly)


def is_released(view: memoryview) -> bool:
    """True if a view was let go of, and shows nothing any more."""
    try:
        _ = view.obj
    except ValueError:
        return True
    return False


def walk_view(walk: Walk, value: memoryview) -> None:
    """A view: its layout, and the object it lies on, which others may share."""
    if walk.is_known(value):
        return
    if is_released(value):
        walk.put(b"view", "released")
    elif getattr(value, "obj", None) is None:  # memory that belongs to no object
        walk.put(b"view", value.format, str(value.shape), value.tobytes())
    else:
        layout = layout_of(value)
        walk.put(b"view", *map(str, layout))
        walk.push([value.obj])


def address_of(view: memoryview) -> int:
    """The address of the first element of a view."""
    import ctypes

    size = ctypes.c_ssize_t

    class Buffer(ctypes.Structure):
        _fields_ = (
            ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", size),
            ("itemsize", size), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
            ("format", ctypes.c_void_p), ("shape", ctypes.c_void_p),
            ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p),
            ("internal", ctypes.c_void_p),
        )  # fmt: skip

    found: Any = Buffer()
    python = ctypes.pythonapi
    python.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(found), _FULL_READ_ONLY)
    try:
        return int(found.buf or 0)
    finally:
        python.PyBuffer_Release(ctypes.byref(found))
