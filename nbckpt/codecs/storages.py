"""The memory of tensors: written from where it lies, or from a copy in the host's memory.

A storage on a CUDA device is copied on a stream of its own into pinned memory: what the device has
been asked to compute goes on meanwhile, and the copies of all tensors run at once; `finish` waits
for them. The copy comes back to the same device, or stays on the CPU where there is none.
"""

from __future__ import annotations

import pickle
from typing import Any

from nbckpt.codecs.loading import note
from nbckpt.runtime.addresses import memory_at


class StorageRef:
    """Stands for a storage in a stream: one object for each storage, however many tensors."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.host = storage

    @property
    def address(self) -> int:
        """Where its memory begins."""
        return int(self.storage.data_ptr())

    def __reduce__(self) -> Any:
        size = self.storage.nbytes()
        device = str(self.storage.device)
        if size == 0:
            return storage_from, (b"", 0, device)
        if device != "cpu":
            self.host = copy_to_host(self.storage)
        memory = pickle.PickleBuffer(memory_at(self.host.data_ptr(), size))
        return storage_from, (memory, size, device)


class StorageArray:
    """Stands for the array of a storage's bytes, on which numpy's arrays may lie."""

    def __init__(self, ref: StorageRef) -> None:
        self.ref = ref

    def __reduce__(self) -> Any:
        return bytes_of, (self.ref,)


def bytes_of(storage: Any) -> Any:
    """The memory of a storage on the CPU as a writable numpy array of bytes."""
    import torch

    return torch.empty(0, dtype=torch.uint8).set_(storage).numpy()


def copy_to_host(storage: Any) -> Any:
    """A copy of a storage in pinned memory, under way until `finish`.

    Notes
    -----
    The side stream waits for what was queued before, so that the copy is of the values that the
    last cell has computed; `record_stream` keeps the memory from being given to another tensor
    until the copy is done.
    """
    import torch

    device = storage.device
    side = _side_stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    source = torch.empty(0, dtype=torch.uint8, device=device).set_(storage)
    with torch.cuda.stream(side):
        host = torch.empty(storage.nbytes(), dtype=torch.uint8, pin_memory=True)
        host.copy_(source, non_blocking=True)
    source.record_stream(side)
    return host.untyped_storage()


_SIDE_STREAMS: dict[str, Any] = {}


def _side_stream(device: Any) -> Any:
    import torch

    if str(device) not in _SIDE_STREAMS:
        _SIDE_STREAMS[str(device)] = torch.cuda.Stream(device)
    return _SIDE_STREAMS[str(device)]


def finish(refs: Any) -> None:
    """Return when the copies of these storages hold what they are copies of."""
    for device in {str(r.storage.device) for r in refs if r.host is not r.storage}:
        _SIDE_STREAMS[device].synchronize()


def storage_from(buffer: Any, size: int, device: str = "cpu") -> Any:
    """A storage on `buffer`, which is kept if it can be written to, or a copy on `device`."""
    import torch

    place = place_of(device)
    if size == 0:
        return torch.UntypedStorage(0, device=place)
    memory = memoryview(buffer)
    is_in_stream = isinstance(buffer, bytes | bytearray)
    writable = bytearray(memory) if memory.readonly else memory
    on_buffer = torch.frombuffer(writable, dtype=torch.uint8)
    if place != "cpu":
        return on_buffer.to(place).untyped_storage()
    # What came with the stream is copied, so that the tensor owns it and can be resized.
    return (on_buffer.clone() if is_in_stream else on_buffer).untyped_storage()


def place_of(device: str) -> str:
    """`device`, or the CPU if it is not here."""
    import torch

    if device == "cpu":
        return device
    index = torch.device(device).index or 0
    if torch.cuda.is_available() and index < torch.cuda.device_count():
        return device
    note(f"was on {device}, which is not here; it is on the CPU now")
    return "cpu"
