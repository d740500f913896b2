"""Arrays and tensors as ``.npy``, and several of them as ``.npz``; never with pickles."""

from __future__ import annotations

import sys
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbckpt.codecs.tensors import is_tensor
from nbckpt.errors import CaptureError, line_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.storage.new_folders import new_file
from nbckpt.text.describe import type_name_of


def write_array(value: Any, path: Path) -> str:
    """Write an array, scalar or tensor as ``.npy``; what a reader would not get back.

    Raises
    ------
    CaptureError
        If ``.npy`` cannot hold it.
    StoreError
        If the disk refuses.
    """
    import numpy as np

    array, note = _array_of(value)
    with new_file(path) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    return note


def write_arrays(arrays: Mapping[str, Any], path: Path, note: str) -> str:
    """Write arrays and tensors as ``.npz``, each under its name; `note`, and those of each.

    Raises
    ------
    CaptureError
        If ``.npz`` cannot hold one of them.
    StoreError
        If the disk refuses.
    """
    import numpy as np

    notes = [note] * bool(note)
    with new_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, value in arrays.items():
            array, own = _array_of(value)
            notes += [f"{name}: {own}"] * bool(own)
            with _member(archive, name) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return "; ".join(notes)


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    info = zipfile.ZipInfo(f"{name}.npy")  # which cuts names at a NUL
    is_known = info.filename == f"{name}.npy" and not name.endswith(".npy")
    if not is_known or not _is_utf8(name):
        message = f".npz has no name {name!r}"
        raise CaptureError(message)
    return archive.open(info, "w", force_zip64=True)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def named_arrays(value: object) -> tuple[dict[str, Any], str] | None:
    """The arrays that make up a value, and a note on what it is; None if it has none.

    These are dicts of arrays (the state of a model), masked arrays and sparse matrices.
    """
    if isinstance(value, dict) and type(value) in (dict, OrderedDict):
        arrays = dict(dict.items(value))
        if arrays and all(type(key) is str and is_array(one) for key, one in arrays.items()):
            return arrays, _said_of(value)
        return None
    numpy, sparse = sys.modules.get("numpy"), sys.modules.get("scipy.sparse")
    if numpy is not None and isinstance(value, numpy.ma.MaskedArray):
        parts = {"data": value.data, "mask": numpy.ma.getmaskarray(value)}
        return {**parts, "fill_value": numpy.asarray(value.fill_value)}, "it is a masked array"
    if sparse is not None and sparse.issparse(value):
        return _parts_of_sparse(value)
    return None


def _said_of(value: object) -> str:
    return "" if type(value) is dict else f"it is a {type_name_of(value)}"


def _parts_of_sparse(matrix: Any) -> tuple[dict[str, Any], str]:
    """The parts of a sparse matrix, under the names by which `scipy.sparse.load_npz` knows them."""
    import numpy as np

    note = ""
    if matrix.format not in ("csr", "csc", "bsr", "dia", "coo"):
        note = f"it is a {type_name_of(matrix)}, and a reader gets coo"
        matrix = matrix.tocoo()
    coo = ("row", "col") if matrix.ndim == 2 else ("coords",)
    members = {"dia": ("offsets",), "coo": coo}.get(matrix.format, ("indices", "indptr"))
    parts = {name: np.asarray(getattr(matrix, name)) for name in members}
    parts |= {"format": np.array(matrix.format.encode()), "shape": np.array(matrix.shape)}
    if type(matrix).__name__.endswith("_array"):
        parts["_is_array"] = np.array(True)
    return {**parts, "data": matrix.data}, note


def is_array(value: object) -> bool:
    """True if a value is an array of NumPy or a tensor of torch, whatever it holds."""
    numpy = sys.modules.get("numpy")
    return (numpy is not None and isinstance(value, numpy.ndarray)) or is_tensor(value)


def is_of_objects(value: Any) -> bool:
    """True if an array of NumPy holds objects of Python, or texts of any length."""
    import numpy as np

    return type(value) is np.ndarray and value.dtype.kind in "OT"


def _array_of(value: Any) -> tuple[Any, str]:
    """A value as an array that ``.npy`` holds, and what a reader would not get back of it."""
    if is_tensor(value):
        try:
            value, note = _array_of_tensor(value)
        except user_code_errors() as error:  # whatever a tensor of a library's own raises
            message = f".npy holds no such tensor: {line_of(error)}"
            raise CaptureError(message) from error
        return value, note
    return _array_of_numpy(value)


def _array_of_numpy(value: Any) -> tuple[Any, str]:
    import numpy as np

    if isinstance(value, np.ma.MaskedArray) or type(value).__module__.split(".")[0] != "numpy":
        message = f".npy would hold the numbers of a {type_name_of(value)}, and not all of it"
        raise CaptureError(message)
    array = np.asarray(value)
    if not _is_held(array.dtype):
        message = f".npy holds no values of type {array.dtype} without pickles"
        raise CaptureError(message)
    is_plain = type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic)
    return array, "" if is_plain else f"it is a {type_name_of(value)}"


def _is_held(dtype: Any) -> bool:
    """True if the header of a file says this type, and a reader gets it back."""
    from numpy.lib import format as npy

    try:
        back = npy.descr_to_dtype(npy.dtype_to_descr(dtype))
    except (TypeError, ValueError):  # fields that overlap
        return False
    return bool(back == dtype and not dtype.hasobject)


def _array_of_tensor(value: Any) -> tuple[Any, str]:
    """A tensor as an array; of types that NumPy lacks, the wider one that holds each value."""
    import torch

    tensor = value.detach().cpu().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    wider = {"bfloat16": torch.float32, "complex32": torch.complex64}.get(name)
    if wider is None and name.startswith("float8"):
        wider = torch.float32
    if wider is None:
        return tensor.numpy(), ""
    return tensor.to(wider).numpy(), f"NumPy has no {name}: its values are {wider} there"
