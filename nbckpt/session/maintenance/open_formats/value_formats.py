"""Values ↔ open formats: which formats can hold a value, and how it is written in each."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.errors import CaptureError, line_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.maintenance.open_formats import (
    array_formats,
    json_values,
    plain_tables,
    table_formats,
)
from nbckpt.storage.new_folders import new_file
from nbckpt.types.registry import adapter_for


class Format(NamedTuple):
    """An open format that may hold a value.

    Attributes
    ----------
    write
        Writes the value to a path, and returns what a reader would not get back, if anything.
        Raises `CaptureError` where the format cannot hold it, `StoreError` if the disk refuses.
    """

    name: str
    suffix: str
    write: Callable[[Path], str]


def formats_of(value: object) -> tuple[Format, ...]:
    """The formats to try for a value, the best first; none where no open format fits its type.

    No package is imported to ask: a value of a package that nobody imported does not exist.
    """
    if (table := table_formats.table_of(value)) is not None:
        parquet = partial(table_formats.write_parquet_of, table)
        arrow = partial(table_formats.write_arrow_of, table)
        as_text = partial(plain_tables.write_plain_parquet_of, table)
        return (
            Format("Parquet", ".parquet", parquet),
            Format("Arrow IPC", ".arrow", arrow),
            Format("Parquet", ".parquet", as_text),
        )
    if (adapter := adapter_for(type(value))) and adapter.export:
        return _formats_of_export(*adapter.export(value))
    if (named := array_formats.named_arrays(value)) is not None:
        arrays, note = named
        write = partial(array_formats.write_arrays, arrays, note=note)
        return (Format("NumPy", ".npz", write), *_formats_of_data(value))
    return _formats_of_data(value) or _formats_of_pictures(value)


def _formats_of_export(value: object, note: str) -> tuple[Format, ...]:
    """The formats for what stands for a value, each with a note that says so."""

    def noting(write: Callable[[Path], str], path: Path) -> str:
        return "; ".join(text for text in (note, write(path)) if text)

    return tuple(
        Format(one.name, one.suffix, partial(noting, one.write)) for one in formats_of(value)
    )


def _formats_of_data(value: object) -> tuple[Format, ...]:
    as_json = Format("JSON", ".json", partial(_write_json, value))
    if _is_a(value, "numpy", "ndarray", "generic"):
        as_array = Format("NumPy", ".npy", partial(array_formats.write_array, value))
        is_of_objects = array_formats.is_of_objects(value)
        return (as_array, as_json) if is_of_objects else (as_array,)
    if array_formats.is_array(value):
        return (Format("NumPy", ".npy", partial(array_formats.write_array, value)),)
    if type(value) in (bytes, bytearray):
        return (Format("bytes", ".bin", partial(_write_bytes, value)),)
    if type(value) is str:  # as JSON what UTF-8 cannot say
        return Format("text", ".txt", partial(_write_text, value)), as_json
    return (as_json,) if json_values.is_plain(value) else ()


def _formats_of_pictures(value: object) -> tuple[Format, ...]:
    if _is_a(value, "matplotlib.figure", "Figure"):
        return (Format("PNG", ".png", partial(_write_figure, value, "a picture of it")),)
    if _is_a(value, "matplotlib.axes", "Axes"):
        # `get_figure(root=True)` came with Matplotlib 3.10; of a part of a figure this is its root.
        figure, note = value.figure.figure, "a picture of its figure"  # type: ignore[attr-defined]
        return (Format("PNG", ".png", partial(_write_figure, figure, note)),)
    if _is_a(value, "PIL.Image", "Image"):
        pixels = Format("NumPy", ".npy", partial(_write_pixels, value))
        return Format("PNG", ".png", partial(_write_picture, value)), pixels
    return ()


def put(path: Path, data: bytes) -> None:
    """Write a file that others may read, whole or not at all.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    with new_file(path) as file:
        file.write(data)


def _is_a(value: object, module: str, *names: str) -> bool:
    kinds = (getattr(sys.modules.get(module), name, None) for name in names)
    return any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)


def _write_text(value: Any, path: Path) -> str:
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        message = f"UTF-8 cannot hold it: {error}"
        raise CaptureError(message) from error
    put(path, data)
    return ""


def _write_bytes(value: Any, path: Path) -> str:
    put(path, value)
    return "it is a bytearray" if type(value) is bytearray else ""


def _write_json(value: object, path: Path) -> str:
    data, changes = json_values.encoded(value)
    put(path, data)
    return f"JSON changes it: {changes}" if changes else ""


# -- pictures


def _write_figure(value: Any, note: str, path: Path) -> str:
    picture = io.BytesIO()
    try:
        value.savefig(picture, format="png")
    except user_code_errors() as error:  # code of the artists in it
        message = f"it cannot be drawn: {line_of(error)}"
        raise CaptureError(message) from error
    put(path, picture.getvalue())
    return note


def _write_picture(value: Any, path: Path) -> str:
    if value.mode == "I":  # which Pillow before 13 cut to fit
        message = "PNG has 16 bits for what it has 32 for"
        raise CaptureError(message)
    picture = io.BytesIO()
    try:
        value.save(picture, format="PNG")
    except user_code_errors() as error:  # a mode that PNG lacks, or a file that went
        message = f"PNG cannot hold it: {line_of(error)}"
        raise CaptureError(message) from error
    put(path, picture.getvalue())
    frames = getattr(value, "n_frames", 1)
    return f"the frame that it shows, of {frames:,}" if frames > 1 else ""


def _write_pixels(value: Any, path: Path) -> str:
    """Write the pixels of a picture that PNG cannot hold."""
    import numpy as np

    try:
        pixels = np.asarray(value)
    except user_code_errors() as error:  # a file that went
        message = f"its pixels cannot be read: {line_of(error)}"
        raise CaptureError(message) from error
    array_formats.write_array(pixels, path)
    return f"the pixels of a picture of mode {value.mode}"
