"""Only memory that a device may write to is taken for such."""

from __future__ import annotations

import pytest

from nbckpt.runtime.dirty_pages.devices import is_pinned

torch = pytest.importorskip("torch")


def test_memory_of_the_process_is_not_pinned() -> None:
    for data in (bytearray(5000), b"read-only", b""):
        assert not is_pinned(memoryview(data))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_pinned_memory_is_told_from_other_memory() -> None:
    pinned = torch.zeros(1 << 20).pin_memory()
    plain = torch.zeros(1 << 20)

    assert is_pinned(memoryview(pinned.numpy()).cast("B"))
    assert not is_pinned(memoryview(plain.numpy()).cast("B"))
    assert not is_pinned(memoryview(b"read-only" * 1000))
