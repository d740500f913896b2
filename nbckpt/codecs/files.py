"""Closed files: what ``with open(…) as file:`` leaves behind in a notebook.

An open file has a position, a lock and a meaning outside; that is for a recipe. A closed one is
only a name. cloudpickle would write an open text file as a copy of its text in memory.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any

_BUFFERS: dict[str, Callable[[Any], Any]] = {
    "BufferedReader": io.BufferedReader,
    "BufferedWriter": io.BufferedWriter,
    "BufferedRandom": io.BufferedRandom,
}


def _reduce_file(_: object, file: Any) -> Any:
    if file is sys.stdout or file is sys.stderr:
        return NotImplemented
    if not file.closed:
        message = "it is an open file"
        raise TypeError(message)
    is_text = isinstance(file, io.TextIOWrapper)
    buffer = file.buffer if is_text else file
    name = file.name if isinstance(file.name, str | int) else os.fspath(file.name)
    text = (file.encoding, getattr(file, "mode", None)) if is_text else None
    return closed_file, (type(buffer).__name__, name, buffer.raw.mode, text)


def _reduce_in_memory(_: object, file: io.StringIO | io.BytesIO) -> Any:
    return (closed_in_memory, (type(file),)) if file.closed else NotImplemented


def closed_in_memory(kind: type[io.StringIO] | type[io.BytesIO]) -> io.StringIO | io.BytesIO:
    """A file in memory that was closed, and so holds nothing any more."""
    file = kind()
    file.close()
    return file


def closed_file(
    buffer: str, name: str | int, mode: str, text: tuple[str, str | None] | None
) -> Any:
    """A closed file of this name; nothing of that name is opened."""
    raw = io.FileIO(os.devnull, mode.replace("x", "w"))
    raw.name = name
    file = _BUFFERS[buffer](raw)
    if text is not None:
        encoding, text_mode = text
        file = io.TextIOWrapper(file, encoding=encoding)
        if text_mode is not None:
            file.mode = text_mode  # type: ignore[misc]  # `open` sets it too
    file.close()
    return file


REDUCERS: dict[type, Callable[[object, Any], Any]] = {
    io.StringIO: _reduce_in_memory,
    io.BytesIO: _reduce_in_memory,
    io.TextIOWrapper: _reduce_file,
    io.BufferedReader: _reduce_file,
    io.BufferedWriter: _reduce_file,
    io.BufferedRandom: _reduce_file,
}
