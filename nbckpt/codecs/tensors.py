"""PyTorch tensors through their storages, so that views and tied weights stay tied.

torch is never imported here to ask a question: a tensor cannot exist before somebody did.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.functions import itself
from nbckpt.codecs.storages import StorageArray, StorageRef, place_of
from nbckpt.fingerprint.values.spans import address_of
from nbckpt.runtime.addresses import memory_at

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.pickler import NamespacePickler

_DEVICES = ("cpu", "cuda")
"""Devices whose memory is written here; what lies on others is left to torch."""


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for tensors, storages and generators of type `kind`; None for anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if kind in (torch.Tensor, torch.nn.Parameter):
        return _reduce_tensor
    if kind is torch.UntypedStorage:
        return _reduce_storage
    if kind is torch.Generator:
        return _reduce_generator
    return None


def is_tensor(value: object) -> bool:
    """True if `value` is a tensor."""
    return issubclass(type(value), getattr(sys.modules.get("torch"), "Tensor", ()))


def _reduce_tensor(pickler: NamespacePickler, tensor: Any) -> Any:
    torch = sys.modules["torch"]
    is_plain = tensor.layout is torch.strided and tensor.device.type in _DEVICES
    if not is_plain or tensor.is_quantized or _has_names(tensor) or _is_wrapped(tensor):
        return NotImplemented
    ref = ref_of(pickler, tensor.untyped_storage())
    layout = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    kind = "parameter" if type(tensor) is torch.nn.Parameter else "tensor"
    bits = (tensor.is_conj(), tensor.is_neg(), not tensor.is_leaf)
    arguments = (kind, ref, tensor.dtype, layout, tensor.requires_grad, bits)
    return tensor_from, arguments, _members_of(tensor) or None, None, None, set_members


def _has_names(tensor: Any) -> bool:
    """True if its dimensions have names, in a torch that has these."""
    return any(name is not None for name in getattr(tensor, "names", ()))


def _is_wrapped(tensor: Any) -> bool:
    """True if it is one that a transform (`vmap`, `grad`) has made, which has no memory."""
    torch = sys.modules["torch"]
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))  # noqa: SLF001


def _members_of(tensor: Any) -> dict[str, object]:
    """Further members of a tensor: its gradient, hooks, and the user's attributes."""
    members = dict(vars(tensor))
    if (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None:
        members["grad"] = tensor.grad
    for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        if tensor.is_leaf and (hooks := getattr(tensor, name, None)):
            members[name] = hooks
    return members


def set_members(tensor: Any, members: dict[str, object]) -> None:
    """Give a tensor the rest of what it had; after it is made, for a hook may hold it."""
    for name, value in members.items():
        setattr(tensor, name, value)


def ref_of(pickler: NamespacePickler, storage: Any) -> StorageRef:
    """The reference that stands for a storage in a stream."""
    key = storage.data_ptr() or storage._cdata  # noqa: SLF001  # an empty storage has no address
    return pickler.storages.setdefault(key, StorageRef(storage))


def ref_of_array(pickler: NamespacePickler, root: np.ndarray, span: np.ndarray) -> StorageRef:
    """The reference to the storage of a tensor that has the memory of `root`."""
    torch = sys.modules["torch"]
    if is_tensor(root.base):
        return ref_of(pickler, root.base.untyped_storage())  # type: ignore[union-attr]
    # By its address: torch warns of arrays that are read-only.
    memory = memory_at(address_of(span), span.nbytes)
    pickler.keep(root)
    return ref_of(pickler, torch.frombuffer(memory, dtype=torch.uint8).untyped_storage())


def array_of(pickler: NamespacePickler, ref: StorageRef) -> StorageArray:
    """The object that stands for the array of a storage's bytes: one for each storage."""
    return pickler.storage_arrays.setdefault(ref.address, StorageArray(ref))


def _reduce_storage(pickler: NamespacePickler, storage: Any) -> Any:
    if storage.device.type not in _DEVICES:
        return NotImplemented
    return itself, (ref_of(pickler, storage),)


def _reduce_generator(_: object, generator: Any) -> Any:
    return generator_from, (str(generator.device), generator.get_state())


def tensor_from(
    kind: str,
    storage: Any,
    dtype: Any,
    layout: Any,
    requires_grad: bool,
    bits: tuple[bool, bool, bool],
) -> Any:
    """A tensor, or a parameter, on `storage`.

    Parameters
    ----------
    bits
        Whether it is seen conjugated, seen negated, and the result of a computation.
    """
    import torch

    is_conj, is_negative, is_result = bits
    offset, shape, strides = layout
    tensor = torch.empty(0, dtype=dtype, device=storage.device)
    tensor.set_(storage, offset, shape, strides)
    if is_conj:
        tensor = tensor.conj()
    if is_negative:
        tensor = torch._neg_view(tensor)  # noqa: SLF001  # there is no other way
    if kind == "parameter":
        tensor = torch.nn.Parameter(tensor, requires_grad=requires_grad)
    else:
        tensor.requires_grad_(requires_grad)
    return _result_without_graph(tensor) if is_result else tensor


def has_left_graphs() -> bool:
    """True once a tensor was restored without its graph, in this process."""
    return _graph_not_kept.cache_info().currsize > 0


def _result_without_graph(tensor: Any) -> Any:
    """A result of a computation as it was, but that its graph is gone.

    As a leaf it would take `backward()` without an error, and train nothing.
    """
    return _graph_not_kept().apply(tensor)


@cache
def _graph_not_kept() -> Any:
    """The function that stands for a graph; `keys.gradients` knows it by its name."""
    import torch

    class GraphNotKept(torch.autograd.Function):  # type: ignore[misc]  # torch is not typed here
        @staticmethod
        def forward(_: Any, value: Any) -> Any:
            return value.view_as(value)

        @staticmethod
        def backward(_: Any, *__: Any) -> Any:
            message = (
                "this tensor was restored without the graph that it was computed by;"
                " run the cell that computes it again before calling backward()"
            )
            raise RuntimeError(message)

    return GraphNotKept


def generator_from(device: str, state: Any) -> Any:
    """A random generator in `state`; a new one if its device is not here."""
    import torch

    place = place_of(device)
    generator = torch.Generator(place)
    if place == device:
        generator.set_state(state)
    return generator
