"""Arrays, tables and their columns, as parts that a walk can digest.

A value of a package that nobody imported cannot exist, so the packages are looked for in
`sys.modules` and never imported to ask.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any, TypeAlias

from nbckpt.fingerprint.values.columns import (
    digest_of_array,
    digest_of_tensor,
    digests_of_columns,
    lies_in_rows,
)
from nbckpt.fingerprint.values.spans import bounds_of, owner_of
from nbckpt.types.pyarrow import digest_of_arrow

WIDE = 64

_OF_PANDAS = frozenset(
    {
        "_mgr",
        "_item_cache",
        "_attrs",
        "_flags",
        "_name",
        "_is_copy",
        "_cache",
        "_typ",
        "_cacher",
        "_accessors",
        "_metadata",  # set by pandas 2 where an object is unpickled
    }
)
"""Members that pandas itself keeps in the instances of tables."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A part whose arrays share memory with nothing outside it that counts."""

    value: object


@dataclass(frozen=True, slots=True)
class Memory:
    """Where the elements of an array or tensor lie.

    `owner` is one for all views of the same memory: where it begins.
    """

    owner: int
    offset: int
    strides: str


Parts: TypeAlias = Callable[[Any], Sequence[object]]


def parts_for(kind: type) -> Parts | None:
    """Function that takes a value of this type apart; None if it is of no package known here."""
    for package, lookup in _LOOKUPS.items():
        if (module := sys.modules.get(package)) and (parts := lookup(module, kind)):
            return parts
    return None


def memory_of(value: Any) -> Memory | None:
    """The memory in which a numpy array or torch tensor lies; None for anything else."""
    np, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if np and isinstance(value, np.ndarray) and value.dtype.kind != "T":
        address = value.__array_interface__["data"][0]
        return Memory(_start_of(owner_of(value)), address, str(value.strides))
    if np and isinstance(value, np.void) and isinstance(value.base, np.ndarray):
        address = value.__array_interface__["data"][0]
        return Memory(_start_of(owner_of(value.base)), address, "an element")
    if torch and isinstance(value, torch.Tensor) and value.layout is torch.strided:
        storage = value.untyped_storage()
        return Memory(storage.data_ptr(), value.data_ptr(), str(value.stride()))
    return None


def _start_of(owner: Any) -> int:
    """Where the memory of an array that is no view begins; a tensor may have the same memory."""
    if type(owner.base).__name__ == "Tensor":
        return int(owner.base.untyped_storage().data_ptr())
    import numpy as np

    base = owner.base.obj if isinstance(owner.base, memoryview) else owner.base
    if isinstance(base, bytearray | array.array):
        owner = np.frombuffer(base, "u1")
    return int(bounds_of(owner)[0])


def _numpy(np: Any, kind: type) -> Parts | None:
    if kind is np.ndarray or kind is np.memmap:
        return _array
    if kind is np.ma.MaskedArray:
        return _masked_array
    if kind is np.flatiter:
        return _flat
    return parts_of_scalar if issubclass(kind, np.generic) else None


def _matplotlib(_: Any, kind: type) -> Parts | None:
    is_path = kind is getattr(sys.modules.get("matplotlib.path"), "Path", None)
    return _path if is_path else None


def _pandas(pd: Any, kind: type) -> Parts | None:
    if issubclass(kind, pd.DataFrame):
        return _frame
    if issubclass(kind, pd.Series):
        return _series
    if issubclass(kind, pd.arrays.ArrowExtensionArray):
        return _arrow_backed
    if issubclass(kind, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        return _masked
    if issubclass(kind, pd.arrays.IntervalArray):
        return _intervals
    if issubclass(kind, pd.IntervalIndex):
        return _interval_index
    return None


def _torch(torch: Any, kind: type) -> Parts | None:
    if kind is torch.UntypedStorage:
        return _storage
    return _tensor if issubclass(kind, torch.Tensor) else None


_LOOKUPS: dict[str, Callable[[Any, type], Parts | None]] = {
    "matplotlib": _matplotlib,
    "numpy": _numpy,
    "pandas": _pandas,
    "torch": _torch,
}


def _path(path: Any) -> list[object]:
    """Of a path of matplotlib: a value, whose arrays its library takes out of larger ones."""
    return [Alone(dict(vars(path)))]


def _array(array: Any) -> list[object]:
    if array.dtype.hasobject and array.dtype.kind != "T":
        return [repr(array.dtype), array.shape, _order(array), array.reshape(-1).tolist()]
    return [digest_of_array(array), _order(array)]


def _flat(flat: Any) -> list[object]:
    return [flat.base, flat.index]


def _order(array: Any) -> str:
    """``F`` of an array that lies in columns alone; which its copy does, too."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else ""


def _masked_array(array: Any) -> list[object]:
    return [Alone(array.data), Alone(array.mask), array.fill_value]


def parts_of_scalar(scalar: Any) -> list[object]:
    """The dtype and value of a numpy scalar, which is immutable."""
    if scalar.dtype.hasobject:
        return [str(scalar.dtype), scalar.item()]
    return [str(scalar.dtype), digest_of_array(scalar.reshape(1))]


def _frame(frame: Any) -> list[object]:
    columns = list(_frame_columns(frame))
    return [*_labels(frame), Alone(frame.columns), frame.shape, *columns]


def _series(series: Any) -> list[object]:
    return [*_labels(series), *_column(series)]


def _labels(table: Any) -> list[object]:
    # `_metadata` is how pandas asks subclasses to list their own attributes.
    own = {name: getattr(table, name, None) for name in table._metadata}  # noqa: SLF001
    flags = table.flags.allows_duplicate_labels
    return [Alone(table.index), dict(table.attrs), flags, own, given_members(table)]


def given_members(table: Any) -> dict[str, object]:
    """The attributes that somebody has set on a frame or series.

    Formula libraries leave how they made a table there: `patsy.build_design_matrices` needs it.
    """
    known = {*_OF_PANDAS, *table._metadata}  # noqa: SLF001  # no public twin
    members = {name: value for name, value in vars(table).items() if name not in known}
    return {n: value for n, value in members.items() if not _is_accessor(table, n, value)}


def _is_accessor(table: Any, name: str, value: object) -> bool:
    """True of what pandas 2 notes where `frame.plot` or `series.str` was asked for."""
    is_offered = hasattr(getattr_static(type(table), name, None), "_accessor")
    return is_offered and str(type(value).__module__).startswith("pandas.")


def _frame_columns(frame: Any) -> Iterator[object]:
    """The columns' values; which of them lie in one block of memory does not count."""
    import numpy as np

    kinds = set(frame.dtypes)
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if frame.shape[1] > WIDE and isinstance(kind, np.dtype) and not kind.hasobject:
        values = frame.to_numpy()
        is_own = np.may_share_memory(values, frame.iloc[:, 0].to_numpy())
        yield digest_of_array(values.T, lasts=is_own)
        return
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    in_rows = _digests_by_block(columns)
    for i, column in enumerate(columns):
        if i in in_rows:
            yield in_rows[i]
        else:
            yield from _column(column)


def _digests_by_block(columns: list[Any]) -> dict[int, object]:
    """The digests of the columns that lie between each other in memory, read together."""
    import numpy as np

    blocks: dict[Any, dict[int, Any]] = {}
    for i, column in enumerate(columns):
        if isinstance(column.dtype, np.dtype) and lies_in_rows(values := column.to_numpy()):
            key = id(owner_of(values)), values.dtype, values.strides
            blocks.setdefault(key, {})[i] = values
    digests: dict[int, object] = {}
    for block in blocks.values():
        digests.update(zip(block, digests_of_columns(list(block.values())), strict=True))
    return digests


def _column(series: Any) -> list[object]:
    import numpy as np

    if not isinstance(series.dtype, np.dtype):
        return [Alone(series.array)]
    values = series.to_numpy()
    if series.dtype == object:
        return ["object", values.tolist()]
    return [digest_of_array(values)]


def _arrow_backed(array: Any) -> list[object]:
    return [repr(array.dtype), digest_of_arrow(array.__arrow_array__())]


def _masked(array: Any) -> list[object]:
    numbers = array.to_numpy(dtype=array.dtype.numpy_dtype, na_value=0)
    missing = digest_of_array(array.isna(), lasts=False)
    return [repr(array.dtype), missing, digest_of_array(numbers, lasts=False)]


def _intervals(array: Any) -> list[object]:
    # Its ends are often two views of one array of breaks, which a copy has no need to be.
    return [repr(array.dtype), Alone(array.left), Alone(array.right)]


def _interval_index(index: Any) -> list[object]:
    return [list(index.names), Alone(index.array)]


def _tensor(tensor: Any) -> list[object]:
    about = [str(tensor.device), str(tensor.dtype), tuple(tensor.shape), tensor.requires_grad]
    gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    return [*about, digest_of_tensor(tensor), gradient if gradient is None else _tensor(gradient)]


def _storage(storage: Any) -> list[object]:
    torch = sys.modules["torch"]
    whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return [str(storage.device), digest_of_tensor(whole)]


def array_in(owner: Any, name: str) -> Any:
    """A member of an index or array of pandas; None if it has none, or only a warning."""
    if isinstance(getattr(type(owner), name, None), property) and hasattr(owner, "_pa_array"):
        return None  # pandas 2 warns that this name will go
    return getattr(owner, name, None)
