"""Memory that a device writes to, past the page tables: what it writes is not seen."""

from __future__ import annotations

import sys
import warnings


def is_pinned(view: memoryview) -> bool:
    """Whether a GPU may write to these bytes by itself."""
    torch = sys.modules.get("torch")
    if torch is None or not view.nbytes or not torch.cuda.is_initialized():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tensor on read-only memory is warned of
        return bool(torch.frombuffer(view, dtype=torch.uint8).is_pinned())
