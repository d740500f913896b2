"""Memory that a device writes to, past the page tables: what it writes is not seen."""

from __future__ import annotations

import ctypes
import sys
import warnings


def is_pinned(view: memoryview) -> bool:
    """True if a GPU may write to these bytes by itself."""
    return _has_gpu() and bool(view.nbytes) and _is_pinned(view)


def is_pinned_at(address: int) -> bool:
    """True if a GPU may write by itself to what lies at an address."""
    return _has_gpu() and _is_pinned(memoryview((ctypes.c_ubyte * 1).from_address(address)))


def _has_gpu() -> bool:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)  # None while torch is being imported
    return cuda is not None and bool(cuda.is_initialized())


def _is_pinned(view: memoryview) -> bool:
    torch = sys.modules["torch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tensor on read-only memory is warned of
        return bool(torch.frombuffer(view, dtype=torch.uint8).is_pinned())
