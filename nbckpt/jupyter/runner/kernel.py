"""The kernel of an unattended run, with nbckpt in it: start, run a cell, interrupt, stop."""

from __future__ import annotations

import ast
import asyncio
import logging
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import nbclient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from nbckpt.errors import NotebookError

_QUIET = logging.getLogger("nbckpt.jupyter.runner.kernel")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

_PORT_IS_TAKEN = "Address already in use"
"""Part of the error of a kernel whose ports another process took before it started."""
_TRIES = 3
LOOKS_S = 0.5
"""Between two looks for an answer of which nothing was heard."""

_NO_ERROR = type(None).__name__
"""Error name reported for a cell that ended well, and whose result raised while it was shown."""


class CellError(NotebookError):
    """A cell raised; its traceback is among its outputs."""


class KernelDiedError(NotebookError):
    """The kernel is gone; the message is what follows `the kernel`: how it went."""


class Kernel:
    """The kernel of one notebook.

    Parameters
    ----------
    notebook
        An nbformat notebook, whose cells get their outputs as they run.
    folder
        Where it runs.
    environment
        Variables that the kernel has besides those of this process.
    """

    def __init__(self, notebook: Any, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._client: Any = nbclient.NotebookClient(notebook, timeout=None, coalesce_streams=True)
        self._client.log = _QUIET  # it would tell on stderr what is told by exceptions too

    async def start(self) -> None:
        """Return when the kernel answers.

        Raises
        ------
        NotebookError
            If there is none of its kind, or it does not come up.
        """
        for left in reversed(range(_TRIES)):
            try:
                await self._try_to_start()
                break
            except NotebookError as error:
                if not left or _PORT_IS_TAKEN not in str(error):
                    raise

    async def _try_to_start(self) -> None:
        client = self._client
        with tempfile.TemporaryFile() as said:
            try:
                client.create_kernel_manager().log = _QUIET
                await client.async_start_new_kernel(
                    cwd=str(self._folder),
                    env={**os.environ, **self._environment},
                    stderr=said,  # its own warnings, which are none of the notebook's
                )
                await client.async_start_new_kernel_client()
            except Exception as error:  # as many kinds as there are ways to start a kernel
                why = _last_line(said) or str(error)
                message = (
                    f"the kernel {client.kernel_name or 'python3'!r} does not start: {why}; "
                    "`jupyter kernelspec list` tells which there are"
                )
                raise NotebookError(message) from error

    async def ask(self, code: str, expression: str) -> object:
        """The value of `expression`, a Python literal, after `code` ran; no cell is counted.

        Raises
        ------
        NotebookError
            If the code raised, or the kernel died.
        """
        client = self._client
        request = client.kc.execute(
            code, silent=True, store_history=False, user_expressions={"answer": expression}
        )
        try:
            async with self._listening():
                reply = (await client.async_wait_for_reply(request))["content"]
        except DeadKernelError:
            raise await self._death() from None
        answer = reply.get("user_expressions", {}).get("answer", reply)
        if answer.get("status") != "ok":
            message = f"{answer.get('ename', 'error')}: {answer.get('evalue', 'no answer')}"
            raise NotebookError(message)
        return ast.literal_eval(answer["data"]["text/plain"])

    async def execute(self, cell: Any, index: int) -> None:
        """Run one cell; it has its outputs when this returns, and when it raises.

        Raises
        ------
        CellError
            If the cell raised.
        KernelDiedError
            If the kernel did.
        """
        client = self._client
        client.kc.session.metadata = {"cellId": cell.id}  # as JupyterLab sends it
        try:
            async with self._listening():
                await client.async_execute_cell(cell, index)
        except CellExecutionError as error:
            if error.ename == _NO_ERROR:
                return
            message = f"{error.ename}: {error.evalue}" if error.evalue else str(error.ename)
            raise CellError(message) from None
        except DeadKernelError:
            raise await self._death() from None

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """Look from time to time whether an answer is there.

        jupyter_client sends by a second socket on the same file descriptor, and what that takes off
        it may be the sign of an answer: who waits for it is never woken (Session.send, 8.10).
        """

        async def look() -> None:
            while True:
                await asyncio.sleep(LOOKS_S)
                await self._client.kc.shell_channel.socket.poll(1)

        looking = asyncio.create_task(look())
        try:
            yield
        finally:
            looking.cancel()

    async def interrupt(self) -> None:
        """Raise `KeyboardInterrupt` in the running cell."""
        if self._client.km is not None and self._client.km.has_kernel:
            await self._client.km.interrupt_kernel()

    async def stop(self, *, now: bool = False) -> None:
        """Let the kernel end, and let go of all that belongs to it.

        Parameters
        ----------
        now
            Kill it.
        """
        client = self._client
        if client.km is None:
            return
        client.set_widgets_metadata()
        if await client.km.is_alive():
            await client.km.shutdown_kernel(now=now)
        await client.km.cleanup_resources()
        if client.kc is not None:
            client.kc.stop_channels()

    async def kill(self) -> None:
        """Kill the kernel; the running cell raises `KernelDiedError`."""
        if self._client.km is not None and self._client.km.has_kernel:
            await self._client.km.signal_kernel(signal.SIGKILL)

    async def _death(self) -> KernelDiedError:
        status = await self._client.km.provisioner.poll()
        for _ in range(10):  # a process that was just killed may not have been reaped yet
            if status is not None:
                break
            await asyncio.sleep(0.05)
            status = await self._client.km.provisioner.poll()
        return KernelDiedError(_how(status))


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _how(status: int | None) -> str:
    """Clause on the end of a process, from its exit status, to follow `the kernel`."""
    if status is None or status >= 0:
        return f"ended with exit status {status}" if status else "ended"
    if status == -signal.SIGKILL:
        return "was killed (was there too little memory?)"
    try:
        return f"died of {signal.Signals(-status).name}"
    except ValueError:
        return f"died of signal {-status}"
