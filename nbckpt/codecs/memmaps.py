"""Arrays on a file: opened again where the file still holds what it held.

A read-only one is kept as a reference and the digest of what it shows. One that can be written to
is kept with its content, because the next cell may change the file; going back never writes to
the file, so if it holds something else by then, the values come back in memory alone.
"""

from __future__ import annotations

import math
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from nbckpt.codecs.loading import note
from nbckpt.errors import RestoreError
from nbckpt.fingerprint.values.spans import owner_of, span_of

if TYPE_CHECKING:
    import numpy as np

WHOLE_BYTES = 1 << 28
"""Up to this size the bytes count that are seen; of more, the file's size and time of change."""


def is_on_file(array: Any) -> bool:
    """True if `array` is a live map of a file that is there, by more than a private copy."""
    import numpy as np

    if not isinstance(array, np.memmap) or array.filename is None or array.mode == "c":
        return False
    return getattr(array, "_mmap", None) is not None and Path(array.filename).exists()


def reduce_owner(array: Any) -> Any:
    """A map of a file by its name and what it shows."""
    order = "C" if array.flags.c_contiguous else "F"
    about = (array.mode, array.dtype, array.offset, array.shape, order)
    path = os.fspath(array.filename)
    is_path = isinstance(array.filename, Path)
    if array.mode == "r":
        return map_of, (path, is_path, *about, _digest_of(array), None)
    data = pickle.PickleBuffer(span_of(array))  # type: ignore[arg-type]  # it is a buffer
    return map_of, (path, is_path, *about, "", data)


def _digest_of(array: Any) -> str:
    if array.nbytes > WHOLE_BYTES:
        about = Path(array.filename).stat()
        return f"{about.st_size} {about.st_mtime_ns}"
    return blake3(_bytes_of(array)).hexdigest()


def _bytes_of(array: Any) -> memoryview:
    span: Any = span_of(array)
    return memoryview(span)


def map_of(
    path: str,
    is_path: bool,
    mode: Any,
    dtype: np.dtype,
    offset: int,
    shape: tuple[int, ...],
    order: Any,
    digest: str,
    data: Any,
) -> Any:
    """The map of the file again; its content in memory if the file holds another by now.

    Raises
    ------
    RestoreError
        If the content was not kept and the file has changed or is gone.
    """
    import numpy as np

    name = Path(path) if is_path else path
    try:
        _hold_whole(path, offset + dtype.itemsize * math.prod(shape))
        array: Any = np.memmap(name, dtype, "r" if mode == "r" else "r+", offset, shape, order)
    except (OSError, ValueError) as error:
        if data is None:
            message = f"its file {path} cannot be read as it was ({error})"
            raise RestoreError(message) from error
        return _in_memory(name, mode, dtype, offset, shape, order, data)
    array.mode = mode
    if data is None:
        if _digest_of(array) != digest:
            message = f"its file {path} has changed since"
            raise RestoreError(message)
        return array
    if _bytes_of(array) != memoryview(data).cast("B"):
        return _in_memory(name, mode, dtype, offset, shape, order, data)
    return array


def _hold_whole(path: str, n_bytes: int) -> None:
    # numpy would make a file that is shorter as long as it was.
    if Path(path).stat().st_size < n_bytes:
        message = "it is shorter now"
        raise ValueError(message)


def _in_memory(
    name: Any, mode: Any, dtype: Any, offset: int, shape: Any, order: Any, data: Any
) -> Any:
    import numpy as np

    note(f"is in memory, not on its file {name}, which holds something else now")
    array: Any = np.ndarray(shape, dtype, buffer=data, order=order).copy(order).view(np.memmap)
    array.filename, array.mode, array.offset = name, mode, offset
    return array


def reduce_view(array: np.memmap, plain: np.ndarray) -> Any:
    """A part of a map of a file."""
    return part_of, (owner_of(array), plain)


def part_of(owner: np.memmap, plain: np.ndarray) -> np.memmap:
    """`plain`, which lies on `owner`, as a map of the same file."""
    import numpy as np

    part = np.ndarray.view(plain, np.memmap)
    for name in ("_mmap", "filename", "mode", "offset"):
        setattr(part, name, getattr(owner, name))
    return part
