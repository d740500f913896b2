"""Variables that lie on one memory: what changes one of them in place changes the others.

Memory is told by its addresses, whoever shows it: arrays, buffers, tensors, Arrow's columns,
pointers of `ctypes`; and what maps a file or a shared block, by the file or the block.
"""

from __future__ import annotations

import array
import io
import mmap
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.frames import array_in
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.spans import bounds_of, is_writeable, owner_of
from nbckpt.runtime.user_code_errors import user_code_errors

FEW = 64
"""Elements of a container that is looked into."""


class Region(NamedTuple):
    """Some memory that a variable shows.

    Attributes
    ----------
    place
        Empty for memory of the process; else the file or block that is mapped.
    kind
        ``raw`` if it can be written through the variable, ``read`` if it cannot; ``table`` of
        pandas, whose tables are values; ``fixed`` if nobody of its kind ever writes there.
    """

    place: str
    start: int
    end: int
    kind: str


def on_same_memory(names: Iterable[str], namespace: Mapping[str, object]) -> frozenset[str]:
    """The variables that are views of the memory of any of `names`, or have views there."""
    values = [v for n in names if type(v := namespace.get(n)) not in _ATOMS]
    regions = [region for value in values for region in regions_of(value)]
    if not regions:
        return frozenset()
    places, items = _Places(regions), list(namespace.items())
    return frozenset(n for n, value in items if any(map(places.meets, regions_of(value))))


def also_on(
    name: str, namespace: Mapping[str, object], apart: Iterable[str], *, are_tables_values: bool
) -> str:
    """A variable outside of `apart` through which the memory of `name` is seen; or nothing.

    Parameters
    ----------
    apart
        Variables that are kept together with it: these count where an array is over memory whose
        owner shows no more than the address (``__array_interface__``), as none keeps that.
    are_tables_values
        Whether what pandas shows of memory does not count for arrays that are read-only.
    """
    own = regions_of(namespace[name]) if name in namespace else []
    left_out = {name, *apart}
    if not own:
        return ""
    for other, value in list(namespace.items()):
        if other == name or not is_user_name(other):
            continue
        if other in left_out and not _are_of_strangers(namespace[name], value):
            continue
        for there in regions_of(_other_results(value, left_out, namespace, other)):
            if any(_is_seen(here, there, are_tables_values) for here in own):
                return other
    return ""


def _other_results(
    value: object, names: Iterable[str], namespace: Mapping[str, object], holder: str
) -> object:
    """IPython's results without those that are the objects of some variables themselves.

    These are kept by name, and go with their variable.
    """
    if holder != "Out" or type(value) is not dict:
        return value
    own = [namespace[name] for name in names if name in namespace]
    return {n: v for n, v in value.items() if not any(v is one for one in own)}


def _is_seen(one: Region, other: Region, are_tables_values: bool) -> bool:
    if one.place != other.place or one.start >= other.end or other.start >= one.end:
        return False
    kinds = {one.kind, other.kind}
    if "table" in kinds:
        return "raw" in kinds or (not are_tables_values and "read" in kinds)
    return "raw" in kinds


class _Places:
    """Regions to ask whether others meet any of them."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self.ends: dict[str, list[tuple[int, int]]] = {}
        for region in sorted(regions):
            spans = self.ends.setdefault(region.place, [])
            if spans and region.start <= spans[-1][0]:
                spans[-1] = (max(spans[-1][0], region.end), spans[-1][1])
            else:
                spans.append((region.end, region.start))

    def meets(self, region: Region) -> bool:
        spans = self.ends.get(region.place, [])
        i = bisect_left(spans, (region.start + 1, 0))
        return i < len(spans) and spans[i][1] < region.end


def regions_of(value: object) -> list[Region]:
    """The memory that a variable shows, also by what a small container or object of it holds."""
    try:
        found = list(_regions(value))
        if not found:
            for part in _parts(value):
                found.extend(_regions(part))
    except user_code_errors():  # a shape that the package itself cannot show, a closed file
        return []
    return found


def _parts(value: Any) -> Iterable[object]:
    kind = type(value)
    if kind in {list, tuple} and len(value) <= FEW:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        return list(value.values()) if len(value) <= FEW else ()
    if kind in _ATOMS or issubclass(kind, type):
        return ()
    own = getattr(value, "__dict__", None)
    return list(own.values()) if type(own) is dict and len(own) <= FEW else ()


_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), set, frozenset})


def _regions(value: Any) -> Iterator[Region]:
    kind = type(value)
    if kind in _ATOMS:
        return
    if reader := _reader_of(kind):
        yield from reader(value)


def _reader_of(kind: type) -> Callable[[Any], Iterator[Region]] | None:
    """The reader of regions for values of a type, of a loaded package; None if there is none."""
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
    return None


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


def _are_of_strangers(one: Any, other: Any) -> bool:
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


def _of_pandas(value: Any) -> Iterator[Region]:
    pd = sys.modules["pandas"]
    if isinstance(value, pd.DataFrame | pd.Series):
        blocks = getattr(getattr(value, "_mgr", None), "blocks", ())
        held = [*(block.values for block in blocks), value.index]
    elif isinstance(value, pd.Index):
        held = [array_in(value, "_data")]
    elif isinstance(value, pd.api.extensions.ExtensionArray):
        held = [array_in(value, name) for name in ("_ndarray", "_data", "_mask", "_codes")]
    else:
        return
    for one in held:
        for region in _regions(one):
            yield region._replace(kind="table") if region.kind != "fixed" else region


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
