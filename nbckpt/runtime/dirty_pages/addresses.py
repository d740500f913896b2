"""Where the bytes of a Python object lie."""

from __future__ import annotations

import ctypes
from typing import NamedTuple


class Place(NamedTuple):
    """A range of addresses."""

    address: int
    n_bytes: int


class _Buffer(ctypes.Structure):
    """``Py_buffer``."""

    _fields_ = (
        ("place", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("n_bytes", ctypes.c_ssize_t),
        ("item_bytes", ctypes.c_ssize_t),
        ("is_read_only", ctypes.c_int),
        ("n_axes", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


def place_of(view: memoryview) -> Place:
    """Where contiguous bytes lie; ctypes' own ways refuse what is read-only."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    try:
        return Place(buffer.place or 0, buffer.n_bytes)
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
