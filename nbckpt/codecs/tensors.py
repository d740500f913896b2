"""PyTorch tensors through their storages, so that views and tied weights stay tied.

torch is never imported here to ask a question: a tensor cannot exist before somebody did.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


class StorageRef:
    """Stands for a storage in a stream: one object for each storage, however many tensors."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    def __reduce__(self) -> Any:
        size = self.storage.nbytes()
        if size == 0:
            return storage_from, (b"", 0)
        memory = (ctypes.c_char * size).from_address(self.storage.data_ptr())
        return storage_from, (pickle.PickleBuffer(memory), size)


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """How tensors of type `kind` are written; None for anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if kind in (torch.Tensor, torch.nn.Parameter):
        return _reduce_tensor
    return _reduce_generator if kind is torch.Generator else None


def _reduce_tensor(pickler: NamespacePickler, tensor: Any) -> Any:
    torch = sys.modules["torch"]
    is_plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
    if not is_plain or tensor.is_quantized or not tensor.is_leaf or tensor.is_conj():
        return NotImplemented
    storage = tensor.untyped_storage()
    key = storage.data_ptr() or storage._cdata  # noqa: SLF001  # an empty storage has no address
    ref = pickler.storages.setdefault(key, StorageRef(storage))
    layout = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    kind = "parameter" if type(tensor) is torch.nn.Parameter else "tensor"
    return tensor_from, (kind, ref, tensor.dtype, layout, tensor.requires_grad, tensor.grad)


def _reduce_generator(_: object, generator: Any) -> Any:
    return generator_from, (str(generator.device), generator.get_state())


def storage_from(buffer: Any, size: int) -> Any:
    """A storage on `buffer`, which is kept if it can be written to."""
    import torch

    if size == 0:
        return torch.UntypedStorage(0)
    memory = memoryview(buffer)
    writable = bytearray(memory) if memory.readonly else memory
    return torch.frombuffer(writable, dtype=torch.uint8).untyped_storage()


def tensor_from(
    kind: str, storage: Any, dtype: Any, layout: Any, requires_grad: bool, grad: Any
) -> Any:
    """A tensor, or a parameter, on `storage`."""
    import torch

    offset, shape, strides = layout
    tensor = torch.empty(0, dtype=dtype)
    tensor.set_(storage, offset, shape, strides)
    if kind == "parameter":
        tensor = torch.nn.Parameter(tensor, requires_grad=requires_grad)
    else:
        tensor.requires_grad_(requires_grad)
    if grad is not None:
        tensor.grad = grad
    return tensor


def generator_from(device: str, state: Any) -> Any:
    """A random generator in `state`."""
    import torch

    generator = torch.Generator(device)
    generator.set_state(state)
    return generator
