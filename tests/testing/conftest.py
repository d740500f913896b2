"""The provider on loopback, for all tests of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbckpt.testing import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as started:
        yield started
