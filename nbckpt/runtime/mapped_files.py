"""Memory that is a file's: whether the file is still as long as what is mapped of it.

To read behind its end does not raise: the system ends the process with a signal (SIGBUS).
"""

from __future__ import annotations

import mmap
import sys
from typing import Any


class ShortenedError(TypeError):
    """Memory is mapped from a file that has become shorter."""


def is_there(value: Any) -> bool:
    """True if all of an array can be read."""
    try:
        require_there(value)
    except ShortenedError:
        return False
    return True


def require_there(value: Any) -> None:
    """Raise unless all of an array, or of a view of memory, can be read.

    Raises
    ------
    ShortenedError
        If its file was shortened.
    """
    owner: Any = value.obj if type(value) is memoryview else value
    numpy: Any = sys.modules.get("numpy")
    array = getattr(numpy, "ndarray", ())
    while isinstance(owner, array) or type(owner).__name__ == "DummyArray":
        owner = owner.base
    if type(owner) is memoryview:
        owner = owner.obj
    if type(owner) is not mmap.mmap:
        return
    try:
        is_shortened = owner.size() < len(owner)
    except (ValueError, OSError):  # closed, or of no file
        return
    if is_shortened:
        message = "its file was shortened, and its end is not there: read it again"
        raise ShortenedError(message)
