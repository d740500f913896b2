"""Interrupts as a terminal gives them, whoever started the tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def python_s_own_handler() -> Iterator[None]:
    """Have an interrupt raise `KeyboardInterrupt`: what a shell runs behind it ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
