"""Starting the kernel of an unattended run."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import nbformat
import pytest
from jupyter_client.connect import LocalPortCache

from nbckpt.errors import NotebookError
from nbckpt.kernel import Kernel


@pytest.mark.parametrize("times", [1, 3])
def test_a_port_that_another_process_took_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, times: int
) -> None:
    drawn, find = [], LocalPortCache.find_available_port
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        def draw(cache: LocalPortCache, ip: str) -> int:
            drawn.append(find(cache, ip))
            is_taken = len(drawn) % 5 == 1 and len(drawn) < 5 * times
            return int(taken.getsockname()[1]) if is_taken else drawn[-1]

        monkeypatch.setattr(LocalPortCache, "find_available_port", draw)
        kernel = Kernel(nbformat.v4.new_notebook(), tmp_path, {})

        async def start() -> object:
            try:
                await kernel.start()
                return await kernel.ask("", "1 + 1")
            finally:
                await kernel.stop(now=True)

        if times == 1:
            assert asyncio.run(start()) == 2
        else:
            with pytest.raises(NotebookError, match=r"does not start: .*Address already in use"):
                asyncio.run(start())
    assert len(drawn) == 5 * min(times + 1, 3)
