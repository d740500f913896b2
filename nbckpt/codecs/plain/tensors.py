"""Tensors of PyTorch, their memory, and the types of their elements."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.layouts import require_extent, shape_of
from nbckpt.codecs.plain.names import Known, Table, table

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

_DEVICE = re.compile(r"cpu|cuda(:\d{1,3})?")


@functools.cache
def names() -> Table:
    """Table of the torch names that a stream may use."""
    import torch

    types = {n: v for n, v in vars(torch).items() if isinstance(v, torch.dtype)}
    found = [(f"torch:{name}", Known(f"torch.{name}", value)) for name, value in types.items()]
    found += [
        ("torch:Size", Known("torch.Size", torch.Size, _size)),
        ("torch:device", Known("torch.device", torch.device, _device)),
    ]
    return table(found)


def _size(_: Limits, given: tuple[Any, ...]) -> object:
    import torch

    require(len(given) == 1)
    return torch.Size(shape_of(given[0]))


def _device(_: Limits, given: tuple[Any, ...]) -> object:
    import torch

    require(1 <= len(given) <= 2 and given[0] in ("cpu", "cuda") and are(int, *given[1:]))
    return torch.device(*given)


def storage_from(limits: Limits, given: tuple[Any, ...]) -> object:
    """The memory of tensors."""
    from nbckpt.codecs import storages

    require(2 <= len(given) <= 3)
    buffer, size, *device = given
    require(are((bytes, bytearray, memoryview), buffer) and are(int, size) and are(str, *device))
    require(all(_DEVICE.fullmatch(place) for place in device))
    data = memoryview(buffer)
    require(data.contiguous and data.nbytes == size)
    if type(buffer) is not memoryview or data.readonly:
        limits.spend(size)
    return storages.storage_from(buffer, *given[1:])


def bytes_of(_: Limits, given: tuple[Any, ...]) -> object:
    """The memory of a tensor as an array of bytes."""
    import torch

    from nbckpt.codecs import storages

    require(len(given) == 1 and type(given[0]) is torch.UntypedStorage)
    require(given[0].device.type == "cpu")
    return storages.bytes_of(*given)


def tensor_from(_: Limits, given: tuple[Any, ...]) -> object:
    """A tensor, or a parameter, on its memory."""
    import torch

    from nbckpt.codecs import tensors

    require(len(given) == 6)
    kind, storage, dtype, layout, requires_grad, bits = given
    require(kind in ("tensor", "parameter") and type(storage) is torch.UntypedStorage)
    require(isinstance(dtype, torch.dtype) and _is_of_bytes(dtype) and are(bool, requires_grad))
    require(type(bits) is tuple and len(bits) == 3 and are(bool, *bits))
    require(type(layout) is tuple and len(layout) == 3 and are(int, layout[0]))
    offset, shape, strides = layout
    require(type(strides) is tuple and are(int, *strides) and min(strides, default=0) >= 0)
    item = dtype.itemsize
    steps = tuple(stride * item for stride in strides)
    require_extent(shape_of(shape), steps, offset * item, item, storage.nbytes())
    return tensors.tensor_from(*given)


def _is_of_bytes(dtype: Any) -> bool:
    """True if elements of this type are plain numbers: none that a quantizer has to explain."""
    return not str(dtype).startswith(("torch.q", "torch.bits"))


def set_members(_: Limits, given: tuple[Any, ...]) -> object:
    """Give a tensor its gradient."""
    import torch

    require(len(given) == 2 and type(given[1]) is dict)
    tensor, members = given
    require(type(tensor) in (torch.Tensor, torch.nn.Parameter))
    require(set(members) <= {"grad"}, "its tensor has attributes, or hooks, which are functions")
    if members:
        require(type(members["grad"]) is torch.Tensor)
        tensor.grad = members["grad"]
    return None
