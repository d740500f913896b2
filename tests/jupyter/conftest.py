"""A kernel that tests of pages share, and a page of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jupyter.sidebar import Page
from tests.kernels import Kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all that leaves it as it was."""
    with Kernel(tmp_path_factory.mktemp("comms")) as kernel:
        yield kernel


@pytest.fixture
def page(kernel: Kernel) -> Iterator[Page]:
    """A page that has said hello."""
    page = Page(kernel)
    kernel.run("%load_ext nbckpt", "load")
    page.hello()
    yield page
    page.close()
