"""Where the values of variables lie in memory, as far as others can show it, too."""

from __future__ import annotations

import array
import gc
import io
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.frames import array_in
from nbckpt.fingerprint.values.homes import is_users_module, module_of_class
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import dict_of
from nbckpt.fingerprint.values.spans import bounds_of, is_writeable, owner_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.types.registry import adapter_for

FEW = 64
"""Elements of a container, or members of an object, that are looked into."""


class Region(NamedTuple):
    """Some memory that a variable shows.

    Attributes
    ----------
    place
        Empty for memory of the process; else the file or block that is mapped.
    kind
        ``raw`` if it can be written through the variable, ``read`` if it cannot; ``table`` of
        pandas, whose tables are values; ``fixed`` if nobody of its kind ever writes there;
        ``closed`` if nobody can do so by way of it, either; ``anywhere`` of a variable that cannot
        tell where its memory is.
    """

    place: str
    start: int
    end: int
    kind: str


ANYWHERE = Region("?", 0, 0, "anywhere")


def regions_of(value: object, *, also_in_c: bool = False) -> list[Region]:
    """The memory that a variable shows, also by what a small container or object of it holds.

    What is deeper inside is tied to the variable by the codecs.

    Parameters
    ----------
    also_in_c
        Whether what a library's object written in C holds counts: none of that is tied to it when
        it comes back.
    """
    try:
        found = list(_regions(value))
        if not found:
            for part in _parts(value, also_in_c=also_in_c):
                found.extend(_regions(part))
    except user_code_errors():  # a shape that the package itself cannot show, a closed file
        return []
    return found


def shows_memory(kind: type) -> bool:
    """True if values of a type can tell where their memory is."""
    return _reader_of(kind) is not None


def _regions(value: Any) -> Iterator[Region]:
    if reader := _reader_of(type(value)):
        yield from reader(value)


def _parts(value: Any, *, also_in_c: bool) -> Iterable[object]:
    kind = type(value)
    if kind in {list, tuple} and len(value) <= FEW:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        return list(value.values()) if len(value) <= FEW else ()
    if kind in _WITHOUT or issubclass(kind, type):
        return ()
    own = dict_of(value)
    if own is not None:
        return list(own.values()) if len(own) <= FEW else ()
    if also_in_c and not is_users_module(module_of_class(kind)):
        held = gc.get_referents(value)
        return held if len(held) <= FEW else ()
    return ()


_WITHOUT = ATOMS | {list, set, frozenset, FunctionType, ModuleType}
"""Types whose values have no memory to show, or more parts than are looked into."""


def _reader_of(kind: type) -> Callable[[Any], Iterator[Region]] | None:
    """The reader of regions for values of a type, of a loaded package; None if there is none."""
    if kind in ATOMS:
        return None
    if kind in _READERS:
        return _READERS[kind]
    package = module_of_class(kind).partition(".")[0]
    np = sys.modules.get("numpy")
    if np is not None and issubclass(kind, np.ndarray):
        return _of_array
    if package == "pandas":
        return _of_pandas
    if package == "pyarrow":
        return _of_arrow
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Tensor):
        return _of_tensor
    ctypes = sys.modules.get("_ctypes")
    if ctypes is not None and issubclass(kind, ctypes._SimpleCData.__mro__[1]):  # noqa: SLF001
        return _of_ctypes
    if kind.__name__ == "SharedMemory" and package == "multiprocessing":
        return _of_block
    adapter = adapter_for(kind)
    return partial(_told, adapter.memory) if adapter and adapter.memory else None


def _told(
    places_of: Callable[[Any], Iterable[tuple[int, int]] | None], value: Any
) -> Iterator[Region]:
    places = places_of(value)
    if places is None:
        yield ANYWHERE
    else:
        yield from (Region("", start, start + size, "closed") for start, size in places if size)


def _of_array(value: Any) -> Iterator[Region]:
    import numpy as np

    if value.size == 0:
        return
    owner = owner_of(value)
    base = _base(owner)
    kind = "raw" if is_writeable(value) else "read"
    start, end = bounds_of(owner)
    yield Region("", int(start), int(end), kind)
    if type(owner) is np.memmap and owner.filename is not None and owner.mode != "c":
        yield Region(f"file {owner.filename}", 0, 1 << 62, kind)
    elif isinstance(base, mmap.mmap):
        yield from _of_map(base)


def _base(value: Any) -> Any:
    base = value.base
    # `as_strided` puts one between view and base
    return base.base if type(base).__name__ == "DummyArray" else base


def are_of_strangers(one: Any, other: Any) -> bool:
    """True if an array is over memory of an object of an unknown kind, and not by way of `other`.

    What shows memory under its address alone, and no owner, may show that of anything.
    """
    np = sys.modules.get("numpy")
    if np is None or not all(issubclass(type(value), np.ndarray) for value in (one, other)):
        return False
    roots = [owner_of(value) for value in (one, other)]
    return roots[0] is not roots[1] and any(map(_is_of_stranger, roots))


def _is_of_stranger(root: Any) -> bool:
    owner = _base(root)
    return owner is not None and type(owner) is not bytes and _reader_of(type(owner)) is None


def _of_view(value: memoryview) -> Iterator[Region]:
    from nbckpt.fingerprint.values.views import address_of, is_released

    if is_released(value) or value.nbytes == 0:
        return
    with memoryview(value.obj) as whole:
        start = address_of(whole)
        kind = "read" if value.readonly else "raw"
        yield Region("", start, start + whole.nbytes, kind)


def _of_buffer(value: Any) -> Iterator[Region]:
    with memoryview(value) as view:
        yield from _of_view(view)


def _of_stream(value: io.BytesIO) -> Iterator[Region]:
    try:
        value.write(b"")
    except BufferError:  # somebody has a view of its memory
        with value.getbuffer() as view:
            yield from _of_view(view)


def _of_map(value: mmap.mmap) -> Iterator[Region]:
    yield Region(f"map {value.size()}", 0, 1 << 62, "raw")
    yield from _of_buffer(value)


_IN_ARRAYS = ("_ndarray", "_data", "_mask", "_codes", "_pa_array")
"""Where arrays of pandas have their memory."""


def _of_pandas(value: Any) -> Iterator[Region]:
    pd = sys.modules["pandas"]
    if isinstance(value, pd.DataFrame | pd.Series):
        blocks = getattr(getattr(value, "_mgr", None), "blocks", ())
        held = [*(block.values for block in blocks), value.index]
    elif isinstance(value, pd.Index):
        held = [array_in(value, "_data")]
    elif isinstance(value, pd.api.extensions.ExtensionArray):
        held = [
            array_in(value, name) for name in ("_ndarray", "_data", "_mask", "_codes", "_pa_array")
        ]
    else:
        return
    for one in held:
        for region in _regions(one):
            yield region._replace(kind="closed" if region.kind == "fixed" else "table")


def _of_arrow(value: Any) -> Iterator[Region]:
    columns = getattr(value, "columns", None)
    arrays = columns if isinstance(columns, list) else [value]
    for column in arrays:
        for chunk in getattr(column, "chunks", [column]):
            if type(chunk).__name__ == "Buffer":
                buffers = [chunk]
            else:
                buffers = chunk.buffers() if hasattr(chunk, "buffers") else []
            for one in buffers:
                if one is not None and one.size:
                    yield Region("", one.address, one.address + one.size, "fixed")


def _of_tensor(value: Any) -> Iterator[Region]:
    if value.layout is not sys.modules["torch"].strided or value.device.type != "cpu":
        return
    storage = value.untyped_storage()
    if storage.nbytes():
        start = storage.data_ptr()
        yield Region("", start, start + storage.nbytes(), "raw")


def _of_ctypes(value: Any) -> Iterator[Region]:
    import ctypes

    yield Region("", ctypes.addressof(value), ctypes.addressof(value) + ctypes.sizeof(value), "raw")
    if hasattr(value, "contents") and value:
        start = ctypes.addressof(value.contents)
        yield Region("", start, start + ctypes.sizeof(value.contents), "raw")


def _of_block(value: Any) -> Iterator[Region]:
    yield Region(f"block {value.name}", 0, 1 << 62, "raw")
    yield from _of_buffer(value.buf)


_READERS: dict[type, Callable[[Any], Iterator[Region]]] = {
    bytearray: _of_buffer,
    array.array: _of_buffer,
    memoryview: _of_view,
    io.BytesIO: _of_stream,
    mmap.mmap: _of_map,
}
