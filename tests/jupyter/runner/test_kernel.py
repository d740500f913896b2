"""Starting the kernel of an unattended run."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import nbformat
import pytest
import zmq
from jupyter_client.connect import LocalPortCache

from nbckpt.errors import NotebookError
from nbckpt.jupyter.runner.kernel import Kernel


@pytest.mark.slow
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


def test_an_answer_whose_sign_was_taken_is_heard(tmp_path: Path) -> None:
    """As jupyter_client does when it sends: another socket on the descriptor takes the sign."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import time; time.sleep(0.5); 1 + 1")]
    )
    kernel = Kernel(notebook, tmp_path, {})

    async def run() -> None:
        await kernel.start()
        try:
            running = asyncio.create_task(kernel.execute(notebook.cells[0], 0))
            await asyncio.sleep(0.2)
            waited_on = kernel._client.kc.shell_channel.socket
            beside = zmq.Socket.shadow(waited_on.underlying)
            while not beside.get(zmq.EVENTS) & zmq.POLLIN:  # and the loop does nothing meanwhile
                time.sleep(0.001)
            await asyncio.wait_for(running, 20)
        finally:
            await kernel.stop(now=True)

    asyncio.run(run())

    assert notebook.cells[0].outputs[0].data["text/plain"] == "2"
