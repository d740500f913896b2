"""What all tests of interrupts have."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest

from nbckpt.runtime import interrupts


@pytest.fixture(autouse=True)
def let_through() -> Iterator[None]:
    """After each test nothing is held: what came later would not be, or never come through."""
    yield
    assert (interrupts._gate.depth, interrupts._gate.firm) == (0, 0)


@pytest.fixture(autouse=True)
def without_collection() -> Iterator[None]:
    """No garbage is collected in a test, neither where `Instants` count nor beside.

    What the collector calls loses interrupts. Were it off only where instants are counted, cells
    would meet other process state there, and run instead of being restored.
    """
    collects = gc.isenabled()
    gc.disable()
    yield
    if collects:
        gc.enable()
        with warnings.catch_warnings():
            # A client that was interrupted as it connected leaves its socket to the collector.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
