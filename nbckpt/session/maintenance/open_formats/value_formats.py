"""Values ↔ open formats: which formats can hold a value, and how it is written in each."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.errors import CaptureError, line_of
from nbckpt.session.maintenance.open_formats import json_values, table_formats
from nbckpt.storage.disk import OTHERS_TOO, create_beside, refused
from nbckpt.text.describe import type_name_of


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
        return Format("Parquet", ".parquet", parquet), Format("Arrow IPC", ".arrow", arrow)
    if _is_a(value, "numpy", "ndarray", "generic"):
        return (Format("NumPy", ".npy", partial(_write_array, value)),)
    if _is_a(value, "torch", "Tensor"):
        return (Format("NumPy", ".npy", partial(_write_tensor, value)),)
    if _is_a(value, "matplotlib.figure", "Figure"):
        return (Format("PNG", ".png", partial(_write_figure, value)),)
    if _is_a(value, "PIL.Image", "Image"):
        return (Format("PNG", ".png", partial(_write_picture, value)),)
    if type(value) in (bytes, bytearray):
        return (Format("bytes", ".bin", partial(_write_bytes, value)),)
    if json_values.is_plain(value):
        as_json = Format("JSON", ".json", partial(_write_json, value))
        if type(value) is str:  # as JSON what UTF-8 cannot say
            return Format("text", ".txt", partial(_write_text, value)), as_json
        return (as_json,)
    return ()


def put(path: Path, data: bytes) -> None:
    """Write a file that others may read, whole or not at all.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    with refused(path), create_beside(path, mode=OTHERS_TOO) as file:
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
    return ""


def _write_json(value: object, path: Path) -> str:
    data, types = json_values.encoded(value)
    put(path, data)
    return f"JSON does not tell of the types {', '.join(types)}" if types else ""


# -- arrays


def _write_array(value: Any, path: Path) -> str:
    """Write an array or scalar of NumPy; the type of array that it was, if that is lost."""
    import numpy as np

    if isinstance(value, np.ma.MaskedArray) or type(value).__module__.split(".")[0] != "numpy":
        message = f".npy would hold the numbers of a {type_name_of(value)}, and not all of it"
        raise CaptureError(message)
    array = np.asarray(value)
    if not _is_held(array.dtype):
        message = f".npy holds no values of type {array.dtype} without pickles"
        raise CaptureError(message)
    with refused(path), create_beside(path, mode=OTHERS_TOO) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    is_plain = type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic)
    return "" if is_plain else f"it is a {type_name_of(value)}, and .npy gives back an array"


def _is_held(dtype: Any) -> bool:
    """True if the header of a file says this type, and a reader gets it back."""
    from numpy.lib import format as npy

    try:
        back = npy.descr_to_dtype(npy.dtype_to_descr(dtype))
    except (TypeError, ValueError):  # fields that overlap
        return False
    return bool(back == dtype and not dtype.hasobject)


def _write_tensor(value: Any, path: Path) -> str:
    """Write a tensor; of types that NumPy lacks, the wider one that holds each of its values."""
    try:
        array, note = _array_of(value)
    except Exception as error:  # whatever a tensor of a library's own raises
        message = f".npy holds no such tensor: {line_of(error)}"
        raise CaptureError(message) from error
    return _write_array(array, path) or note


def _array_of(value: Any) -> tuple[Any, str]:
    import torch

    tensor = value.detach().cpu().resolve_conj().resolve_neg()
    wider = {"bfloat16": torch.float32, "complex32": torch.complex64}.get(_dtype_name(tensor))
    if wider is None and _dtype_name(tensor).startswith("float8"):
        wider = torch.float32
    if wider is None:
        return tensor.numpy(), ""
    name = _dtype_name(tensor)
    return tensor.to(wider).numpy(), f"NumPy has no {name}: its values are {wider} there"


def _dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# -- pictures


def _write_figure(value: Any, path: Path) -> str:
    picture = io.BytesIO()
    try:
        value.savefig(picture, format="png")
    except Exception as error:  # code of the artists in it
        message = f"it cannot be drawn: {line_of(error)}"
        raise CaptureError(message) from error
    put(path, picture.getvalue())
    return "a picture of it"


def _write_picture(value: Any, path: Path) -> str:
    picture = io.BytesIO()
    try:
        value.save(picture, format="PNG")
    except Exception as error:  # a mode that PNG lacks, or a file that went
        message = f"PNG cannot hold it: {line_of(error)}"
        raise CaptureError(message) from error
    put(path, picture.getvalue())
    frames = getattr(value, "n_frames", 1)
    return f"the frame that it shows, of {frames:,}" if frames > 1 else ""
