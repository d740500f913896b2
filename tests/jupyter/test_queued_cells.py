"""A kernel that is told to end while cells wait: what had begun ends, and nothing else begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import nbckpt
from tests.kernels import Kernel

SHUT_DOWN = """
%%checkpoint first
import inspect
from pathlib import Path
done = get_ipython().kernel.do_shutdown(restart=False)
if inspect.isawaitable(done):
    done = await done
n = 1
"""
"""What a shutdown request does first; in the thread of the requests, which is quick or slow."""


@pytest.mark.slow
@pytest.mark.kernel
def test_no_cell_begins_once_the_kernel_is_told_to_end(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.send("import time; time.sleep(0.5)")  # the others are there before it ends
        kernel.send(SHUT_DOWN.strip())
        for name in ("second", "third"):
            kernel.send(f"%%checkpoint {name}\nPath({name!r}).touch()\n{name} = 1")
        kernel.wait_for_end()

    assert not (tmp_path / "second").exists()
    assert not (tmp_path / "third").exists()
    session = nbckpt.open(tmp_path / ".nbckpt", namespace={})
    assert [c.name for c in session.history()] == ["first"]


@pytest.mark.slow
@pytest.mark.kernel
def test_a_kernel_without_nbckpt_any_more_decides_alone(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        before = kernel.value("get_ipython().kernel.should_handle")
        kernel.run("%load_ext nbckpt")
        during = kernel.value("get_ipython().kernel.should_handle")
        kernel.run("%unload_ext nbckpt")

        assert kernel.value("get_ipython().kernel.should_handle") == before != during
