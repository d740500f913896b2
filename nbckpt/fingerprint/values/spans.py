"""Where the elements of an array lie: its owner, and the bytes between its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_WRITEABLE = 0x400
"""``NPY_ARRAY_WRITEABLE``."""


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `array`: itself, or the last of its chain of bases."""
    import numpy as np

    while True:
        base: Any = array.base
        if base is None:
            return array
        if type(base).__name__ == "DummyArray":  # `as_strided` puts one between view and base
            base = base.base
        if not isinstance(base, np.ndarray):
            return array
        array = base


def address_of(array: np.ndarray) -> int:
    """The address of the first element."""
    return int(array.__array_interface__["data"][0])


def is_writeable(array: np.ndarray) -> bool:
    """True if an array may be written to.

    Asked by that name, the flag of what `numpy.broadcast_arrays` gives warns.
    """
    return bool(array.flags.num & _WRITEABLE)


def bounds_of(array: np.ndarray) -> tuple[int, int]:
    """The lowest address of any element, and the one behind the last."""
    import numpy as np

    home: Any = getattr(np.lib, "array_utils", np)  # NumPy 1 has it at the top
    first, end = home.byte_bounds(array)
    return first, end


def start_of(array: np.ndarray) -> int:
    """The lowest address of any element."""
    return address_of(array) if array.flags.c_contiguous else bounds_of(array)[0]


def span_of(array: np.ndarray) -> np.ndarray:
    """All bytes between the ends of `array`, gaps too, as a view; not of arrays of objects."""
    import numpy as np

    if array.flags.c_contiguous:
        return array.reshape(-1).view("u1")
    if array.flags.f_contiguous:
        return array.T.reshape(-1).view("u1")
    first, end = bounds_of(array)
    lowest: tuple[Any, ...] = tuple(-1 if stride < 0 else 0 for stride in array.strides)
    corner = array[(*lowest, ...)].reshape(1).view("u1")
    return np.lib.stride_tricks.as_strided(corner, (end - first,), (1,))
