"""Real kernels, as a front end drives them: cells with ids, outputs, SIGKILL."""

from __future__ import annotations

import os
import queue
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import local_provisioner

from tests.kernel_server import launch


class KernelDiedError(Exception):
    """The kernel ended while a cell ran."""


@dataclass
class Ran:
    """What came of one cell."""

    ok: bool
    stdout: str = ""
    stderr: str = ""
    result: str | None = None
    displays: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    @property
    def notices(self) -> list[str]:
        """What nbckpt said."""
        return [d["data"]["text/plain"] for d in self.displays if "nbckpt" in d["metadata"]]


class Kernel:
    """A kernel on a store; use it as a context manager."""

    def __init__(self, folder: Path, *, store: Path | None = None) -> None:
        self._folder = folder
        self._env = {
            **os.environ,
            "NBCKPT_STORE": str(store or folder / ".nbckpt"),
            "IPYTHONDIR": str(folder / ".ipython"),
            # Where a kernel is killed as soon as a cell has ended, its checkpoint is on the disk.
            "NBCKPT_PATIENCE_S": os.environ.get("NBCKPT_PATIENCE_S", "60s"),
            "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]),
        }
        self._manager = KernelManager(kernel_name="python3")
        self.client: BlockingKernelClient

    def __enter__(self) -> Kernel:
        try:
            self._start()
        except RuntimeError:  # it died: another process may have taken one of its ports
            self._stop()
            self._manager = KernelManager(kernel_name="python3")
            self._start()
        return self

    def _start(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local_provisioner, "launch_kernel", launch)
            self._manager.start_kernel(cwd=str(self._folder), env=self._env)
        self.client = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()

    @property
    def pid(self) -> int:
        """Of the kernel's process."""
        pid = self._manager.provisioner.pid  # type: ignore[union-attr]
        assert isinstance(pid, int)
        return pid

    def kill(self) -> None:
        """SIGKILL, as the out-of-memory killer does."""
        os.kill(self.pid, signal.SIGKILL)

    def interrupt(self) -> None:
        """SIGINT, as by a front end's stop button."""
        os.kill(self.pid, signal.SIGINT)

    def wait_for_end(self, timeout_s: float = 30) -> None:
        """Until the process has ended by itself."""
        deadline = time.monotonic() + timeout_s
        while self._manager.is_alive():
            assert time.monotonic() < deadline, "the kernel does not end"
            time.sleep(0.05)

    def send(self, source: str, cell_id: str | None = None) -> str:
        """Ask for a cell to be run; the id of the request."""
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        metadata = {} if cell_id is None else {"cellId": cell_id}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        request: str = message["header"]["msg_id"]
        return request

    def run(self, source: str, cell_id: str | None = None, timeout_s: float = 120) -> Ran:
        """Run one cell to its end."""
        return self.collect(self.send(source, cell_id), timeout_s)

    def collect(self, request: str, timeout_s: float = 120, *, has_reply: bool = True) -> Ran:
        """The outcome of a request, when it is there.

        Of a kernel that is interrupted between a cell and its answer there is no answer.
        """
        ran = Ran(ok=True)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                if not self._manager.is_alive():
                    raise KernelDiedError from None
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            match message["msg_type"]:
                case "status" if content["execution_state"] == "idle":
                    if has_reply:
                        _ended(ran, self._reply(request))
                    return ran
                case "stream":
                    setattr(ran, content["name"], getattr(ran, content["name"]) + content["text"])
                case "execute_result":
                    ran.result = content["data"]["text/plain"]
                case "display_data":
                    ran.displays.append(content)
                case "error":
                    ran.ok, ran.error = False, "\n".join(content["traceback"])
        message_text = f"no answer within {timeout_s} s"
        raise TimeoutError(message_text)

    def _reply(self, request: str) -> dict[str, Any]:
        while True:
            reply = self.client.get_shell_msg(timeout=30)
            if reply["parent_header"].get("msg_id") == request:
                content: dict[str, Any] = reply["content"]
                return content

    def look(self, expression: str) -> str:
        """The repr of an expression, without a cell that could be kept."""
        content = self.client.execute(
            "", silent=True, user_expressions={"it": expression}, reply=True, timeout=60
        )["content"]["user_expressions"]["it"]
        assert content["status"] == "ok", content
        text: str = content["data"]["text/plain"]
        return text

    def value(self, expression: str) -> str:
        """The repr of an expression in the kernel."""
        ran = self.run(f"print(repr({expression}))")
        assert ran.ok, ran.error
        return ran.stdout.strip()


def _ended(ran: Ran, reply: dict[str, Any]) -> None:
    """Have an error that IPython did not manage to show be one.

    An interrupt often comes as a loop goes round, an instruction to which CPython 3.11 gives no
    line, and IPython formats no traceback with such a frame: it prints its own error instead.
    """
    if reply["status"] == "error" and ran.ok:
        ran.ok, ran.error = False, f"{reply.get('ename', '')}: {reply.get('evalue', '')}"
