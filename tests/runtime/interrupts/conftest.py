"""What all tests of interrupts have."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest


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
